/**
 * What upper floors and users see of arrays. Loading it gives `NDArray` its methods.
 */
import "./codec.js";
import "./methods.js";

export type {
  Argnums,
  Argument,
  Arguments,
  ArgumentsIn,
  Derivative,
  DerivativeIn,
  JacobianOf,
  StackedArguments,
  Traced,
} from "./argument.js";
export { evaluate } from "./bind.js";
export type { GradOptions } from "./grad.js";
export { grad, gradientGraph, valueAndGrad } from "./grad.js";
export type { ArrayInput, NestedInput, TypedInput } from "./input.js";
export { isArrayInput, toArray } from "./input.js";
export type { HessianTransform, JacobianTransform } from "./jacobian.js";
export { hessian, jacfwd, jacrev } from "./jacobian.js";
export { jit } from "./jit.js";
export { jvp, linearize, vjp } from "./linear.js";
export { makeGraph, PrintedGraph } from "./make-graph.js";
export type { Item, NestedList } from "./ndarray.js";
export { Lease } from "./lease.js";
export type { Tenure } from "./lease.js";
export { fromData, fromLease, isNDArray, NDArray, payloadOf } from "./ndarray.js";
export * as np from "./np/index.js";
export { stopGradient } from "./np/unary.js";
export { Program } from "./program.js";
export type { FlatTree, TracedFunction } from "./trace-function.js";
export { flattenArguments, flattenArrays, requireTraceable, traceFunction } from "./trace-function.js";
export type { AxisTree, VmapOptions } from "./vmap.js";
export { vmap } from "./vmap.js";
