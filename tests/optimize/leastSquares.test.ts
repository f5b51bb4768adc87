/**
 * `leastSquares` on problems with known answers, on the odd shapes that break optimizers, and in its bookkeeping.
 */
import { leastSquares } from "#heddle/optimize/leastSquares";
import type { PlainLeastSquaresOptions } from "#heddle/optimize/leastSquares";
import type { IterationState } from "#heddle/optimize/result";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { testProblems } from "./testProblems.js";

// Brown and Dennis' residuals are large and curved, where a Gauss-Newton model is poor: about 6000 evaluations.
const tight: PlainLeastSquaresOptions = { ftol: 1e-14, xtol: 1e-14, gtol: 1e-14, maxNfev: 10_000 };
const line = (x: Float64Array): number[] => [(x[0] ?? NaN) - 3, 2 * (x[1] ?? NaN) + 4];

describe("known minima", () => {
  it.each(testProblems)("$name", async ({ residual, x0, sumOfSquares, minimiser }) => {
    for (const jac of ["2-point", "3-point"] as const) {
      const fit = await leastSquares(residual, x0, { ...tight, jac });
      if (sumOfSquares === 0) expect(fit.cost).toBeLessThan(1e-15);
      else expect((2 * fit.cost) / sumOfSquares).toBeCloseTo(1, 5);
      minimiser?.forEach((value, j) =>
        expect((fit.x[j] ?? NaN) / (value || 1)).toBeCloseTo(value === 0 ? 0 : 1, 3),
      );
      expect(fit.success).toBe(true);
    }
  });

  it("finds Freudenstein and Roth's local minimum, which is not zero", async () => {
    const residual = ([a = 0, b = 0]: Float64Array): number[] => [
      -13 + a + ((5 - b) * b - 2) * b,
      -29 + a + ((b + 1) * b - 14) * b,
    ];
    const fit = await leastSquares(residual, [0.5, -2]);
    expect(2 * fit.cost).toBeCloseTo(48.9842, 3);
  });
});

describe("linear problems", () => {
  const finite = fc.double({ min: -10, max: 10, noNaN: true });
  const problem = fc
    .tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 0, max: 6 }))
    .chain(([n, extra]) =>
      fc.tuple(
        fc.array(fc.array(finite, { minLength: n, maxLength: n }), {
          minLength: n + extra,
          maxLength: n + extra,
        }),
        fc.array(finite, { minLength: n, maxLength: n }),
      ),
    );

  it("reach a zero gradient in a few iterations, for any matrix", async () => {
    let solved = 0;
    await fc.assert(
      fc.asyncProperty(problem, async ([noise, truth]) => {
        // A diagonal on top keeps the condition number small, so that "few" means the same for all of them.
        const A = noise.map((row, i) => row.map((value, j) => value + (i === j ? 60 : 0)));
        const b = A.map((row, i) =>
          row.reduce((sum, value, j) => sum + value * (truth[j] ?? NaN), Math.sin(i)),
        );
        const residual = (x: Float64Array): number[] =>
          A.map((row, i) => row.reduce((sum, value, j) => sum + value * (x[j] ?? NaN), -(b[i] ?? NaN)));
        const fit = await leastSquares(
          residual,
          truth.map(() => 0),
          { jac: () => A, ftol: 1e-13 },
        );
        // A cost near ½ hides reductions below 1e-16, that is, gradients below ‖J‖·√1e-16.
        expect(fit.optimality).toBeLessThan(1e-5);
        expect(fit.nit).toBeLessThanOrEqual(6);
        solved++;
      }),
      { numRuns: 200 },
    );
    expect(solved).toBe(200);
  });

  it("agree with the closed form of a straight line", async () => {
    const t = [0, 1, 2, 3, 4];
    const y = [1, 3, 2, 5, 4];
    const residual = ([a = 0, b = 0]: Float64Array): number[] => t.map((ti, i) => a + b * ti - (y[i] ?? NaN));
    const jac = (): number[][] => t.map((ti) => [1, ti]);
    const fit = await leastSquares(residual, [100, -100], { ...tight, jac });
    expect(fit.x[0]).toBeCloseTo(1.4, 9);
    expect(fit.x[1]).toBeCloseTo(0.8, 9);
    expect(fit.cost).toBeCloseTo(1.8, 10);
  });
});

