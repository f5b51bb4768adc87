/**
 * `curveFit` with plain functions: names, standard errors, data that do not determine the parameters, bad input.
 */
import { ArgumentError, ShapeError } from "#heddle/base/errors";
import type { ErrorParts, HeddleError } from "#heddle/base/errors";
import { curveFit } from "#heddle/optimize/curveFit";
import type { PlainCurveFitOptions } from "#heddle/optimize/curveFit";
import { describe, expect, it } from "vitest";

const x = [0, 1, 2, 3, 4];
const y = [1, 3, 2, 5, 4];
const line = (at: readonly number[], { slope, base }: { slope: number; base: number }): number[] =>
  at.map((value) => base + slope * value);

// y = 1.4 + 0.8·x, residual sum of squares 3.6; variances s²(1/5 + 2²/10) and s²/10 with s² = 3.6/3.
const s2 = 1.2;

describe("a straight line", () => {
  it.each(["2-point", "3-point", "by column", "by row"] as const)(
    "agrees with the textbook (%s)",
    async (how) => {
      const fit = await curveFit(line, x, y, {
        p0: { slope: 0, base: 0 },
        jac:
          how === "by column"
            ? (at) => ({ slope: [...at], base: at.map(() => 1) })
            : how === "by row"
              ? (at) => at.map((value) => [1, value])
              : how,
      });
      expect(fit.names).toEqual(["base", "slope"]);
      expect(Object.keys(fit.popt)).toEqual(["base", "slope"]);
      expect(fit.popt.base).toBeCloseTo(1.4, 7);
      expect(fit.popt.slope).toBeCloseTo(0.8, 7);
      expect(fit.stderr.base).toBeCloseTo(Math.sqrt(s2 * 0.6), 6);
      expect(fit.stderr.slope).toBeCloseTo(Math.sqrt(s2 * 0.1), 6);
      expect(fit.pcov[0]?.[1]).toBeCloseTo(-0.2 * s2, 6);
      expect(fit.pcov[1]?.[0]).toBe(fit.pcov[0]?.[1]);
      expect(fit.warnings).toEqual([]);
      expect(fit.success).toBe(true);
    },
  );

  it("weighs observations by sigma, absolute or relative", async () => {
    const options = { p0: { slope: 0, base: 0 }, jac: "3-point", sigma: [1, 1, 1e-6, 1, 1e-6] } as const;
    const relative = await curveFit(line, x, y, options);
    expect(relative.popt.slope).toBeCloseTo(1, 5); // through (2, 2) and (4, 4)
    expect(relative.popt.base).toBeCloseTo(0, 5);
    const absolute = await curveFit(line, x, y, { ...options, absoluteSigma: true });
    const scale = Math.sqrt((2 * relative.cost) / 3);
    expect(relative.stderr.slope / absolute.stderr.slope).toBeCloseTo(scale, 6);
    const unit = await curveFit(line, x, y, { ...options, sigma: [2, 2, 2, 2, 2], absoluteSigma: true });
    expect(unit.stderr.slope).toBeCloseTo(2 * Math.sqrt(0.1), 6);
  });

  it("weighs a given Jacobian as it weighs the residual", async () => {
    const sigma = [1, 2, 3, 4, 5];
    const p0 = { slope: 0, base: 0 };
    const given = await curveFit(line, x, y, { p0, sigma, jac: (at) => at.map((value) => [1, value]) });
    const differences = await curveFit(line, x, y, { p0, sigma, jac: "3-point" });
    expect(given.popt.slope).toBeCloseTo(differences.popt.slope, 8);
    expect(given.stderr.slope).toBeCloseTo(differences.stderr.slope, 8);
  });
});

