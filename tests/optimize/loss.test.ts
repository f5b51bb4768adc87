/**
 * Robust losses: derivatives that fit their values, and a fit that outliers do not pull away.
 */
import { leastSquares } from "#heddle/optimize/leastSquares";
import { lossOf } from "#heddle/optimize/loss";
import type { LossName } from "#heddle/optimize/loss";
import { describe, expect, it } from "vitest";

const names: readonly LossName[] = ["linear", "huber", "soft_l1", "cauchy", "arctan"];

const t = Array.from({ length: 40 }, (_, i) => i / 4);
const y = t.map((ti, i) => 2 + 3 * ti + 0.1 * Math.sin(7 * i) + (i % 9 === 4 ? 40 : 0));
const residual = ([a = 0, b = 0]: Float64Array): number[] => t.map((ti, i) => a + b * ti - (y[i] ?? NaN));
const jac = (): number[][] => t.map((ti) => [1, ti]);

describe.each(names)("%s", (name) => {
  it("reports the gradient of its own cost", async () => {
    const loss = lossOf("test", name, 0.7);
    const fit = await leastSquares(residual, [1, 1], { jac, loss: name, fScale: 0.7, maxNfev: 1 });
    const cost = (a: number, b: number): number =>
      loss.cost(Float64Array.from(residual(Float64Array.of(a, b))));
    expect(fit.cost).toBe(cost(1, 1));
    expect((fit.grad[0] ?? NaN) / ((cost(1 + 1e-6, 1) - cost(1 - 1e-6, 1)) / 2e-6)).toBeCloseTo(1, 6);
    expect((fit.grad[1] ?? NaN) / ((cost(1, 1 + 1e-6) - cost(1, 1 - 1e-6)) / 2e-6)).toBeCloseTo(1, 6);
    expect([...fit.fun]).toEqual(residual(Float64Array.of(1, 1)));
  });

  it("is near ½f² for small residuals", () => {
    expect(lossOf("test", name, 1).cost(Float64Array.of(1e-4, 2e-4)) / 2.5e-8).toBeCloseTo(1, 6);
  });

  it(name === "linear" ? "is pulled away by outliers" : "is not pulled away by outliers", async () => {
    const fit = await leastSquares(residual, [0, 0], { jac, loss: name, fScale: 0.2, maxNfev: 1000 });
    const away = Math.hypot((fit.x[0] ?? NaN) - 2, (fit.x[1] ?? NaN) - 3);
    expect(fit.success).toBe(true);
    if (name === "linear") expect(away).toBeGreaterThan(1);
    else expect(away).toBeLessThan(0.1);
  });
});

it("has the values of the closed forms", () => {
  const at3 = (name: LossName): number => 2 * lossOf("test", name, 1).cost(Float64Array.of(Math.sqrt(3)));
  expect(at3("huber")).toBeCloseTo(2 * Math.sqrt(3) - 1, 14);
  expect(at3("soft_l1")).toBeCloseTo(2, 14);
  expect(at3("cauchy")).toBeCloseTo(Math.log(4), 14);
  expect(at3("arctan")).toBeCloseTo(Math.atan(3), 14);
});

it("takes a function of one's own", async () => {
  const cauchy = (z: number): [number, number, number] => [Math.log1p(z), 1 / (1 + z), -1 / (1 + z) ** 2];
  const own = await leastSquares(residual, [0, 0], { jac, loss: cauchy, fScale: 0.2 });
  const built = await leastSquares(residual, [0, 0], { jac, loss: "cauchy", fScale: 0.2 });
  expect([...own.x]).toEqual([...built.x]);
});

it("scales the Jacobian so that its square has the curvature of the loss", async () => {
  // Cauchy at f = ½: z = ¼, ρ' = 0.8, ρ'' = −0.64, and ρ' + 2ρ''z = 0.48.
  const fit = await leastSquares(([a = 0]) => [a], [0.5], { jac: () => [[1]], loss: "cauchy", maxNfev: 1 });
  expect(fit.jac[0]).toBeCloseTo(Math.sqrt(0.48), 14);
  expect(fit.grad[0]).toBeCloseTo(0.4, 14);
});
