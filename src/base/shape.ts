/**
 * Shapes of row-major arrays: sizes, strides, NumPy's broadcasting, and axes counted from either end.
 */
import { at } from "./at.js";
import { ArgumentError, ShapeError } from "./errors.js";

/** The extent of each dimension, outermost first. A scalar's shape is `[]`. */
export type Shape = readonly number[];

/** The number of elements. */
export function sizeOf(shape: Shape): number {
  let size = 1;
  for (const extent of shape) size *= extent;
  return size;
}

/** Row-major strides, in elements. */
export function stridesOf(shape: Shape): number[] {
  const strides = new Array<number>(shape.length);
  let stride = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    strides[axis] = stride;
    stride *= at(shape, axis);
  }
  return strides;
}

/** A shape as it is printed in errors and graphs: `[4,6]`. */
export function formatShape(shape: Shape): string {
  return `[${shape.join(",")}]`;
}

/** True if both have the same extents. */
export function sameShape(a: Shape, b: Shape): boolean {
  return a.length === b.length && a.every((extent, axis) => extent === b[axis]);
}

/** The shape that all of `shapes` broadcast to by NumPy's rules. Throws `ShapeError` if there is none. */
export function broadcastShapes(operation: string, ...shapes: readonly Shape[]): number[] {
  const rank = Math.max(0, ...shapes.map((shape) => shape.length));
  const result = new Array<number>(rank).fill(1);
  for (const shape of shapes) {
    for (let axis = 0; axis < shape.length; axis++) {
      const target = rank - shape.length + axis;
      const extent = at(shape, axis);
      const known = at(result, target);
      if (extent === known || extent === 1) continue;
      if (known !== 1) {
        throw new ShapeError({
          operation,
          found: `shapes ${shapes.map(formatShape).join(" and ")} do not broadcast: axis ${axis - shape.length} is ${known} and ${extent}`,
          expected: "equal extents, or 1",
          remedy: "reshape one of them, or insert an axis with expandDims",
        });
      }
      result[target] = extent;
    }
  }
  return result;
}

/** An axis counted from either end as one counted from the front. Throws `ArgumentError` outside the range. */
export function normalizeAxis(operation: string, axis: number, rank: number): number {
  const result = axis < 0 ? axis + rank : axis;
  if (!Number.isInteger(axis) || result < 0 || result >= rank) {
    throw new ArgumentError({
      operation,
      argument: "axis",
      found: String(axis),
      expected:
        rank === 0 ? "no axis, because the array is a scalar" : `an integer from ${-rank} to ${rank - 1}`,
    });
  }
  return result;
}

/** Several axes, normalized, sorted and distinct; `undefined` means all of them. */
export function normalizeAxes(
  operation: string,
  axes: number | readonly number[] | undefined,
  rank: number,
): number[] {
  if (axes === undefined) return Array.from({ length: rank }, (_, axis) => axis);
  const list = typeof axes === "number" ? [axes] : axes;
  const result = list.map((axis) => normalizeAxis(operation, axis, rank)).sort((a, b) => a - b);
  if (new Set(result).size !== result.length) {
    throw new ArgumentError({
      operation,
      argument: "axis",
      found: formatShape(list),
      expected: "each axis once",
    });
  }
  return result;
}

/** Refuses what is not a list of non-negative integers. */
export function requireShape(operation: string, argument: string, shape: readonly number[]): Shape {
  const valid: boolean =
    Array.isArray(shape) && shape.every((extent) => Number.isSafeInteger(extent) && extent >= 0);
  if (!valid) {
    throw new ShapeError({
      operation,
      argument,
      found: JSON.stringify(shape),
      expected: "a list of integers that are not negative",
    });
  }
  return shape;
}

/** The inverse of a permutation. */
export function invertPermutation(permutation: readonly number[]): number[] {
  const inverse = new Array<number>(permutation.length).fill(0);
  permutation.forEach((axis, position) => {
    inverse[axis] = position;
  });
  return inverse;
}
