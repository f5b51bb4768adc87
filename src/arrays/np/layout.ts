/**
 * Functions that rearrange or repeat elements without computing.
 */
import { at } from "../../base/at.js";
import type { DType } from "../../base/dtype.js";
import { ArgumentError, ShapeError } from "../../base/errors.js";
import type { Shape } from "../../base/shape.js";
import {
  broadcastShapes,
  formatShape,
  normalizeAxes,
  normalizeAxis,
  requireShape,
  sizeOf,
} from "../../base/shape.js";
import { bind } from "../bind.js";
import type { ArrayInput, StrongOf } from "../input.js";
import { broadcastInto, convertTo, reshapeTo, toArray } from "../input.js";
import type { NDArray } from "../ndarray.js";

const count = (length: number): number[] => Array.from({ length }, (_, i) => i);

/** The array in another dtype. Floats to integers truncate and saturate, NaN becomes 0; integers wrap. */
export function astype<D extends DType>(x: ArrayInput, dtype: D): NDArray<D> {
  return convertTo(toArray("astype", "x", x), dtype);
}

/**
 * The same elements in another shape. One extent may be −1: it is worked out. Throws `ShapeError` if the sizes differ.
 */
export function reshape<A extends ArrayInput>(x: A, shape: number | Shape): NDArray<StrongOf<A>> {
  const array = toArray("reshape", "x", x);
  const wanted = typeof shape === "number" ? [shape] : shape;
  const unknown = wanted.filter((extent) => extent === -1).length;
  const known = sizeOf(wanted.filter((extent) => extent !== -1));
  const rest = array.size / known;
  if (unknown > 1 || (unknown === 1 && !Number.isInteger(rest))) {
    throw new ShapeError({
      operation: "reshape",
      argument: "shape",
      found: formatShape(wanted),
      expected: `a shape of ${array.size} elements, as ${formatShape(array.shape)} has, with at most one extent of -1`,
    });
  }
  const full = requireShape(
    "reshape",
    "shape",
    wanted.map((extent) => (extent === -1 ? rest : extent)),
  );
  if (sizeOf(full) !== array.size) {
    throw new ShapeError({
      operation: "reshape",
      argument: "shape",
      found: `${formatShape(wanted)} with ${sizeOf(full)} elements`,
      expected: `${array.size} elements, as in ${formatShape(array.shape)}`,
    });
  }
  return reshapeTo(array, full);
}

/** All elements as a vector, row-major. */
export function ravel<A extends ArrayInput>(x: A): NDArray<StrongOf<A>> {
  return reshape(x, [-1]);
}

/** Permutes the axes: axis i of the result is axis `axes[i]` of x. Without `axes`, reverses them. */
export function transpose<A extends ArrayInput>(x: A, axes?: readonly number[]): NDArray<StrongOf<A>> {
  const array = toArray("transpose", "x", x);
  const wanted = axes ?? count(array.ndim).reverse();
  if (wanted.length !== array.ndim) {
    throw new ArgumentError({
      operation: "transpose",
      argument: "axes",
      found: formatShape(wanted),
      expected: `each of the ${array.ndim} axes of ${formatShape(array.shape)} once`,
    });
  }
  normalizeAxes("transpose", wanted, array.ndim);
  const permutation = wanted.map((axis) => normalizeAxis("transpose", axis, array.ndim));
  if (permutation.every((axis, i) => axis === i)) return array;
  // A permutation keeps the dtype.
  return bind("transpose", [array], { permutation }) as NDArray<StrongOf<A>>;
}
export { transpose as permuteDims };

/** Exchanges the last two axes. Throws `ShapeError` on vectors and scalars. */
export function matrixTranspose<A extends ArrayInput>(x: A): NDArray<StrongOf<A>> {
  const array = toArray("matrixTranspose", "x", x);
  if (array.ndim < 2) {
    throw new ShapeError({
      operation: "matrixTranspose",
      argument: "x",
      found: formatShape(array.shape),
      expected: "at least two axes",
    });
  }
  return swapaxes<A>(x, -1, -2);
}

/** Exchanges two axes. */
export function swapaxes<A extends ArrayInput>(x: A, first: number, second: number): NDArray<StrongOf<A>> {
  const array = toArray("swapaxes", "x", x);
  const [a, b] = [
    normalizeAxis("swapaxes", first, array.ndim),
    normalizeAxis("swapaxes", second, array.ndim),
  ];
  return transpose(
    x,
    count(array.ndim).map((axis) => (axis === a ? b : axis === b ? a : axis)),
  );
}

