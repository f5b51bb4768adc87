/**
 * Where to go from here: the *descent* half of an optimizer. It is given the linear model `r + J·δ` once per accepted
 * point and answers with a step for every radius that the search asks for.
 */
import { entry } from "./entry.js";
import { Triangle } from "./triangle.js";

/** A proposed step. */
export interface Step {
  readonly delta: Float64Array;
  /** By how much the linear model says that the cost falls. Never negative. */
  readonly predicted: number;
}

/** The steps of one linear model. */
export interface Steps {
  /** The step for a radius of trust. */
  at(radius: number): Step;
}

/** Turns a linear model (row-major `[m, n]` Jacobian, residual of `m`) into steps. */
export interface Descent {
  linearize(jacobian: Float64Array, residual: Float64Array): Steps;
}

/** The size of each variable: given, or `"jac"` for "from the columns of the Jacobian". */
export type VariableScale = Float64Array | "jac";

const smallestDamping = 1e-6;
const largestDamping = 1e32;

/**
 * Damped Gauss-Newton, the step of Levenberg and Marquardt: minimise `‖J·δ + r‖² + ‖√(D/radius)·δ‖²` through the
 * triangular factor of `[J; √(D/radius)]`. `D` is the squared column norm of `J`, within 1e-6 and 1e32 (as Ceres
 * Solver has it), or with given variable scales `1/scale²` times the largest squared column norm of `J·scale`. The
 * factor of `J` is computed once; another radius costs O(n³) however many residuals there are.
 */
export function dampedGaussNewton(scale: VariableScale): Descent {
  return {
    linearize(jacobian, residual) {
      const n = jacobian.length / residual.length;
      const triangle = Triangle.of(jacobian, residual, n);
      const damping = dampingOf(triangle, scale);
      return { at: (radius) => dampedStep(triangle, damping, radius) };
    },
  };
}

function dampedStep(triangle: Triangle, damping: Float64Array, radius: number): Step {
  const { n } = triangle;
  const width = n + 1;
  const rows = new Float64Array(n * width);
  for (let j = 0; j < n; j++) rows[j * width + j] = Math.sqrt(entry(damping, j) / radius);
  const damped = triangle.clone();
  // Row j of the damping is zero left of column j, and elimination fills it only to the right.
  damped.absorb(rows, n, (column) => column + 1);
  const delta = damped.solve();
  let dampedNorm = 0;
  for (let j = 0; j < n; j++) {
    const component = -entry(delta, j);
    delta[j] = component;
    dampedNorm += (entry(damping, j) / radius) * component * component;
  }
  // ½‖r‖² − ½‖J·δ + r‖², rewritten with the normal equations of the damped problem so that nothing cancels.
  return { delta, predicted: 0.5 * triangle.squaredNormOfProduct(delta) + dampedNorm };
}

function dampingOf(triangle: Triangle, scale: VariableScale): Float64Array {
  const norms = Float64Array.from({ length: triangle.n }, (_, j) => triangle.columnNorm(j));
  if (scale === "jac") return norms.map((norm) => clamp(norm * norm));
  const largest = norms.reduce((most, norm, j) => Math.max(most, norm * entry(scale, j)), 0);
  return scale.map((size) => clamp((largest / size) ** 2));
}

function clamp(value: number): number {
  return Math.min(largestDamping, Math.max(smallestDamping, value));
}
