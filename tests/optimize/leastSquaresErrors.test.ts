/**
 * What `leastSquares` refuses, by which error, and in which words.
 */
import { solveProblem, leastSquares } from "#heddle/optimize/leastSquares";
import type { PlainLeastSquaresOptions } from "#heddle/optimize/leastSquares";
import { NonFiniteError } from "#heddle/optimize/nonFinite";
import type { PlainResidual } from "#heddle/optimize/plainProblem";
import type { LeastSquaresProblem } from "#heddle/optimize/problem";
import { ArgumentError, ShapeError } from "#heddle/base/errors";
import type { ErrorParts, HeddleError } from "#heddle/base/errors";
import { describe, expect, it } from "vitest";

const fine = ([a = 0, b = 0]: Float64Array): number[] => [a - 1, b - 2, a * b];

async function failure(call: () => Promise<unknown>): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    return error;
  }
  throw new Error("expected a failure");
}

// Programs without types can hand over anything; the casts stand for them.
const anything = <T>(value: unknown): T => value as T;

describe("bad input", () => {
  const cases: readonly [string, () => Promise<unknown>, new (parts: ErrorParts) => HeddleError, RegExp][] = [
    [
      "no function",
      () => leastSquares(anything<PlainResidual>(3), [1]),
      ArgumentError,
      /leastSquares: fun is number/,
    ],
    ["an empty x0", () => leastSquares(fine, []), ShapeError, /x0 is empty/],
    ["NaN in x0", () => leastSquares(fine, [1, NaN]), ArgumentError, /x0\[1\] is NaN/],
    ["text in x0", () => leastSquares(fine, anything<number[]>(["1"])), ArgumentError, /x0 .*numbers/],
    ["no residuals", () => leastSquares(() => [], [1]), ShapeError, /at least one residual/],
    [
      "a number for a residual",
      () =>
        leastSquares(
          anything<PlainResidual>(() => 3),
          [1],
        ),
      ArgumentError,
      /fun is number/,
    ],
    [
      "a residual that changes its length",
      () => leastSquares(([a = 0]) => (a === 1 ? [a] : [a, a]), [1]),
      ShapeError,
      /2 entries after one of 1/,
    ],
    [
      "too few rows",
      () => leastSquares(fine, [0, 0], { jac: () => [[1, 2]] }),
      ShapeError,
      /jac is 1 rows, expected shape \[3,2\]/,
    ],
    [
      "a transposed jac",
      () =>
        leastSquares(fine, [0, 0], {
          jac: () => [
            [1, 2, 3],
            [1, 2, 3],
            [1, 2, 3],
          ],
        }),
      ShapeError,
      /a row 0 of 3 entries, expected shape \[3,2\]/,
    ],
    [
      "a flat jac of the wrong size",
      () => leastSquares(fine, [0, 0], { jac: () => new Float64Array(5) }),
      ShapeError,
      /5 entries, expected shape \[3,2\]/,
    ],
    [
      "an unknown jac",
      () => leastSquares(fine, [0, 0], { jac: anything<"2-point">("cs") }),
      ArgumentError,
      /options.jac is "cs"/,
    ],
    [
      "a method to come",
      () => leastSquares(fine, [0, 0], { method: "trf" }),
      ArgumentError,
      /options.method is "trf", expected a method that exists: "lm"/,
    ],
    [
      "a method by an inherited name",
      () => leastSquares(fine, [0, 0], { method: "toString" }),
      ArgumentError,
      /options.method/,
    ],
    [
      "bounds",
      () =>
        leastSquares(fine, [0, 0], {
          bounds: [
            [0, 0],
            [1, 1],
          ],
        }),
      ArgumentError,
      /options.bounds/,
    ],
    [
      "xScale of the wrong length",
      () => leastSquares(fine, [0, 0], { xScale: [1] }),
      ShapeError,
      /options.xScale is 1 entries/,
    ],
    [
      "xScale zero",
      () => leastSquares(fine, [0, 0], { xScale: [1, 0] }),
      ArgumentError,
      /options.xScale .*positive/,
    ],
    [
      "a negative tolerance",
      () => leastSquares(fine, [0, 0], { ftol: -1 }),
      ArgumentError,
      /options.ftol is -1/,
    ],
    [
      "a NaN tolerance",
      () => leastSquares(fine, [0, 0], { xtol: NaN }),
      ArgumentError,
      /options.xtol is NaN/,
    ],
    [
      "no tolerance at all",
      () => leastSquares(fine, [0, 0], { ftol: null, xtol: null, gtol: 0 }),
      ArgumentError,
      /at least one/,
    ],
    ["maxNfev 0", () => leastSquares(fine, [0, 0], { maxNfev: 0 }), ArgumentError, /options.maxNfev is 0/],
    [
      "an unknown loss",
      () => leastSquares(fine, [0, 0], { loss: anything<"huber">("tukey") }),
      ArgumentError,
      /options.loss is "tukey"/,
    ],
    [
      "fScale 0",
      () => leastSquares(fine, [0, 0], { loss: "huber", fScale: 0 }),
      ArgumentError,
      /options.fScale is 0/,
    ],
  ];

  it.each(cases)("%s", async (_, call, kind, message) => {
    const error = await failure(call);
    expect(error).toBeInstanceOf(kind);
    expect(String(error)).toMatch(message);
  });

  it("passes on what the functions throw, as it is", async () => {
    const reason = new TypeError("mine");
    const broken = (): never => {
      throw reason;
    };
    expect(await failure(() => leastSquares(broken, [1]))).toBe(reason);
    expect(await failure(() => leastSquares(async () => broken(), [1]))).toBe(reason);
    expect(await failure(() => leastSquares(fine, [1, 1], { jac: broken }))).toBe(reason);
    expect(await failure(() => leastSquares(fine, [0, 0], { callback: broken }))).toBe(reason);
    let calls = 0;
    const later = (x: Float64Array): number[] => (++calls > 1 ? broken() : fine(x));
    expect(await failure(() => leastSquares(later, [1, 1], { jac: "3-point" }))).toBe(reason);
  });
});

