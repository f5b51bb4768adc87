// The public face of heddle: whatever is exported here is reachable from "heddle", and nothing else is.

/** The version of this package. */
export const version = "0.1.0";

export { createPool } from "./executor/pool.js";
export type { ArrayData, Pool, PoolReport, RankDescription } from "./executor/pool.js";
export type { TimelineEntry } from "./executor/timeline.js";
export type { PoolEvent } from "./executor/events.js";
export type { PoolOptions, RankRequest } from "./executor/options.js";
export type { Arrays, LoadOptions, ProgramReport, ResidentPlan } from "./executor/resident.js";

export {
  grad,
  hessian,
  jacfwd,
  jacrev,
  jit,
  jvp,
  linearize,
  makeGraph,
  NDArray,
  np,
  PrintedGraph,
  stopGradient,
  valueAndGrad,
  vjp,
  vmap,
} from "./arrays/index.js";
export type {
  Argnums,
  Argument,
  Arguments,
  ArrayInput,
  AxisTree,
  Derivative,
  DerivativeIn,
  GradOptions,
  HessianTransform,
  JacobianOf,
  JacobianTransform,
  NestedInput,
  NestedList,
  Traced,
  TypedInput,
  VmapOptions,
} from "./arrays/index.js";
export * as tree from "./base/tree.js";

export type { CallOptions, Linearization } from "./objectives/engine.js";
export { Objective, objective } from "./objectives/objective.js";
export type { ArraysOf, ArrayTree } from "./objectives/arrayTree.js";
export { ObjectiveFunction, objectiveFunction } from "./objectives/objectiveFunction.js";
export type {
  CoefficientsOf,
  GradientOf,
  ObjectiveFunctionOptions,
  ObjectiveRows,
} from "./objectives/objectiveFunction.js";
export type { ObjectiveOptions } from "./objectives/options.js";
export { Parameters, parameters } from "./objectives/parameters.js";
export type { FunctionReport, ObjectiveReport, RankReport } from "./objectives/report.js";
export { sequential, SyncFunction } from "./objectives/sequential.js";
export type { SequentialFunction } from "./objectives/sequential.js";

export { leastSquares } from "./optimize/leastSquares.js";
export type {
  LeastSquaresOptions,
  ObjectiveLeastSquaresOptions,
  PlainLeastSquaresOptions,
} from "./optimize/leastSquares.js";
export type { ObjectiveLeastSquaresResult } from "./optimize/objectiveProblem.js";
export type { IterationState, LeastSquaresResult, ObjectiveCost, OptimizeTimes } from "./optimize/result.js";

export * from "./base/errors.js";
export type { DType } from "./base/dtype.js";
export type { Shape } from "./base/shape.js";
