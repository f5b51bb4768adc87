/**
 * Objective functions as least-squares problems.
 */
import type { CallOptions } from "../objectives/engine.js";
import type { GradientOf, ObjectiveFunction } from "../objectives/objectiveFunction.js";
import type { LeastSquaresProblem } from "./problem.js";
import type { LeastSquaresResult } from "./result.js";

/** The result for objectives: the solution also in the form in which the coefficients were given. */
export interface ObjectiveLeastSquaresResult<X> extends LeastSquaresResult {
  /** The solution: an array where the coefficients were one, a tree of arrays where they were a tree. */
  readonly solution: GradientOf<X>;
}

/** The problem of minimising the squares of an objective function. */
export function objectiveProblem<X>(fun: ObjectiveFunction<X>, options: CallOptions): LeastSquaresProblem {
  return {
    dimX: fun.dimX,
    residual: async (x) => (await fun.residual(x, options)).data,
    jacobian: async (x) => (await fun.jacobian(x, options)).data,
    objectives: fun.objectives.map(({ name, start, end }) => ({ name, rows: [start, end] })),
  };
}