describe("data that do not determine the parameters", () => {
  it.each(["2-point", "3-point"] as const)("give infinite variances and a warning (%s)", async (jac) => {
    const product = (at: readonly number[], { a, b }: { a: number; b: number }): number[] =>
      at.map((value) => a * b * value);
    const fit = await curveFit(product, x, y, { p0: { a: 1, b: 1 }, jac });
    expect(fit.popt.a * fit.popt.b).toBeCloseTo(38 / 30, 8);
    expect(fit.pcov.flat()).toEqual([Infinity, Infinity, Infinity, Infinity]);
    expect(fit.stderr).toEqual({ a: Infinity, b: Infinity });
    expect(fit.warnings).toEqual([expect.stringMatching(/rank-deficient/)]);
    // Deficient in a way that the errors of differences hide.
    const shifted = (at: readonly number[], { a, b, c }: { a: number; b: number; c: number }): number[] =>
      at.map((value) => a * Math.exp(b + c * value));
    const hidden = await curveFit(shifted, x, y, { p0: { a: 1, b: 0.3, c: 0.1 }, jac });
    expect(hidden.stderr).toEqual({ a: Infinity, b: Infinity, c: Infinity });
  });

  it("give infinite variances if a parameter has no effect, or there are too few observations", async () => {
    const idle = (at: readonly number[], { a }: { a: number; b: number }): number[] =>
      at.map((value) => a * value);
    const fit = await curveFit(idle, x, y, { p0: { a: 1, b: 5 }, jac: "2-point" });
    expect(fit.popt.b).toBe(5);
    expect(fit.stderr.b).toBe(Infinity);
    const two = await curveFit(line, [0, 1], [1, 3], { p0: { slope: 1, base: 1 }, jac: "2-point" });
    expect(two.stderr.slope).toBe(Infinity);
    expect(two.warnings[0]).toMatch(/as many parameters as observations/);
    const one = await curveFit(line, [1], [3], { p0: { slope: 1, base: 1 }, jac: "2-point" });
    expect(one.popt.base + one.popt.slope).toBeCloseTo(3, 8);
    expect(one.stderr.slope).toBe(Infinity);
  });

  it("is not confused with a lack of convergence", async () => {
    const decay = (at: readonly number[], { k }: { k: number }): number[] =>
      at.map((value) => Math.exp(-k * value));
    const fit = await curveFit(decay, x, y, { p0: { k: 1 }, jac: "2-point", maxNfev: 2 });
    expect(fit.status).toBe(0);
    expect(fit.warnings[0]).toMatch(/did not converge/);
  });
});

it("takes asynchronous models, any kind of x, and a scale for each parameter", async () => {
  const fit = await curveFit(
    async ({ t }: { t: readonly number[] }, { rate, size }) =>
      t.map((value) => size * Math.exp(-rate * value)),
    { t: x },
    x.map((value) => 3e6 * Math.exp(-0.5 * value)),
    { p0: { rate: 1, size: 1e6 }, jac: "3-point", xScale: { rate: 1, size: 1e6 } },
  );
  expect(fit.popt.rate).toBeCloseTo(0.5, 8);
  expect(fit.popt.size / 3e6).toBeCloseTo(1, 8);
});

describe("bad input", () => {
  const p0 = { slope: 0, base: 0 };
  type Options = PlainCurveFitOptions<readonly number[], typeof p0>;
  const fit = (options: Partial<Options>, ydata: readonly number[] = y): Promise<unknown> =>
    curveFit(line, x, ydata, { p0, jac: "2-point", ...options });
  // Programs without types can hand over anything; the cast stands for them.
  const anything = <T>(value: unknown): T => value as T;

  const cases: readonly [string, () => Promise<unknown>, new (parts: ErrorParts) => HeddleError, RegExp][] = [
    ["no p0", () => fit({ p0: anything(undefined) }), ArgumentError, /options.p0 is missing/],
    [
      "a list for p0",
      () => fit({ p0: anything([1, 2]) }),
      ArgumentError,
      /options.p0 is an array, expected an object of named numbers/,
    ],
    ["an empty p0", () => fit({ p0: anything({}) }), ArgumentError, /options.p0 is without parameters/],
    ["NaN in p0", () => fit({ p0: { slope: NaN, base: 0 } }), ArgumentError, /options.p0.slope is NaN/],
    ["text in p0", () => fit({ p0: anything({ slope: "1" }) }), ArgumentError, /options.p0.slope is string/],
    ["no observations", () => fit({}, []), ShapeError, /ydata is empty/],
    ["NaN in ydata", () => fit({}, [1, 2, NaN, 4, 5]), ArgumentError, /ydata\[2\] is NaN/],
    ["ydata of another length", () => fit({}, [1, 2]), ShapeError, /f is a curve of 5 points, expected 2/],
    [
      "sigma of another length",
      () => fit({ sigma: [1] }),
      ShapeError,
      /options.sigma is 1 entries, expected 5/,
    ],
    ["sigma zero", () => fit({ sigma: [1, 1, 0, 1, 1] }), ArgumentError, /options.sigma\[2\] is 0/],
    [
      "a jac without a column",
      () => fit({ jac: anything(() => ({ slope: x })) }),
      ArgumentError,
      /without a column "base"/,
    ],
    [
      "a jac with a short column",
      () => fit({ jac: () => ({ slope: x, base: [1] }) }),
      ShapeError,
      /jac.base is 1 entries/,
    ],
    [
      "a jac with a missing row",
      () => fit({ jac: () => [[1, 2]] }),
      ShapeError,
      /jac is 1 rows, expected shape \[5,2\]/,
    ],
    [
      "an xScale without a parameter",
      () => fit({ xScale: anything({ slope: 1 }) }),
      ArgumentError,
      /options.xScale .*positive/,
    ],
    ["an unknown jac", () => fit({ jac: anything("cs") }), ArgumentError, /options.jac is "cs"/],
  ];

  it.each(cases)("%s", async (_, call, kind, message) => {
    await expect(call()).rejects.toThrow(kind);
    await expect(call()).rejects.toThrow(message);
  });
});