/** Moves axes to other places; the others keep their order. */
export function moveaxis<A extends ArrayInput>(
  x: A,
  source: number | readonly number[],
  destination: number | readonly number[],
): NDArray<StrongOf<A>> {
  const array = toArray("moveaxis", "x", x);
  const normalize = (axes: number | readonly number[]): number[] =>
    (typeof axes === "number" ? [axes] : axes).map((axis) => normalizeAxis("moveaxis", axis, array.ndim));
  const [from, to] = [normalize(source), normalize(destination)];
  if (from.length !== to.length || new Set(from).size !== from.length || new Set(to).size !== to.length) {
    throw new ArgumentError({
      operation: "moveaxis",
      argument: "destination",
      found: `${formatShape(to)} for ${formatShape(from)}`,
      expected: "as many distinct axes as are moved",
    });
  }
  const rest = count(array.ndim).filter((axis) => !from.includes(axis));
  return transpose(
    x,
    count(array.ndim).map((axis) => (to.includes(axis) ? at(from, to.indexOf(axis)) : (rest.shift() ?? 0))),
  );
}

/** Inserts axes of extent 1 at these places of the result. */
export function expandDims<A extends ArrayInput>(
  x: A,
  axis: number | readonly number[],
): NDArray<StrongOf<A>> {
  const array = toArray("expandDims", "x", x);
  const list = typeof axis === "number" ? [axis] : axis;
  const rank = array.ndim + list.length;
  const added = normalizeAxes("expandDims", list, rank);
  const rest = [...array.shape];
  return reshapeTo(
    array,
    count(rank).map((position) => (added.includes(position) ? 1 : (rest.shift() ?? 1))),
  );
}

/** Drops axes of extent 1: all of them, or these. Throws `ShapeError` if one of these has another extent. */
export function squeeze<A extends ArrayInput>(x: A, axis?: number | readonly number[]): NDArray<StrongOf<A>> {
  const array = toArray("squeeze", "x", x);
  const dropped =
    axis === undefined
      ? count(array.ndim).filter((position) => array.shape[position] === 1)
      : normalizeAxes("squeeze", axis, array.ndim);
  for (const position of dropped) {
    if (array.shape[position] !== 1) {
      throw new ShapeError({
        operation: "squeeze",
        argument: `axis ${position}`,
        found: `of extent ${array.shape[position]} in ${formatShape(array.shape)}`,
        expected: "extent 1",
      });
    }
  }
  return reshapeTo(
    array,
    array.shape.filter((_, position) => !dropped.includes(position)),
  );
}

/** Repeats along new leading axes and axes of extent 1. */
export function broadcastTo<A extends ArrayInput>(x: A, shape: number | Shape): NDArray<StrongOf<A>> {
  const wanted = requireShape("broadcastTo", "shape", typeof shape === "number" ? [shape] : shape);
  return broadcastInto("broadcastTo", toArray("broadcastTo", "x", x), wanted);
}

/** All arrays in their common shape. */
export function broadcastArrays(...arrays: readonly ArrayInput[]): NDArray[] {
  const list = arrays.map((x, i): NDArray => toArray("broadcastArrays", `argument ${i}`, x));
  const shape = broadcastShapes("broadcastArrays", ...list.map((x) => x.shape));
  return list.map((x) => broadcastInto("broadcastArrays", x, shape));
}

/** Reverses the order along the axes, or along all of them. */
export function flip<A extends ArrayInput>(x: A, axis?: number | readonly number[]): NDArray<StrongOf<A>> {
  const array = toArray("flip", "x", x);
  const axes = normalizeAxes("flip", axis, array.ndim);
  if (axes.length === 0) return array;
  // A reversal keeps the dtype.
  return bind("reverse", [array], { axes }) as NDArray<StrongOf<A>>;
}

/** Reverses the columns (axis 1). */
export function fliplr<A extends ArrayInput>(x: A): NDArray<StrongOf<A>> {
  return flip(x, 1);
}

/** Reverses the rows (axis 0). */
export function flipud<A extends ArrayInput>(x: A): NDArray<StrongOf<A>> {
  return flip(x, 0);
}

/** Rotates by quarter turns from the first of the axes towards the second. */
export function rot90<A extends ArrayInput>(
  x: A,
  turns = 1,
  axes: readonly [number, number] = [0, 1],
): NDArray<StrongOf<A>> {
  const array = toArray("rot90", "x", x);
  const [first, second] = axes;
  switch (((turns % 4) + 4) % 4) {
    case 0:
      return array;
    case 1:
      return swapaxes(flip<A>(x, second), first, second) as NDArray<StrongOf<A>>;
    case 2:
      return flip(x, [first, second]);
    default:
      return flip(swapaxes<A>(x, first, second), second) as NDArray<StrongOf<A>>;
  }
}

