// The public face of heddle: whatever is exported here is reachable from "heddle", and nothing else is.

import * as arrays from "./arrays/index.js";
import * as errors from "./base/errors.js";
import * as tree from "./base/tree.js";
import { registerCodec } from "./closure/codec.js";
import { registerExports } from "./closure/exports.js";
import { sharedArray } from "./closure/shared-array.js";
import { parallelFor } from "./executor/parallel-for.js";
import { createPool } from "./executor/pool.js";
import "./objectives/codec.js";
import { Objective, objective } from "./objectives/objective.js";
import { ObjectiveFunction, objectiveFunction } from "./objectives/objectiveFunction.js";
import { Parameters, parameters } from "./objectives/parameters.js";
import { sequential } from "./objectives/sequential.js";
import { SyncFunction } from "./objectives/syncFunction.js";
import { curveFit } from "./optimize/curveFit.js";
import { leastSquares } from "./optimize/leastSquares.js";
import { NonFiniteError } from "./optimize/nonFinite.js";

export { version } from "./base/version.js";

// Every thread loads this file, so what a loop's body was given of heddle is found by name on its rank.
registerExports({
  ...arrays,
  ...errors,
  tree,
  registerCodec,
  sharedArray,
  parallelFor,
  createPool,
  Objective,
  objective,
  ObjectiveFunction,
  objectiveFunction,
  Parameters,
  parameters,
  sequential,
  SyncFunction,
  leastSquares,
  curveFit,
  NonFiniteError,
});

export { registerCodec } from "./closure/codec.js";
export type { Codec, DecodeContext, EncodeContext, Scratch } from "./closure/codec.js";
export { sharedArray } from "./closure/shared-array.js";
export type { SharedArray } from "./closure/shared-array.js";
export { parallelFor } from "./executor/parallel-for.js";
export type { LoopContext, LoopResult, ParallelFor } from "./executor/parallel-for.js";
export type { LoopOptions, Range, ScheduleOption } from "./executor/loop-options.js";
export { createPool } from "./executor/pool.js";
export type { ArrayData, Pool, PoolReport, PoolSync, RankDescription } from "./executor/pool.js";
export type { TimelineEntry } from "./executor/timeline.js";
export type { PoolEvent } from "./executor/events.js";
export type { PoolOptions, RankRequest } from "./executor/options.js";
export type {
  Arrays,
  LoadOptions,
  ProgramReport,
  ResidentPlan,
  ResidentPlanSync,
} from "./executor/resident.js";

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
  ArgumentsIn,
  ArrayInput,
  AxisTree,
  Derivative,
  DerivativeIn,
  GradOptions,
  HessianTransform,
  Item,
  JacobianOf,
  JacobianTransform,
  NestedInput,
  NestedList,
  StackedArguments,
  Traced,
  TypedInput,
  VmapOptions,
} from "./arrays/index.js";
export * as tree from "./base/tree.js";

export type {
  BlockingOptions,
  BlockingOutOptions,
  CallOptions,
  Linearization,
  OutOptions,
} from "./objectives/engine.js";
export { Objective, objective } from "./objectives/objective.js";
export type { ArraysOf, ArrayTree } from "./objectives/arrayTree.js";
export { ObjectiveFunction, objectiveFunction } from "./objectives/objectiveFunction.js";
export type {
  CoefficientsOf,
  JoinObjectives,
  ObjectiveFunctionOptions,
  ObjectiveRows,
} from "./objectives/objectiveFunction.js";
export type { GradientOf } from "./objectives/functionCalls.js";
export type { ObjectiveOptions } from "./objectives/options.js";
export { Parameters, parameters } from "./objectives/parameters.js";
export type { FunctionReport, ObjectiveReport, RankReport } from "./objectives/report.js";
export { sequential } from "./objectives/sequential.js";
export { SyncFunction } from "./objectives/syncFunction.js";

export { leastSquares } from "./optimize/leastSquares.js";
export type {
  LeastSquares,
  LeastSquaresOptions,
  ObjectiveLeastSquaresOptions,
  PlainLeastSquaresOptions,
} from "./optimize/leastSquares.js";
export type { ObjectiveLeastSquaresResult } from "./optimize/objectiveProblem.js";
export type { IterationState, LeastSquaresResult, ObjectiveCost, OptimizeTimes } from "./optimize/result.js";

export * from "./base/errors.js";
export type { DType } from "./base/dtype.js";
export type { Shape } from "./base/shape.js";
export { curveFit } from "./optimize/curveFit.js";
export type { CurveFitOptions, CurveFitResult, PlainCurveFitOptions } from "./optimize/curveFit.js";
export { NonFiniteError };
export type { LossFunction, LossName } from "./optimize/loss.js";

export type { DTypeOf, StrongOf } from "./arrays/input.js";
export type { DerivativeMode } from "./objectives/programs.js";
export type { DeviceKind } from "./base/device-kind.js";
export type { DifferenceScheme } from "./optimize/finiteDifference.js";
export type { FloatOf, FloatPromoted, Promoted } from "./arrays/promote.js";
export type { Graph } from "./ir/graph.js";
export type { Log, Verbosity } from "./optimize/iterationTable.js";
export type { NumberOf } from "./arrays/np/unary.js";
export type { NumericVector, PlainJacobianOption, PlainResidual } from "./optimize/plainProblem.js";
export type { PerParameter, VectorInput } from "./optimize/curveData.js";
export type { PlainCurve, PlainCurveJacobian } from "./optimize/plainCurve.js";
export type { Plan } from "./plan/plan.js";
export type { Status } from "./optimize/termination.js";
export type { StepOptions } from "./executor/resident.js";
export type { Storage, StorageOf } from "./base/dtype.js";
export type { Elements } from "./base/elements.js";
export type { TracedCurve, XData } from "./optimize/tracedCurve.js";
export type { Aval, Equation, GraphConstant } from "./ir/graph.js";
export type { Instruction, PlanProgram, Region } from "./plan/plan.js";
export type { MaybePromise } from "./optimize/problem.js";
export type { NumericMatrix, PlainJacobian } from "./optimize/plainProblem.js";
export type { TracedX } from "./optimize/tracedCurve.js";
export type {
  BufferType,
  CollectiveInstruction,
  FreeInstruction,
  LoadInstruction,
  LoopInstruction,
  RecvInstruction,
  RegionRole,
  RunInstruction,
  SendInstruction,
  StoreInstruction,
} from "./plan/plan.js";
export type { OpName, OpParams, ValueId } from "./ir/graph.js";
export type { NoParams } from "./ir/graph.js";
export type { Reduction, Window } from "./plan/plan.js";
