/**
 * Reading parts of arrays: positions, ranges, new axes and arrays of positions, one for each axis.
 */
import { at } from "../../base/at.js";
import type { DType } from "../../base/dtype.js";
import { isInteger } from "../../base/dtype.js";
import { ArgumentError, DTypeError } from "../../base/errors.js";
import { formatShape, normalizeAxis, sizeOf } from "../../base/shape.js";
import { apply, bind } from "../bind.js";
import type { ArrayInput, StrongOf } from "../input.js";
import { broadcastInto, convertTo, reshapeTo, toArray } from "../input.js";
import { fillValue, filled, fromData, isNDArray, NDArray } from "../ndarray.js";
import { align } from "../promote.js";
import { flip, sliceAxis, transpose } from "./layout.js";

/** `[start, stop?, step?]`, as Python's `start:stop:step`; `null` or `undefined` leave a part out. */
export type Range = readonly (number | null | undefined)[];

/**
 * What is read along one axis: a number is one position, and the axis goes; `[]` is all of it; `[start, stop?, step?]` a
 * range; `null` inserts an axis of extent 1; an integer array reads those positions; a (concrete) boolean vector those that
 * are true; `"..."` stands for as many whole axes as are left.
 */
export type Index = number | Range | null | NDArray | "...";

/** A range with positions that are counted from the front. `step` may be negative; `extent` is the number of elements. */
interface Bounds {
  readonly start: number;
  readonly step: number;
  readonly extent: number;
}

/** What happens to one axis of the operand. */
export type AxisIndex =
  | { readonly kind: "position"; readonly position: number }
  | { readonly kind: "range"; readonly bounds: Bounds }
  | { readonly kind: "new" }
  | { readonly kind: "array"; readonly positions: NDArray };

function requireInteger(value: number, argument: string): number {
  if (Number.isInteger(value)) return value;
  throw new ArgumentError({
    operation: "slice",
    argument,
    found: String(value),
    expected: "an integer",
  });
}

/** Python's meaning of a range over an axis of `extent` elements. */
function boundsOf(range: Range, extent: number, argument: string): Bounds {
  if (range.length > 3) {
    throw new ArgumentError({
      operation: "slice",
      argument,
      found: `a list of ${range.length}`,
      expected: "[start, stop?, step?]",
      remedy: 'to read a list of positions, make an integer array: np.array([0, 2, 5, 7], "int32")',
    });
  }
  const [start, stop, stepOrNone] = range;
  const step = requireInteger(stepOrNone ?? 1, argument);
  if (step === 0) {
    throw new ArgumentError({
      operation: "slice",
      argument,
      found: "a step of 0",
      expected: "another step",
    });
  }
  const [least, most] = step > 0 ? [0, extent] : [-1, extent - 1];
  const place = (value: number | null | undefined, otherwise: number): number => {
    if (value == null) return otherwise;
    const integer = requireInteger(value, argument);
    return Math.max(least, Math.min(most, integer < 0 ? integer + extent : integer));
  };
  const from = place(start, step > 0 ? least : most);
  const to = place(stop, step > 0 ? most : least);
  return { start: from, step, extent: Math.max(0, Math.ceil((to - from) / step)) };
}

/** Positions counted from the front, as i32. Concrete ones are checked; traced ones outside the axis are clamped. */
export function positionsOf(operation: string, indices: NDArray, extent: number): NDArray {
  if (!isInteger(indices.dtype)) {
    throw new DTypeError({
      operation,
      argument: "indices",
      found: indices.dtype,
      expected: "an integer array",
      remedy: 'make one with np.array(list, "int32") or .astype("int32")',
    });
  }
  const positions = convertTo(indices, "int32");
  if (!positions.traced) {
    const { data } = positions;
    for (let i = 0; i < data.length; i++) {
      const position = at(data, i);
      if (position < -extent || position >= extent) {
        throw new ArgumentError({
          operation,
          argument: `index ${i}`,
          found: String(position),
          expected: extent === 0 ? "no index, since the axis is empty" : `${-extent} to ${extent - 1}`,
        });
      }
    }
    if (data.every((position) => position >= 0)) return positions;
  }
  const constant = (value: number): NDArray => filled("int32", positions.shape, value);
  const below = apply("less", positions, constant(0));
  return apply("select", below, apply("add", positions, constant(extent)), positions);
}

/** The positions of a boolean vector's true elements. */
function truePositions(mask: NDArray, extent: number, argument: string): NDArray {
  if (mask.ndim !== 1 || mask.size !== extent) {
    throw new ArgumentError({
      operation: "slice",
      argument,
      found: `a boolean array of shape ${formatShape(mask.shape)}`,
      expected: `a boolean vector of ${extent}, the extent of its axis`,
    });
  }
  const found: number[] = [];
  mask.data.forEach((value, position) => {
    if (value !== 0) found.push(position);
  });
  return fromData("int32", [found.length], Int32Array.from(found));
}

