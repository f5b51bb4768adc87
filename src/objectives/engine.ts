/**
 * What evaluates the objectives of a function: ranks of a pool, or the calling thread; and how its results become arrays.
 */
import type { NDArray } from "../arrays/index.js";
import { at } from "../base/at.js";
import type { Storage } from "../base/dtype.js";
import { unflatten } from "../base/tree.js";
import type { Layout } from "./layout.js";
import { costOf, matrix, present, vector } from "./methods.js";
import type { Method } from "./programs.js";
import type { FunctionReport } from "./report.js";

/** What a call may be given. */
export interface CallOptions {
  /** Gives the call up; it rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Results of all objectives: those that the method has. */
export interface FunctionResult {
  readonly residual?: Float64Array;
  readonly jacobian?: Float64Array;
  readonly product?: Float64Array;
  /** One per objective. */
  readonly gradients?: readonly Float64Array[];
}

/** What evaluates: a pool, or the calling thread. */
export interface Engine {
  evaluate(
    method: Method,
    x: Float64Array,
    extra: Float64Array | null,
    options: CallOptions,
  ): Promise<FunctionResult>;
  write(objective: number, leaf: number, data: Storage): Promise<void>;
  report(): FunctionReport;
  dispose(): Promise<void>;
}

/** Residual and Jacobian at one point. */
export interface Linearization {
  /** [dimF] */
  readonly residual: NDArray<"float64">;
  /** [dimF, dimX] */
  readonly jacobian: NDArray<"float64">;
}

/** The residual as an array. */
export function residualOf({ residual }: FunctionResult): NDArray<"float64"> {
  return vector(present(residual, "residual"));
}

/** The Jacobian as an array. */
export function jacobianOf({ jacobian }: FunctionResult, dimX: number): NDArray<"float64"> {
  const data = present(jacobian, "jacobian");
  return matrix(data, data.length / dimX, dimX);
}

/** J·v as an array. */
export function productOf({ product }: FunctionResult): NDArray<"float64"> {
  return vector(present(product, "jvp"));
}

/** Half the sum of squares. */
export function costFrom({ residual }: FunctionResult): number {
  return costOf(present(residual, "cost"));
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