describe("shapes", () => {
  it("takes fewer residuals than variables", async () => {
    const fit = await leastSquares(([a = 0, b = 0, c = 0]) => [a * b - 2, a + c - 1], [1, 1, 1], tight);
    expect(fit.cost).toBeLessThan(1e-20);
    expect(fit.jac).toHaveLength(6);
  });

  it("takes a rank-deficient Jacobian", async () => {
    const fit = await leastSquares(
      ([a = 0, b = 0]) => [a + b - 2, 2 * (a + b) - 4, (a + b) ** 2 - 4],
      [5, 1],
      tight,
    );
    expect((fit.x[0] ?? NaN) + (fit.x[1] ?? NaN)).toBeCloseTo(2, 8);
  });

  it("leaves a variable alone that nothing depends on", async () => {
    const fit = await leastSquares(([a = 0]) => [a - 1, a * a - 1], [3, 7], tight);
    expect(fit.x[0]).toBeCloseTo(1, 8);
    expect(fit.x[1]).toBe(7);
  });

  it("takes one variable and one residual", async () => {
    const fit = await leastSquares(([a = 0]) => [Math.exp(a) - 2], [0]);
    expect(fit.x[0]).toBeCloseTo(Math.LN2, 8);
  });

  it("takes variables of very different size", async () => {
    const residual = ([a = 0, b = 0]: Float64Array): number[] => [1e9 * a - 1, 1e-9 * b - 1, a * b - 1];
    const fit = await leastSquares(residual, [2e-9, 3e9], tight);
    expect((fit.x[0] ?? NaN) * 1e9).toBeCloseTo(1, 6);
    expect((fit.x[1] ?? NaN) * 1e-9).toBeCloseTo(1, 6);
  });

  it("takes many rows, more than one block of the factorization", async () => {
    const t = Array.from({ length: 20_000 }, (_, i) => i / 20_000);
    const fit = await leastSquares(
      ([a = 0, b = 0]) => t.map((ti) => a * Math.exp(b * ti) - 2 * Math.exp(-ti)),
      [1, 0],
      tight,
    );
    expect(fit.x[0]).toBeCloseTo(2, 8);
    expect(fit.x[1]).toBeCloseTo(-1, 8);
  });
});

describe("termination", () => {
  it("stops at once where the residual is zero", async () => {
    const fit = await leastSquares(line, [3, -2]);
    expect([fit.status, fit.nit, fit.nfev, fit.njev, fit.cost]).toEqual([1, 0, 1, 1, 0]);
  });

  it("stops at a zero residual even without gtol", async () => {
    const fit = await leastSquares(line, [3, -2], { gtol: null });
    expect(fit.status).toBe(3);
    expect(fit.nfev).toBeLessThan(5);
  });

  it("stops at once at an optimum that is not zero", async () => {
    const fit = await leastSquares(([a = 0]) => [a - 1, a + 1], [0]);
    expect([fit.status, fit.nit, fit.cost]).toEqual([1, 0, 1]);
  });

  it("reports each tolerance by its number", async () => {
    const fun = ([a = 0]: Float64Array): number[] => [Math.cosh(a - 1), 2];
    const by = async (options: PlainLeastSquaresOptions): Promise<number> =>
      (await leastSquares(fun, [3], options)).status;
    expect(await by({ ftol: null, xtol: null, gtol: 1e-3 })).toBe(1);
    expect(await by({ ftol: 1e-3, xtol: null, gtol: null })).toBe(2);
    expect(await by({ ftol: null, xtol: 1e-3, gtol: null })).toBe(3);
    expect(await by({ ftol: 0.999, xtol: 1e3, gtol: null })).toBe(4);
  });

  it("stops after maxNfev evaluations", async () => {
    let calls = 0;
    const fun = ([a = 0, b = 0]: Float64Array): number[] => {
      calls++;
      return [10 * (b - a * a), 1 - a];
    };
    const jac = ([a = 0]: Float64Array): number[][] => [
      [-20 * a, 10],
      [-1, 0],
    ];
    const fit = await leastSquares(fun, [-1.2, 1], { jac, maxNfev: 4 });
    expect([fit.status, fit.success, fit.nfev, calls]).toEqual([0, false, 4, 4]);
  });

  it("never runs for ever: 100 evaluations per variable unless told otherwise", async () => {
    // Falls for ever towards infinity.
    const fit = await leastSquares(([a = 0]) => [1 / (1 + a * a) ** 0.001], [1], {
      ftol: null,
      xtol: null,
      gtol: 1e-15,
    });
    expect(fit.status).toBe(0);
    expect(fit.nfev).toBe(100);
  });

  it("stops when the callback says so", async () => {
    const states: IterationState[] = [];
    const callback = (state: IterationState): boolean => {
      states.push(state);
      state.x.fill(NaN); // its own copy
      return state.nit === 3;
    };
    const fit = await leastSquares(([a = 0, b = 0]) => [10 * (b - a * a), 1 - a], [-1.2, 1], { callback });
    expect([fit.status, fit.success, fit.nit, states.length]).toEqual([-2, false, 3, 3]);
    expect(fit.message).toMatch(/callback/);
    expect(fit.x.every(Number.isFinite)).toBe(true);
    expect(states.map(({ cost }) => cost)).toEqual([...states.map(({ cost }) => cost)].sort((a, b) => b - a));
  });

  it("waits for a callback that is asynchronous", async () => {
    const fit = await leastSquares(([a = 0]) => [Math.exp(a) - 9], [0], { callback: async () => true });
    expect([fit.status, fit.nit]).toEqual([-2, 1]);
  });
});