function axisIndex(index: Exclude<Index, "...">, extent: number, argument: string): AxisIndex {
  if (index === null) return { kind: "new" };
  if (typeof index === "number") {
    const position = requireInteger(index, argument);
    const from = position < 0 ? position + extent : position;
    if (from < 0 || from >= extent) {
      throw new ArgumentError({
        operation: "slice",
        argument,
        found: String(index),
        expected: extent === 0 ? "no index, since the axis is empty" : `${-extent} to ${extent - 1}`,
      });
    }
    return { kind: "position", position: from };
  }
  if (index instanceof NDArray) {
    const positions = index.dtype === "bool" ? truePositions(index, extent, argument) : index;
    return { kind: "array", positions: positionsOf("slice", positions, extent) };
  }
  if (Array.isArray(index)) return { kind: "range", bounds: boundsOf(index, extent, argument) };
  throw new ArgumentError({
    operation: "slice",
    argument,
    found: typeof index === "string" ? JSON.stringify(index) : typeof index,
    expected: 'a number, [start, stop?, step?], [], null, "..." or an integer array',
  });
}

/** What happens to each axis, with the axes that no index names kept whole. Throws `ArgumentError`. */
export function resolveIndices(x: NDArray, indices: readonly Index[]): AxisIndex[] {
  const used = indices.filter((index) => index !== null && index !== "...").length;
  const gaps = indices.filter((index) => index === "...").length;
  if (used > x.ndim || gaps > 1) {
    throw new ArgumentError({
      operation: "slice",
      found: gaps > 1 ? 'more than one "..."' : `${used} indices into ${formatShape(x.shape)}`,
      expected: gaps > 1 ? "one at most" : `${x.ndim} at most`,
    });
  }
  const whole = Array.from({ length: x.ndim - used }, (): Range => []);
  const expanded: Exclude<Index, "...">[] = [];
  for (const index of gaps === 0 ? [...indices, "..." as const] : indices) {
    if (index === "...") expanded.push(...whole);
    else expanded.push(index);
  }
  let axis = 0;
  return expanded.map((index, place) => {
    const extent = index === null ? 1 : at(x.shape, axis++);
    return axisIndex(index, extent, `index ${place}`);
  });
}

/** Applies the ranges; positions become ranges of one element. */
function readRanges(x: NDArray, axes: readonly AxisIndex[]): NDArray {
  const bounds = axes.map((axis, i): Bounds => {
    if (axis.kind === "position") return { start: axis.position, step: 1, extent: 1 };
    return axis.kind === "range" ? axis.bounds : { start: 0, step: 1, extent: at(x.shape, i) };
  });
  const { start, limit, step } = sliceParams(bounds);
  const whole = start.every(
    (from, axis) => from === 0 && at(step, axis) === 1 && limit[axis] === x.shape[axis],
  );
  const read = whole ? x : bind("slice", [x], { start, limit, step });
  const reversed = bounds.map((_, axis) => axis).filter((axis) => at(bounds, axis).step < 0);
  return reversed.length === 0 ? read : flip(read, reversed);
}

/** The same elements in increasing order, as the slice primitive reads them. */
export function sliceParams(bounds: readonly Bounds[]): {
  readonly start: number[];
  readonly limit: number[];
  readonly step: number[];
} {
  const start = bounds.map(({ start: from, step, extent }) =>
    extent === 0 ? 0 : step > 0 ? from : from + (extent - 1) * step,
  );
  const step = bounds.map((each) => Math.abs(each.step));
  const limit = bounds.map(({ extent }, axis) =>
    extent === 0 ? 0 : at(start, axis) + (extent - 1) * at(step, axis) + 1,
  );
  return { start, limit, step };
}

/** Reads positions along several axes together: the position arrays broadcast, and their axes stand at the first one. */
function readArrays(x: NDArray, arrays: ReadonlyMap<number, NDArray>): NDArray {
  const axes = [...arrays.keys()];
  const first = at(axes, 0);
  if (axes.length === 1) {
    return bind("gather", [x, arrays.get(first) ?? x], { axis: first });
  }
  const positions = align("slice", [...arrays.values()]);
  const adjacent = axes.every((axis, i) => axis === first + i);
  const place = adjacent ? first : 0;
  const rest = x.shape.map((_, axis) => axis).filter((axis) => !axes.includes(axis));
  const order = [...rest.slice(0, place), ...axes, ...rest.slice(place)];
  const extents = axes.map((axis) => at(x.shape, axis));
  const front = transpose(x, order);
  const merged = reshapeTo(front, [
    ...front.shape.slice(0, place),
    sizeOf(extents),
    ...front.shape.slice(place + axes.length),
  ]);
  const linear = positions.reduce(
    (sum, each, i) => {
      const scaled = apply("mul", sum, filled("int32", sum.shape, at(extents, i)));
      return apply("add", scaled, each);
    },
    filled("int32", at(positions, 0).shape, 0),
  );
  return bind("gather", [merged, linear], { axis: place });
}

