/**
 * What a least-squares optimizer needs to know of a problem, and nothing else. Plain functions, curve fits and objective
 * functions on a pool all adapt to this interface, so that the optimizer is written once.
 */

import type { ObjectiveRows } from "../objectives/objectiveFunction.js";

/** A value, or the promise of one. */
export type MaybePromise<T> = T | PromiseLike<T>;

/** True for promises and everything else that can be awaited like one. */
export function isPromiseLike<T>(value: MaybePromise<T>): value is PromiseLike<T> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

/** Applies `next` at once to a value, later to a promise: a sync function's buffer is read before its next call. */
export function after<T, U>(value: MaybePromise<T>, next: (value: T) => U): MaybePromise<U> {
  return isPromiseLike(value) ? value.then(next) : next(value);
}

/** A Jacobian that is read through whoever holds it. */
export interface JacobianSource {
  readonly data: Float64Array;
}

/** Minimise `½‖residual(x)‖²`, or a robust form of it, over `x` of `dimX` numbers. */
export interface LeastSquaresProblem {
  readonly dimX: number;
  /** The residual at `x`, of one length at every `x`. `x` belongs to the callee. */
  residual(x: Float64Array): MaybePromise<Float64Array>;
  /**
   * The Jacobian at `x`, row-major `[dimF, dimX]`. `residual` is what `residual(x)` gave there, for those who can use
   * it. It may live in memory that the next call uses again; `data` is read whenever it is needed, since its owner may
   * have moved it meanwhile.
   */
  jacobian(x: Float64Array, residual: Float64Array): MaybePromise<Float64Array | JacobianSource>;
  /** Which rows belong to which objective: for error messages and for the report. */
  readonly objectives?: readonly ObjectiveRows[];
}
