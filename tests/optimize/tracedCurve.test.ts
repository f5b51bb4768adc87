/**
 * `curveFit` with array programs and with formulas: exact derivatives, every form of the data, and mistakes in words.
 */
import { np } from "heddle";
import type { NDArray } from "heddle";
import { ArgumentError, ConcretizationError, ShapeError } from "#heddle/base/errors";
import type { ErrorParts, HeddleError } from "#heddle/base/errors";
import { curveFit } from "#heddle/optimize/curveFit";
import { describe, expect, it } from "vitest";

const x = [0, 1, 2, 3, 4, 5, 6];
const y = x.map((value) => 3 * Math.exp(-0.4 * value) + 1 + 0.01 * Math.cos(5 * value));
const p0 = { size: 1, rate: 1, base: 0 };
const formula = "size * exp(-rate * x) + base";

const plain = () =>
  curveFit(
    (at: readonly number[], { size, rate, base }) => at.map((value) => size * Math.exp(-rate * value) + base),
    x,
    y,
    {
      p0,
      jac: (at, { size, rate }) =>
        at.map((value) => [1, -size * value * Math.exp(-rate * value), Math.exp(-rate * value)]),
    },
  );

describe("an array program", () => {
  it("gives what the same model gives with derivatives by hand", async () => {
    const byHand = await plain();
    const traced = await curveFit(
      (at, { size, rate, base }) => size.mul(np.exp(at.mul(rate).neg())).add(base),
      x,
      y,
      {
        p0,
      },
    );
    expect(traced.names).toEqual(["base", "rate", "size"]);
    for (const name of ["base", "rate", "size"] as const) {
      expect(traced.popt[name]).toBeCloseTo(byHand.popt[name], 10);
      expect(traced.stderr[name] / byHand.stderr[name]).toBeCloseTo(1, 8);
    }
    traced.jac.forEach((value, i) => expect(value).toBeCloseTo(byHand.jac[i] ?? NaN, 10));
    expect(traced.nfev).toBe(byHand.nfev);
  });

  it("takes x as an array, a typed array, a list of vectors, or vectors under names", async () => {
    const line = { p0: { a: 0, b: 0 } };
    const z = [1, 0, 2, 1, 0, 2, 1];
    const plane = x.map((value, i) => 2 * value - 3 * (z[i] ?? NaN));
    const found = [
      await curveFit((at, { a, b }) => at.mul(a).add(b), np.array(x), np.array(x), line),
      await curveFit((at, { a, b }) => at.mul(a).add(b), Float64Array.from(x), Float64Array.from(x), line),
      await curveFit((at, { a, b }) => at.slice(0).mul(a).add(at.slice(1).mul(b)), [x, z], plane, line),
      await curveFit((at, { a, b }) => at.u.mul(a).add(at.v.mul(b)), { u: x, v: z }, plane, line),
    ].map(({ popt }) => [Number(popt.a.toFixed(9)), Number(popt.b.toFixed(9)) + 0]);
    expect(found).toEqual([
      [1, 0],
      [1, 0],
      [2, -3],
      [2, -3],
    ]);
  });

  it("takes integers as the numbers that they are", async () => {
    const fit = await curveFit((at, { a }) => at.div(2).mul(a), np.array(x).astype("int32"), x, {
      p0: { a: 1 },
    });
    expect(fit.popt.a).toBeCloseTo(2, 10);
  });

  it("weighs observations by sigma", async () => {
    const sigma = [1, 2, 3, 4, 5, 6, 7];
    const weighted = await curveFit((at, { a, b }) => at.mul(a).add(b), x, y, { p0: { a: 0, b: 0 }, sigma });
    const byHand = await curveFit((at: number[], { a, b }) => at.map((value) => a * value + b), x, y, {
      p0: { a: 0, b: 0 },
      sigma,
      jac: (at) => at.map((value) => [value, 1]),
    });
    expect(weighted.popt.a).toBeCloseTo(byHand.popt.a, 10);
    expect(weighted.stderr.b).toBeCloseTo(byHand.stderr.b, 10);
  });

  it("may be a constant, which stands for a curve", async () => {
    const fit = await curveFit((_, { mean }) => mean, x, [1, 2, 3, 4, 5, 6, 9], { p0: { mean: 0 } });
    expect(fit.popt.mean).toBeCloseTo(30 / 7, 10);
    expect(fit.stderr.mean).toBeCloseTo(Math.sqrt(43.428571428571 / 6 / 7), 8);
  });

  it("finds a lack of rank, as with plain functions", async () => {
    const fit = await curveFit((at, { a, b, c }) => a.mul(np.exp(b.add(c.mul(at)))), x, y, {
      p0: { a: 1, b: 1, c: -1 },
    });
    expect(fit.stderr).toEqual({ a: Infinity, b: Infinity, c: Infinity });
    expect(fit.warnings[0]).toMatch(/rank-deficient/);
  });
});

