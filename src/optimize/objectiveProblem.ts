/**
 * Objective functions as least-squares problems.
 */
import type { NDArray } from "../arrays/index.js";
import type { CallOptions } from "../objectives/engine.js";
import type { GradientOf } from "../objectives/functionCalls.js";
import type { ObjectiveFunction } from "../objectives/objectiveFunction.js";
import type { LeastSquaresProblem } from "./problem.js";
import type { LeastSquaresResult } from "./result.js";

/** The result for objectives: the solution also in the form in which the coefficients were given. */
export interface ObjectiveLeastSquaresResult<X> extends LeastSquaresResult {
  /** The solution: an array where the coefficients were one, a tree of arrays where they were a tree. */
  readonly solution: GradientOf<X>;
}

/** The problem of minimising the squares of an objective function. */
export function objectiveProblem<X>(fun: ObjectiveFunction<X>, options: CallOptions): LeastSquaresProblem {
  let live: NDArray<"float64"> | undefined;
  return {
    dimX: fun.dimX,
    residual: async (x) => (await fun.residual(x, options)).data,
    // One Jacobian is live at a time: its memory is used again, and nothing is copied.
    jacobian: async (x) => {
      live = await fun.jacobian(x, live === undefined ? options : { ...options, out: live });
      return live;
    },
    objectives: fun.objectives,
  };
}

/** The same with evaluations that block. */
export function blockingProblem<X>(fun: ObjectiveFunction<X>): LeastSquaresProblem {
  let live: NDArray<"float64"> | undefined;
  return {
    dimX: fun.dimX,
    residual: (x) => fun.sync.residual(x).data,
    jacobian: (x) => {
      live = fun.sync.jacobian(x, live === undefined ? {} : { out: live });
      return live;
    },
    objectives: fun.objectives,
  };
}
