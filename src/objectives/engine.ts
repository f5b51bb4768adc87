/**
 * What evaluates the objectives of a function: ranks of a pool, or the calling thread; and how its results become arrays.
 */
import type { Lease, NDArray } from "../arrays/index.js";
import { fromLease, isNDArray, payloadOf } from "../arrays/index.js";
import { at } from "../base/at.js";
import type { Storage } from "../base/dtype.js";
import { ArgumentError, ShapeError } from "../base/errors.js";
import type { Shape } from "../base/shape.js";
import { formatShape, sameShape } from "../base/shape.js";
import { unflatten } from "../base/tree.js";
import type { Layout } from "./layout.js";
import { costOf, vector } from "./methods.js";
import type { Method } from "./programs.js";
import type { FunctionReport } from "./report.js";

/** What a call that blocks may be given. */
export interface BlockingOptions {
  /** Milliseconds after which ranks that are still at work are ended and the call fails with `TimeoutError`. */
  readonly timeout?: number;
}

/** What a call may be given. */
export interface CallOptions extends BlockingOptions {
  /** Gives the call up; it rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Options of a call that blocks and can use the memory of an earlier result. */
export interface BlockingOutOptions<T> extends BlockingOptions {
  /** As in `OutOptions`. */
  readonly out?: T;
}

/** Options of a call that can use the memory of an earlier result. */
export interface OutOptions<T> extends CallOptions {
  /**
   * An earlier result of the same method. It becomes stale: reading it throws `StaleArrayError`. The ranks write in place
   * and nothing is copied.
   */
  readonly out?: T;
}

/** What evaluates is told beside the coefficients. */
export interface EvaluateOptions extends CallOptions {
  /** Leave residual and Jacobian where the ranks wrote them, until the next call needs the memory. */
  readonly inPlace: boolean;
}

/** Results of all objectives: those that the method has. */
export interface FunctionResult {
  readonly residual?: Lease;
  readonly jacobian?: Lease;
  readonly product?: Float64Array;
  /** One per objective. */
  readonly gradients?: readonly Float64Array[];
}

/** What evaluates: a pool, or the calling thread. What is called `Now` blocks. */
export interface Engine {
  evaluate(
    method: Method,
    x: Float64Array,
    extra: Float64Array | null,
    options: EvaluateOptions,
  ): Promise<FunctionResult>;
  evaluateNow(
    method: Method,
    x: Float64Array,
    extra: Float64Array | null,
    options: EvaluateOptions,
  ): FunctionResult;
  write(objective: number, leaf: number, data: Storage): Promise<void>;
  writeNow(objective: number, leaf: number, data: Storage): void;
  report(): FunctionReport;
  dispose(): Promise<void>;
  disposeNow(): void;
}

/** Residual and Jacobian at one point. */
export interface Linearization {
  /** [dimF] */
  readonly residual: NDArray<"float64">;
  /** [dimF, dimX] */
  readonly jacobian: NDArray<"float64">;
}

function existing<T>(part: T | undefined, what: string): T {
  if (part === undefined) throw new ShapeError({ operation: what, found: "no result" });
  return part;
}

/** The residual as an array, [dimF]. */
export function residualOf({ residual }: FunctionResult): NDArray<"float64"> {
  const lease = existing(residual, "residual");
  return fromLease("float64", [lease.length], lease);
}

/** The Jacobian as an array, [dimF, dimX]. */
export function jacobianOf({ jacobian }: FunctionResult, dimX: number): NDArray<"float64"> {
  const lease = existing(jacobian, "jacobian");
  return fromLease("float64", [lease.length / dimX, dimX], lease);
}

/** The memory of an array that was passed as `out`. Throws `ArgumentError` if it is not a result of such a call. */
export function leaseOf(operation: string, argument: string, out: unknown, shape: Shape): Lease {
  const array = isNDArray(out) ? out : null;
  const payload = array === null ? null : payloadOf(array);
  if (array === null || payload?.kind !== "leased" || !sameShape(array.shape, shape)) {
    throw new ArgumentError({
      operation,
      argument,
      found: array === null ? typeof out : `an array of shape ${formatShape(array.shape)} from elsewhere`,
      expected: `an earlier result of ${operation}, of shape ${formatShape(shape)}`,
    });
  }
  payload.lease.requireLive();
  return payload.lease;
}

/** J·v as an array. */
export function productOf({ product }: FunctionResult): NDArray<"float64"> {
  return vector(existing(product, "jvp"));
}

/** Half the sum of squares. */
export function costFrom({ residual }: FunctionResult): number {
  return costOf(existing(residual, "cost").data);
}

/** A flat vector in the form of the coefficients. */
export function shapedAs(layout: Layout, flat: Float64Array): unknown {
  if (layout.structure.kind === "leaf") return vector(flat.slice()).reshape(at(layout.leaves, 0).shape);
  const leaves = layout.leaves.map(({ start, size, shape }) =>
    vector(flat.slice(start, start + size)).reshape(shape),
  );
  return unflatten(layout.structure, leaves);
}

/** The sum of the objectives' gradients, in their order, in the form of the coefficients. */
export function gradientOf(layout: Layout, { gradients = [] }: FunctionResult): unknown {
  const total = new Float64Array(layout.size);
  for (const part of gradients) {
    for (let i = 0; i < total.length; i++) total[i] = at(total, i) + at(part, i);
  }
  return shapedAs(layout, total);
}
