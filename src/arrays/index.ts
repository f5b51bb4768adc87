/**
 * What upper floors and users see of arrays. Loading it gives `NDArray` its methods.
 */
import "./methods.js";

export type { Argument, Derivative } from "./argument.js";
export { evaluate } from "./bind.js";
export type { ArrayInput, NestedInput, TypedInput } from "./input.js";
export { isArrayInput, toArray } from "./input.js";
export { makeGraph, PrintedGraph } from "./make-graph.js";
export type { NestedList } from "./ndarray.js";
export { fromData, NDArray } from "./ndarray.js";
export * as np from "./np/index.js";
export { stopGradient } from "./np/unary.js";
export type { FlatTree, TracedFunction } from "./trace-function.js";
export { flattenArguments, flattenArrays, requireTraceable, traceFunction } from "./trace-function.js";
