/**
 * What the rows of primitives that only move elements have in common.
 */
import { at } from "../base/at.js";
import { itemSize } from "../base/dtype.js";
import { sizeOf, stridesOf } from "../base/shape.js";
import type { Aval } from "../ir/graph.js";
import type { Emitter } from "./emitter.js";
import type { Cost, HostArray, JvpRule } from "./row.js";

/** Bytes read and written by a primitive that computes nothing. */
export function moveCost(inputs: readonly Aval[], output: Aval): Cost {
  const bytes = [...inputs, output].reduce((sum, aval) => sum + sizeOf(aval.shape) * itemSize(aval.dtype), 0);
  return { flops: 0, bytes };
}

/** Writes out[i] = x[from(position of i)]. */
export function rearrange(x: HostArray, out: HostArray, from: (position: readonly number[]) => number): void {
  const strides = stridesOf(out.shape);
  for (let i = 0; i < out.data.length; i++) {
    const position = strides.map((stride, axis) => Math.floor(i / stride) % at(out.shape, axis));
    out.data[i] = at(x.data, from(position));
  }
}

/** The offset of a position. */
export const dot = (position: readonly number[], strides: readonly number[]): number =>
  position.reduce((sum, value, axis) => sum + value * at(strides, axis), 0);

/** The tangent of a linear primitive of one operand: the primitive of the tangent. */
export function mapTangent<P>(apply: (b: Emitter, id: number, params: P) => number): JvpRule<P> {
  return (b, { params, tangents }) => {
    const tangent = tangents[0] ?? null;
    return tangent === null ? null : apply(b, tangent, params);
  };
}