describe("numbers that are not finite", () => {
  const objectives = [
    { name: "left", rows: [0, 2] },
    { name: "right", rows: [2, 3] },
  ] as const;
  const problem = (residual: (x: Float64Array) => number[], jacobian: number[]): LeastSquaresProblem => ({
    dimX: 2,
    residual: (x) => Float64Array.from(residual(x)),
    jacobian: () => Float64Array.from(jacobian),
    objectives,
  });

  it("are named by row and objective in the residual at x0", async () => {
    const error = await failure(() =>
      solveProblem(
        "leastSquares",
        problem(() => [1, 2, NaN], []),
        [0, 0],
        {},
      ),
    );
    expect(error).toBeInstanceOf(NonFiniteError);
    expect(error).toMatchObject({ code: "HEDDLE_NON_FINITE", rows: [2], objectives: ["right"] });
    expect(String(error)).toMatch(/residual at x0 is NaN or infinite in row 2 of objective "right"/);
  });

  it("are named by row and objective in the Jacobian", async () => {
    const error = await failure(() =>
      solveProblem("leastSquares", problem(fine, [1, 2, 3, Infinity, 5, 6]), [0, 0], {}),
    );
    expect(error).toMatchObject({ rows: [1], objectives: ["left"] });
    expect(String(error)).toMatch(/the Jacobian/);
  });

  it("are found in a cost that overflows", async () => {
    const error = await failure(() => leastSquares(() => [1, 1e200], [0]));
    expect(error).toMatchObject({ code: "HEDDLE_NON_FINITE", rows: [1] });
  });

  it("are counted when there are many", async () => {
    const error = await failure(() => leastSquares(() => new Float64Array(1000).fill(NaN), [0]));
    expect(String(error)).toMatch(/row 0, 1, 2, 3, 4, 5, 6, 7, ... \(1000 in all\)/);
  });
});

describe("objectives", () => {
  it("report their cost before and after", async () => {
    const fit = await solveProblem(
      "leastSquares",
      {
        dimX: 1,
        residual: ([a = 0]) => Float64Array.of(a - 1, a - 1, 2 * a),
        jacobian: () => Float64Array.of(1, 1, 2),
        objectives: [
          { name: "pair", rows: [0, 2] },
          { name: "single", rows: [2, 3] },
        ],
      },
      [4],
      {},
    );
    expect(fit.objectives.map(({ name, start }) => [name, start])).toEqual([
      ["pair", 9],
      ["single", 32],
    ]);
    const ends = fit.objectives.map(({ end }) => end);
    expect(ends[0]).toBeCloseTo((2 / 3) ** 2, 6);
    expect(ends[1]).toBeCloseTo(2 * (1 / 3) ** 2, 6);
    expect((ends[0] ?? NaN) + (ends[1] ?? NaN)).toBeCloseTo(fit.cost, 14);
  });

  it("refuse an x0 of another length", async () => {
    const problem: LeastSquaresProblem = {
      dimX: 3,
      residual: () => Float64Array.of(1),
      jacobian: () => new Float64Array(3),
    };
    const error = await failure(() => solveProblem("leastSquares", problem, [1, 2], {}));
    expect(error).toBeInstanceOf(ShapeError);
    expect(String(error)).toMatch(/x0 is 2 entries, expected 3/);
  });
});

describe("an aborted signal", () => {
  const reason = new Error("enough");
  const hang = (options: PlainLeastSquaresOptions, fun: PlainResidual): Promise<unknown> =>
    failure(() => leastSquares(fun, [1, 1], options));

  it("refuses to start", async () => {
    let calls = 0;
    const fun = (): number[] => [++calls];
    expect(await hang({ signal: AbortSignal.abort(reason) }, fun)).toBe(reason);
    expect(calls).toBe(0);
  });

  it("ends the wait for a function that never answers", async () => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(reason), 5);
    expect(await hang({ signal: controller.signal }, () => new Promise(() => {}))).toBe(reason);
  });

  it("is heard between synchronous evaluations, which never let a timer run", async () => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(reason), 30);
    const slow = ([a = 0, b = 0]: Float64Array): number[] => {
      for (const until = performance.now() + 5; performance.now() < until;);
      return [10 * (b - a * a) + 1, 1 - a, Math.exp(-a), 1e-3 * b];
    };
    const options = { signal: controller.signal, ftol: 1e-16, xtol: null, gtol: 1e-15, maxNfev: 1e6 };
    expect(await hang(options, slow)).toBe(reason);
  });

  it("leaves no listener behind", async () => {
    const { signal } = new AbortController();
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => (listeners++, add(...args));
    signal.removeEventListener = (...args: Parameters<typeof remove>) => (listeners--, remove(...args));
    await leastSquares(async (x) => fine(x), [0, 0], { signal });
    expect(listeners).toBe(0);
  });
});
