/** Copies boxes of row-major arrays: how a window of a region becomes a buffer and back. */
import { at } from "../base/at.js";
import type { Shape } from "../base/shape.js";
import { sizeOf, stridesOf } from "../base/shape.js";

/** One side of a copy: bytes, where the box starts in them, and its strides in bytes. */
export interface BoxSide {
  readonly bytes: Uint8Array;
  readonly offset: number;
  readonly strides: readonly number[];
}

/** A dense array as one side. */
export function denseSide(bytes: Uint8Array, offset: number, shape: Shape, itemSize: number): BoxSide {
  return { bytes, offset, strides: stridesOf(shape).map((stride) => stride * itemSize) };
}

/** A window of a dense array as one side. */
export function windowSide(
  bytes: Uint8Array,
  offset: number,
  shape: Shape,
  start: readonly number[],
  itemSize: number,
): BoxSide {
  const dense = denseSide(bytes, offset, shape, itemSize);
  const shift = start.reduce((sum, first, axis) => sum + first * at(dense.strides, axis), 0);
  return { ...dense, offset: offset + shift };
}

/** Copies `extent` elements of `itemSize` bytes from one side to the other. */
export function copyBox(to: BoxSide, from: BoxSide, extent: Shape, itemSize: number): void {
  if (sizeOf(extent) === 0) return;
  // Trailing axes that are dense on both sides move in one piece.
  let axis = extent.length;
  let run = itemSize;
  while (axis > 0 && at(to.strides, axis - 1) === run && at(from.strides, axis - 1) === run) {
    run *= at(extent, axis - 1);
    axis--;
  }
  const outer = extent.slice(0, axis);
  const copy = (depth: number, target: number, source: number): void => {
    const count = outer[depth];
    if (count === undefined) {
      to.bytes.set(from.bytes.subarray(source, source + run), target);
      return;
    }
    const toStride = at(to.strides, depth);
    const fromStride = at(from.strides, depth);
    for (let i = 0; i < count; i++) copy(depth + 1, target + i * toStride, source + i * fromStride);
  };
  copy(0, to.offset, from.offset);
}