describe("bookkeeping", () => {
  it("reports a residual, Jacobian and gradient that belong to x", async () => {
    const fun = ([a = 0, b = 0]: Float64Array): number[] => [10 * (b - a * a), 1 - a, a * b];
    const jac = ([a = 0, b = 0]: Float64Array): number[][] => [
      [-20 * a, 10],
      [-1, 0],
      [b, a],
    ];
    for (const maxNfev of [1, 2, 3, 4, 5, 100]) {
      const fit = await leastSquares(fun, [-1.2, 1], { jac, maxNfev });
      const J = jac(fit.x);
      expect([...fit.fun]).toEqual(fun(fit.x));
      expect([...fit.jac]).toEqual(J.flat());
      expect(fit.cost).toBe(0.5 * fun(fit.x).reduce((sum, f) => sum + f * f, 0));
      fit.grad.forEach((g, j) =>
        expect(g).toBeCloseTo(
          J.reduce((sum, row, i) => sum + (row[j] ?? NaN) * (fit.fun[i] ?? NaN), 0),
          12,
        ),
      );
      expect(fit.optimality).toBe(Math.max(...fit.grad.map(Math.abs)));
      expect(fit.nfev).toBe(1 + fit.acceptedSteps + fit.rejectedSteps);
      expect(fit.njev).toBe(1 + fit.acceptedSteps);
      expect([...fit.activeMask]).toEqual([0, 0]);
    }
  });

  it("does not change x0, and is not confused by functions that fill one buffer again and again", async () => {
    const x0 = Float64Array.of(-1.2, 1);
    const buffer = new Float64Array(2);
    const matrix = new Float64Array(4);
    const fun = (x: Float64Array): Float64Array => {
      const [a = 0, b = 0] = x;
      buffer.set([10 * (b - a * a), 1 - a]);
      x.fill(NaN); // its own copy
      matrix.fill(NaN); // scratch memory of both functions
      return buffer;
    };
    const jac = ([a = 0]: Float64Array): Float64Array => {
      matrix.set([-20 * a, 10, -1, 0]);
      return matrix;
    };
    for (const options of [{ jac }, { jac: "2-point" }, { jac: "3-point" }] as const) {
      const fit = await leastSquares(fun, x0, options);
      expect(fit.x[1]).toBeCloseTo(1, 6);
      expect([...x0]).toEqual([-1.2, 1]);
    }
    // Some of these end with a rejected trial, after the Jacobian that they report.
    for (const maxNfev of [2, 3, 4, 5]) {
      const fit = await leastSquares(fun, x0, { jac, maxNfev });
      expect(fit.jac.every(Number.isFinite)).toBe(true);
    }
  });

  it("says where the time went", async () => {
    const nap = async (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
    const fun = async ([a = 0]: Float64Array): Promise<number[]> => (await nap(10), [Math.exp(a) - 2]);
    const jac = async ([a = 0]: Float64Array): Promise<number[][]> => (await nap(20), [[Math.exp(a)]]);
    const { times, nfev, njev } = await leastSquares(fun, [0], { jac });
    expect(times.residual).toBeGreaterThan(8 * nfev);
    expect(times.jacobian).toBeGreaterThan(17 * njev);
    expect(times.linearSolve).toBeLessThan(times.residual);
    expect(times.total).toBeGreaterThan(times.residual + times.jacobian);
  });

  it("prints a table of iterations at verbose 2, a sentence at 1, nothing at 0", async () => {
    const printed = async (verbose: 0 | 1 | 2): Promise<string[]> => {
      const lines: string[] = [];
      await leastSquares(([a = 0]) => [Math.exp(a) - 2], [0], { verbose, log: (text) => lines.push(text) });
      return lines;
    };
    expect(await printed(0)).toEqual([]);
    const sentence = await printed(1);
    expect(sentence[0]).toMatch(/termination condition is satisfied/);
    const table = await printed(2);
    expect(table[0]).toMatch(/^ *Iteration +nfev +Cost +Reduction +Step norm +Optimality$/);
    expect(table[1]).toMatch(/^ *0 +1 +5\.0000e-1 +1\.00e\+0$/);
    expect(table.slice(-sentence.length)).toEqual(sentence);
    expect(table.length).toBeGreaterThan(4);
    expect(new Set(table.slice(0, -2).map((text) => text.length)).size).toBe(1);
  });

  it("gives the same bits every time", async () => {
    const run = async (): Promise<string> => {
      const fit = await leastSquares(([a = 0, b = 0]) => [10 * (b - a * a), 1 - a], [-1.2, 1]);
      return JSON.stringify([[...fit.x], [...fit.jac], fit.cost, fit.nfev]);
    };
    expect(await run()).toBe(await run());
  });
});

describe("options", () => {
  it("takes asynchronous functions, and starts all differences of one Jacobian at once", async () => {
    let running = 0;
    let most = 0;
    const fun = async ([a = 0, b = 0, c = 0]: Float64Array): Promise<number[]> => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 1));
      running--;
      return [a - 1, b - 2, c - 3];
    };
    const fit = await leastSquares(fun, [0, 0, 0]);
    expect([...fit.x].map(Math.round)).toEqual([1, 2, 3]);
    expect(most).toBe(3);
  });

  it("gives the solution no other scale than the problem's", async () => {
    const fun = ([a = 0, b = 0]: Float64Array): number[] => [
      Math.exp(1e4 * a) - 2,
      Math.exp(b / 1e4) - 2,
      1e4 * a - b / 1e4,
    ];
    const fit = await leastSquares(fun, [0, 0], { ...tight, xScale: [1e-4, 1e4] });
    expect((fit.x[0] ?? NaN) * 1e4).toBeCloseTo(Math.LN2, 8);
    expect((fit.x[1] ?? NaN) / 1e4).toBeCloseTo(Math.LN2, 8);
  });

  it("takes steps that do not depend on the units, given their scale", async () => {
    // Powers of two, so that both runs round alike; their tolerances measure x, so both stop by count.
    const options: PlainLeastSquaresOptions = { maxNfev: 8 };
    const unit = await leastSquares(([a = 0, b = 0]) => [10 * (b - a * a), 1 - a], [-1.2, 1], {
      ...options,
      xScale: [1, 1],
    });
    const other = await leastSquares(
      ([a = 0, b = 0]) => [10 * (b / 1024 - (a * 1024) ** 2), 1 - a * 1024],
      [-1.2 / 1024, 1024],
      { ...options, xScale: [1 / 1024, 1024] },
    );
    expect(unit.cost).toBeLessThan(3);
    expect(other.cost).toBe(unit.cost);
  });

  it("steps back from a trial point that is not finite", async () => {
    let refused = 0;
    const fun = ([a = 0]: Float64Array): number[] => {
      const value = Math.log(a) - Math.log(1e-3);
      if (!Number.isFinite(value)) refused++;
      return [value];
    };
    const fit = await leastSquares(fun, [10], { jac: ([a = 0]) => [[1 / a]], ...tight });
    expect(refused).toBeGreaterThan(0);
    expect(fit.x[0]).toBeCloseTo(1e-3, 12);
    expect(fit.rejectedSteps).toBeGreaterThanOrEqual(refused);
  });

  it("ends, without success, where every trial is NaN", async () => {
    const fit = await leastSquares(([a = 0]) => [a === 1 ? 1 : NaN], [1], { jac: () => [[1]] });
    expect([fit.status, fit.success, fit.x[0], fit.nfev]).toEqual([0, false, 1, 100]);
  });
});