/** The elements `start` to `limit` by `step` (positive) of one axis. */
export function sliceAxis<D extends DType>(
  x: NDArray<D>,
  axis: number,
  start: number,
  limit: number,
  step = 1,
): NDArray<D> {
  if (start === 0 && limit === x.shape[axis] && step === 1) return x;
  const params = {
    start: x.shape.map((_, position) => (position === axis ? start : 0)),
    limit: x.shape.map((extent, position) => (position === axis ? limit : extent)),
    step: x.shape.map((_, position) => (position === axis ? step : 1)),
  };
  // A slice keeps the dtype.
  return bind("slice", [x], params) as NDArray<D>;
}

/** Moves elements by `shift` places along an axis, around the end; without an axis, of the flattened array. */
export function roll<A extends ArrayInput>(
  x: A,
  shift: number | readonly number[],
  axis?: number | readonly number[],
): NDArray<StrongOf<A>> {
  const array = toArray("roll", "x", x);
  if (axis === undefined) {
    const total = typeof shift === "number" ? shift : shift.reduce((sum, each) => sum + each, 0);
    return reshapeTo(rollAxis(ravel(array) as NDArray<StrongOf<A>>, total, 0), array.shape);
  }
  const axes = typeof axis === "number" ? [axis] : axis;
  const shifts = typeof shift === "number" ? axes.map(() => shift) : shift;
  if (axes.length !== shifts.length) {
    throw new ArgumentError({
      operation: "roll",
      argument: "shift",
      found: `${shifts.length} shifts for ${axes.length} axes`,
      expected: "one for each, or a single number",
    });
  }
  return axes.reduce(
    (result, each, i) => rollAxis(result, at(shifts, i), normalizeAxis("roll", each, array.ndim)),
    array,
  );
}

function rollAxis<D extends DType>(x: NDArray<D>, shift: number, axis: number): NDArray<D> {
  const extent = at(x.shape, axis);
  const by = extent === 0 ? 0 : ((shift % extent) + extent) % extent;
  if (by === 0) return x;
  const parts = [sliceAxis(x, axis, extent - by, extent), sliceAxis(x, axis, 0, extent - by)];
  // Both parts have the dtype of x.
  return bind("concatenate", parts, { axis }) as NDArray<D>;
}

/** Repeats each element, along an axis or of the flattened array. */
export function repeat<A extends ArrayInput>(x: A, repeats: number, axis?: number): NDArray<StrongOf<A>> {
  requireShape("repeat", "repeats", [repeats]);
  const array = toArray("repeat", "x", x);
  const source: NDArray<StrongOf<A>> = axis === undefined ? (ravel(array) as NDArray<StrongOf<A>>) : array;
  const along = axis === undefined ? 0 : normalizeAxis("repeat", axis, array.ndim);
  const shape = [...source.shape];
  shape.splice(along + 1, 0, 1);
  const wide = [...shape];
  wide[along + 1] = repeats;
  return reshapeTo(
    broadcastInto("repeat", reshapeTo(source, shape), wide),
    source.shape.map((extent, position) => (position === along ? extent * repeats : extent)),
  );
}

/** Repeats the whole array along each axis; missing axes are added in front. */
export function tile<A extends ArrayInput>(x: A, repetitions: number | Shape): NDArray<StrongOf<A>> {
  const array = toArray("tile", "x", x);
  const list = requireShape(
    "tile",
    "repetitions",
    typeof repetitions === "number" ? [repetitions] : repetitions,
  );
  const rank = Math.max(list.length, array.ndim);
  const shape = [...new Array<number>(rank - array.ndim).fill(1), ...array.shape];
  const counts = [...new Array<number>(rank - list.length).fill(1), ...list];
  const apart = reshapeTo(
    array,
    shape.flatMap((extent) => [1, extent]),
  );
  const wide = shape.flatMap((extent, axis) => [at(counts, axis), extent]);
  return reshapeTo(
    broadcastInto("tile", apart, wide),
    shape.map((extent, axis) => extent * at(counts, axis)),
  );
}

/** The array with at least `rank` axes, new ones in front. */
function atLeast(operation: string, x: ArrayInput, rank: number): NDArray {
  const array: NDArray = toArray(operation, "x", x);
  return reshapeTo(array, [...new Array<number>(Math.max(0, rank - array.ndim)).fill(1), ...array.shape]);
}

/** A scalar becomes a vector of one element. */
export function atleast1d(x: ArrayInput): NDArray {
  return atLeast("atleast1d", x, 1);
}

/** Scalars and vectors become matrices of one row. */
export function atleast2d(x: ArrayInput): NDArray {
  return atLeast("atleast2d", x, 2);
}

/** The shape of an input. */
export function shape(x: ArrayInput): Shape {
  return toArray("shape", "x", x).shape;
}
