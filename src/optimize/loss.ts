/**
 * Robust losses. A loss replaces the square of each residual by a function that grows more slowly, so that outliers pull
 * less. Names, scaling and formulas are SciPy's (Triggs and others, Bundle Adjustment: a Modern Synthesis, 2000, 4.3).
 */
import { ArgumentError } from "../base/errors.js";
import { entry } from "./entry.js";

/** `ρ`, `ρ'` and `ρ''` at `z`, the squared scaled residual. */
export type LossFunction = (z: number) => readonly [value: number, slope: number, curvature: number];

/** The built-in losses. */
export type LossName = "linear" | "huber" | "soft_l1" | "cauchy" | "arctan";

const losses: Readonly<Record<LossName, LossFunction>> = {
  linear: (z) => [z, 1, 0],
  huber: (z) => (z <= 1 ? [z, 1, 0] : [2 * Math.sqrt(z) - 1, z ** -0.5, -0.5 * z ** -1.5]),
  soft_l1: (z) => [(2 * z) / (Math.sqrt(1 + z) + 1), (1 + z) ** -0.5, -0.5 * (1 + z) ** -1.5],
  cauchy: (z) => [Math.log1p(z), 1 / (1 + z), -1 / (1 + z) ** 2],
  arctan: (z) => [Math.atan(z), 1 / (1 + z * z), (-2 * z) / (1 + z * z) ** 2],
};

/** A loss at work: the cost of rows, and the scaled residual and Jacobian whose plain squares have its gradient. */
export interface Loss {
  /** `½·Σ C²·ρ((f/C)²)` over the rows `[start, end)`, all by default. */
  cost(residual: Float64Array, start?: number, end?: number): number;
  /** Residual and Jacobian of the equivalent plain problem: the same arrays for `linear`, copies otherwise. */
  scale(residual: Float64Array, jacobian: Float64Array): { residual: Float64Array; jacobian: Float64Array };
}

/** The loss of that name, or of one's own function, with the soft threshold `fScale` between inliers and outliers. */
export function lossOf(operation: string, loss: LossName | LossFunction, fScale: number): Loss {
  if (!(fScale > 0 && Number.isFinite(fScale))) {
    throw new ArgumentError({
      operation,
      argument: "options.fScale",
      found: String(fScale),
      expected: "a positive number",
    });
  }
  if (loss === "linear") return linear;
  const rho = typeof loss === "function" ? loss : losses[loss];
  // A caller without types can ask for any name.
  if (typeof rho !== "function") {
    throw new ArgumentError({
      operation,
      argument: "options.loss",
      found: JSON.stringify(loss),
      expected: `a function, or one of ${Object.keys(losses).join(", ")}`,
    });
  }
  return robust(rho, fScale);
}

const linear: Loss = {
  cost(residual, start = 0, end = residual.length) {
    let sum = 0;
    for (let i = start; i < end; i++) sum += entry(residual, i) ** 2;
    return 0.5 * sum;
  },
  scale: (residual, jacobian) => ({ residual, jacobian }),
};

function robust(rho: LossFunction, fScale: number): Loss {
  return {
    cost(residual, start = 0, end = residual.length) {
      let sum = 0;
      for (let i = start; i < end; i++) sum += rho((entry(residual, i) / fScale) ** 2)[0];
      return 0.5 * fScale * fScale * sum;
    },
    scale(residual, jacobian) {
      const n = jacobian.length / residual.length;
      const scaledResidual = residual.slice();
      const scaledJacobian = jacobian.slice();
      for (let i = 0; i < residual.length; i++) {
        const f = entry(residual, i);
        const z = (f / fScale) ** 2;
        const [, slope, curvature] = rho(z);
        // Far out the curvature would turn the model concave; the floor keeps it a sum of squares.
        const weight = Math.sqrt(Math.max(slope + 2 * curvature * z, Number.EPSILON));
        scaledResidual[i] = (f * slope) / weight;
        for (let j = i * n; j < (i + 1) * n; j++) scaledJacobian[j] = entry(jacobian, j) * weight;
      }
      return { residual: scaledResidual, jacobian: scaledJacobian };
    },
  };
}