describe("a formula", () => {
  it("gives what the array program gives", async () => {
    const byHand = await plain();
    const fit = await curveFit(formula, x, y, { p0 });
    expect(fit.popt.rate).toBeCloseTo(byHand.popt.rate, 10);
    expect(fit.stderr.rate / byHand.stderr.rate).toBeCloseTo(1, 8);
  });

  it("has the names of the data, constants, and parameters that hide them", async () => {
    const angle = [0, 0.1, 0.2, 0.3];
    const wave = await curveFit(
      "a * sin(2 * pi * t) + e",
      { t: angle },
      angle.map((t) => 5 * Math.sin(2 * Math.PI * t) + 7),
      {
        p0: { a: 1, e: 0 },
      },
    );
    expect(wave.popt.a).toBeCloseTo(5, 10);
    expect(wave.popt.e).toBeCloseTo(7, 10);
    const constant = await curveFit("a * e ** x", x, x.map(Math.exp), { p0: { a: 0.5 } });
    expect(constant.popt.a).toBeCloseTo(1, 10);
  });

  it.each([
    ["abs(x - 2.5) * a", (v: number) => Math.abs(v - 2.5)],
    ["a * atan2(x, 1 + x)", (v: number) => Math.atan2(v, 1 + v)],
    ["a * x ** 3", (v: number) => v ** 3],
    ["a * (x - 3) ** 3", (v: number) => (v - 3) ** 3],
    ["a * pow(2, x)", (v: number) => 2 ** v],
    ["a * -x ** 2 / 2 ** -1", (v: number) => -2 * v * v],
    ["a * sqrt(x + 1) - a * log1p(x)", (v: number) => Math.sqrt(v + 1) - Math.log1p(v)],
    ["a * maximum(x, 2)", (v: number) => Math.max(v, 2)],
  ])("computes %s", async (text, expected) => {
    const fit = await curveFit(
      text,
      x,
      x.map((value) => 1.5 * expected(value)),
      { p0: { a: 1 } },
    );
    expect(fit.popt.a).toBeCloseTo(1.5, 9);
    expect(fit.cost).toBeLessThan(1e-18);
  });
});

describe("bad input", () => {
  // Programs without types can hand over anything; the cast stands for them.
  const anything = <T>(value: unknown): T => value as T;
  type Model = (at: NDArray<"float64">, p: { readonly a: NDArray<"float64"> }) => NDArray;
  const fit = (f: Model): Promise<unknown> => curveFit(f, x, y, { p0: { a: 1 } });
  const parsed = (text: string, names: readonly string[] = ["a"]): Promise<unknown> =>
    curveFit(text, x, y, { p0: Object.fromEntries(names.map((name) => [name, 1])) });

  const cases: readonly [string, () => Promise<unknown>, new (parts: ErrorParts) => HeddleError, RegExp][] = [
    [
      "no model",
      () => fit(anything(undefined)),
      ArgumentError,
      /f is undefined, expected a function of x and parameters, or a formula/,
    ],
    [
      "no options",
      () => curveFit(formula, x, y, anything<{ p0: typeof p0 }>(undefined)),
      ArgumentError,
      /options.p0 is missing/,
    ],
    [
      "plain code",
      () => fit((at) => anything<{ map: (g: Math["exp"]) => NDArray }>(at).map(Math.exp)),
      ArgumentError,
      /failed when it was traced \(TypeError.*give jac/,
    ],
    [
      "a branch on a traced value",
      () => fit((at, { a }) => (Number(a) > 0 ? at : a)),
      ConcretizationError,
      /./,
    ],
    ["an async model", () => fit(anything(async () => np.array(1))), ArgumentError, /f/],
    [
      "a curve of the wrong shape",
      () => fit((at, { a }) => at.slice([1]).mul(a)),
      ShapeError,
      /f is a curve of shape \[6\], expected \[7\]/,
    ],
    [
      "a curve with two axes",
      () => fit((at, { a }) => np.outer(at, at).mul(a)),
      ShapeError,
      /f is a curve of shape \[7,7\]/,
    ],
    ["a model without a result", () => fit(anything(() => undefined)), ArgumentError, /the result of f/],
    [
      "an observation matrix",
      () => curveFit(formula, x, np.zeros([7, 1]), { p0 }),
      ShapeError,
      /ydata is of shape \[7,1\], expected a vector/,
    ],
    [
      "ragged data",
      () => curveFit((at, { a }) => at.mul(a), anything<number[][]>([[1, 2], [1]]), y, { p0: { a: 1 } }),
      ShapeError,
      /xdata/,
    ],
    [
      "an unknown name",
      () => parsed("a * z"),
      ArgumentError,
      /the name "z" in the formula is not known, expected one of a, x, pi, e/,
    ],
    ["a name of every object", () => parsed("a * constructor"), ArgumentError, /the name "constructor"/],
    [
      "an unknown function",
      () => parsed("a * eval(x)"),
      ArgumentError,
      /the function "eval" in the formula is not known, expected one of .*exp.*pow/,
    ],
    ["a function of every object", () => parsed("a * toString(x)"), ArgumentError, /the function "toString"/],
    [
      "too many arguments",
      () => parsed("a * exp(x, 2)"),
      ArgumentError,
      /"exp" in the formula is called with 2 arguments, expected 1/,
    ],
    [
      "too few arguments",
      () => parsed("a * pow(x)"),
      ArgumentError,
      /"pow" in the formula is called with 1 arguments, expected 2/,
    ],
    [
      "a parameter that is not used",
      () => parsed("a * x", ["a", "b"]),
      ArgumentError,
      /options.p0.b is not used by the formula/,
    ],
    [
      "a parameter named as the data",
      () => parsed("x", ["x"]),
      ArgumentError,
      /options.p0.x is also the name of the data/,
    ],
    [
      "a formula with jac",
      () => curveFit(formula, x, y, anything<{ p0: typeof p0 }>({ p0, jac: "2-point" })),
      ArgumentError,
      /options.jac is given, expected none/,
    ],
  ];

  it.each(cases)("%s", async (_, call, kind, message) => {
    const error = await call().then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(kind);
    expect(String(error)).toMatch(message);
  });
});
