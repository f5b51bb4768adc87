/**
 * What an optimizer hands back: SciPy's fields under their JavaScript names, and where the time went.
 */
import type { Status } from "./termination.js";

/** The cost of one objective before and after. */
export interface ObjectiveCost {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/** Milliseconds of wall-clock time. */
export interface OptimizeTimes {
  readonly residual: number;
  readonly jacobian: number;
  readonly linearSolve: number;
  readonly total: number;
}

/** The result of `leastSquares`. `fun`, `jac`, `grad`, `cost` and `optimality` all belong to `x`. */
export interface LeastSquaresResult {
  /** The solution, `[dimX]`. */
  readonly x: Float64Array;
  /** `½‖fun‖²`, or its robust form. */
  readonly cost: number;
  /** The residual at `x`, `[dimF]`, before any loss. */
  readonly fun: Float64Array;
  /** The Jacobian at `x`, row-major `[dimF, dimX]`; with a loss, scaled so that `jacᵀ·jac` approximates the Hessian. */
  readonly jac: Float64Array;
  /** The gradient of the cost at `x`, `[dimX]`. */
  readonly grad: Float64Array;
  /** The largest magnitude in `grad`. */
  readonly optimality: number;
  /** Which variables stand on a bound (-1 lower, 1 upper): none, while no method takes bounds. */
  readonly activeMask: Int32Array;
  /** Evaluations of the residual, finite differences not counted. */
  readonly nfev: number;
  /** Evaluations of the Jacobian. */
  readonly njev: number;
  /** Iterations; each ends with an accepted step or with the end of the run. */
  readonly nit: number;
  readonly status: Status;
  readonly message: string;
  /** True if a tolerance was reached (`status > 0`). */
  readonly success: boolean;
  /** The objectives, in the order of their rows; empty if the problem names none. */
  readonly objectives: readonly ObjectiveCost[];
  readonly acceptedSteps: number;
  readonly rejectedSteps: number;
  readonly times: OptimizeTimes;
}

/** What a callback sees after each iteration. `x` is the callback's own copy. */
export interface IterationState {
  readonly x: Float64Array;
  readonly cost: number;
  readonly optimality: number;
  readonly nit: number;
  readonly nfev: number;
  readonly njev: number;
  /** By how much the last iteration lowered the cost. */
  readonly reduction: number;
  /** The 2-norm of the last accepted step; 0 if none was accepted. */
  readonly stepNorm: number;
}
