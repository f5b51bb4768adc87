/**
 * The NIST StRD sets, from both of their starts: parameters, standard errors and residual sum of squares to at least
 * four of the certified digits. The models are array programs; the formulas of the same models are run as well.
 */
import { np } from "heddle";
import type { NDArray } from "heddle";
import { curveFit } from "#heddle/optimize/curveFit";
import type { CurveFitResult } from "#heddle/optimize/curveFit";
import { afterAll, describe, expect, it } from "vitest";
import { matchingDigits, nistNames, nistSet } from "./nistData.js";
import type { NistSet } from "./nistData.js";
import { nistFormulas, nistPrograms } from "./nistModels.js";

type Fit = CurveFitResult<Record<string, number>>;

const table: string[] = [];

afterAll(() => {
  const header =
    "set        level    start  parameters  std. errors  sum of squares  iterations  evaluations";
  process.stdout.write([header, ...table, ""].join("\n"));
});

function problemOf(set: NistSet): { x: Record<string, number[]>; y: number[] } {
  const { y = [], ...x } = set.columns;
  return { x, y: set.name === "Nelson" ? y.map(Math.log) : y };
}

function startOf(set: NistSet, which: 0 | 1): Record<string, number> {
  return Object.fromEntries(set.parameters.map(({ name, starts }) => [name, starts[which]]));
}

/** The worst matching digits of parameters and of standard errors, and those of the sum of squares. */
function digitsOf(set: NistSet, fit: Fit): { parameters: number; errors: number; squares: number } {
  return {
    parameters: Math.min(...set.parameters.map((p) => matchingDigits(fit.popt[p.name] ?? NaN, p.certified))),
    errors: Math.min(
      ...set.parameters.map((p) => matchingDigits(fit.stderr[p.name] ?? NaN, p.standardDeviation)),
    ),
    squares: matchingDigits(2 * fit.cost, set.residualSumOfSquares),
  };
}

function check(set: NistSet, fit: Fit): { parameters: number; errors: number; squares: number } {
  const digits = digitsOf(set, fit);
  expect(fit.success).toBe(true);
  expect(digits.parameters).toBeGreaterThanOrEqual(4);
  // The residual of Lanczos1 is below rounding, and with it all that is made of it.
  if (set.name !== "Lanczos1") {
    expect(digits.errors).toBeGreaterThanOrEqual(4);
    expect(digits.squares).toBeGreaterThanOrEqual(4);
    expect(fit.warnings).toEqual([]);
  }
  return digits;
}

it("has all the sets", () => {
  expect(nistNames()).toHaveLength(19);
  expect(Object.keys(nistFormulas).sort()).toEqual(nistNames());
  expect(Object.keys(nistPrograms).sort()).toEqual(nistNames());
  expect(nistNames().filter((name) => nistSet(name).level === "Lower")).toHaveLength(8);
});

describe.each(nistNames())("%s", (name) => {
  const set = nistSet(name);
  const { x, y } = problemOf(set);

  it("has as many parameters as its model", () => {
    expect(set.parameters.map((p) => p.name).join()).toBe(
      [...new Set(nistFormulas[name]?.match(/\bb\d/g))].sort().join(),
    );
  });

  it.each([0, 1] as const)("from start %i", async (which) => {
    const program = nistPrograms[name] ?? (() => np.array(NaN));
    const fit = await curveFit(
      (at: Readonly<Record<string, NDArray>>, p: Readonly<Record<string, NDArray>>) => program(at, p),
      x,
      y,
      { p0: startOf(set, which) },
    );
    const { parameters, errors, squares } = check(set, fit);
    table.push(
      `${name.padEnd(10)} ${set.level.padEnd(8)} ${String(which + 1).padStart(5)} ${parameters.toFixed(1).padStart(11)} ` +
        `${errors.toFixed(1).padStart(12)} ${squares.toFixed(1).padStart(15)} ${String(fit.nit).padStart(11)} ${String(fit.nfev).padStart(12)}`,
    );
  });

  it("as a formula, from the nearer start", async () => {
    check(set, await curveFit(nistFormulas[name] ?? "", x, y, { p0: startOf(set, 1) }));
  });
});