/** Reads what `resolveIndices` has resolved. */
export function readAxes(x: NDArray, resolved: readonly AxisIndex[]): NDArray {
  const own = resolved.filter(({ kind }) => kind !== "new");
  const ranged = readRanges(x, own);
  // Positions and new axes only change the shape.
  const kept: number[] = [];
  const arrays = new Map<number, NDArray>();
  let axis = 0;
  for (const each of resolved) {
    if (each.kind === "new") kept.push(1);
    else {
      if (each.kind === "array") arrays.set(kept.length, each.positions);
      if (each.kind !== "position") kept.push(at(ranged.shape, axis));
      axis++;
    }
  }
  const shaped = reshapeTo(ranged, kept);
  return arrays.size === 0 ? shaped : readArrays(shaped, arrays);
}

/**
 * Part of an array: one index per axis (see `Index`); axes without an index are kept whole. Several integer arrays are read
 * together, as in NumPy. Throws `ArgumentError` for concrete indices out of range.
 *
 * @example
 * ```ts
 * import { np } from "heddle";
 *
 * const x = np.arange(12).reshape(3, 4);
 * console.log(x.slice(1).toArray()); // [ 4, 5, 6, 7 ]
 * console.log(x.slice([], [null, null, -2]).toArray()); // [ [ 3, 1 ], [ 7, 5 ], [ 11, 9 ] ]
 * console.log(x.slice(np.array([2, 0], "int32"), 1).toArray()); // [ 9, 1 ]
 * ```
 */
export function slice<A extends ArrayInput>(x: A, ...indices: readonly Index[]): NDArray<StrongOf<A>> {
  const array: NDArray = toArray("slice", "x", x);
  // Reading keeps the dtype.
  return readAxes(array, resolveIndices(array, indices)) as NDArray<StrongOf<A>>;
}

/** Any list of whole numbers, or an integer array, as positions. */
function indexArray(operation: string, indices: ArrayInput): NDArray {
  const given: NDArray = toArray(operation, "indices", indices);
  const whole = given.dtype === "float64" && !isNDArray(indices);
  if (!whole) return given;
  const value = fillValue(given);
  const integral = value === undefined ? given.data.every(Number.isInteger) : Number.isInteger(value);
  return integral ? convertTo(given, "int32") : given;
}

/**
 * The elements at positions along an axis, which the shape of `indices` replaces; without an axis, of the flattened array.
 * Throws `ArgumentError` for concrete positions out of range; traced ones are clamped.
 */
export function take<A extends ArrayInput>(
  x: A,
  indices: ArrayInput,
  axis?: number | null,
): NDArray<StrongOf<A>> {
  const array: NDArray = toArray("take", "x", x);
  const source = axis == null ? reshapeTo(array, [array.size]) : array;
  const along = axis == null ? 0 : normalizeAxis("take", axis, array.ndim);
  const positions = positionsOf("take", indexArray("take", indices), at(source.shape, along));
  return bind("gather", [source, positions], { axis: along }) as NDArray<StrongOf<A>>;
}

/** For each position of `indices`, the element of x there along the axis; other axes go together and broadcast. */
export function takeAlongAxis<A extends ArrayInput>(
  x: A,
  indices: ArrayInput,
  axis = -1,
): NDArray<StrongOf<A>> {
  const array: NDArray = toArray("takeAlongAxis", "x", x);
  const given = indexArray("takeAlongAxis", indices);
  const along = normalizeAxis("takeAlongAxis", axis, array.ndim);
  if (given.ndim !== array.ndim) {
    throw new ArgumentError({
      operation: "takeAlongAxis",
      argument: "indices",
      found: formatShape(given.shape),
      expected: `${array.ndim} axes, as x has`,
    });
  }
  const extent = at(array.shape, along);
  const positions = positionsOf("takeAlongAxis", given, extent);
  const shape = given.shape.map((own, i) => (i === along || own !== 1 ? own : at(array.shape, i)));
  const wide = broadcastInto("takeAlongAxis", positions, shape);
  const source = broadcastInto(
    "takeAlongAxis",
    array,
    shape.map((own, i) => (i === along ? extent : own)),
  );
  // The position in the flattened array.
  let linear: NDArray = filled("int32", shape, 0);
  shape.forEach((own, i) => {
    const step = filled("int32", shape, i === along ? extent : own);
    const place = i === along ? wide : bind("iota", [], { dtype: "int32", shape, axis: i });
    linear = apply("add", apply("mul", linear, step), place);
  });
  return bind("gather", [reshapeTo(source, [source.size]), linear], { axis: 0 }) as NDArray<StrongOf<A>>;
}

/** Differences of neighbours along an axis, repeated `n` times. */
export function diff<A extends ArrayInput>(x: A, n = 1, axis = -1): NDArray<StrongOf<A>> {
  let result: NDArray = toArray("diff", "x", x);
  const along = normalizeAxis("diff", axis, result.ndim);
  for (let i = 0; i < n; i++) {
    const extent = at(result.shape, along);
    if (extent === 0) break;
    const next: NDArray<DType> = sliceAxis(result, along, 1, extent);
    result = apply(result.dtype === "bool" ? "xor" : "sub", next, sliceAxis(result, along, 0, extent - 1));
  }
  return result as NDArray<StrongOf<A>>;
}
