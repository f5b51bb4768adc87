/**
 * Functions that make arrays. Constant ones, ramps and identities stay structures until somebody reads their elements.
 */
import { at } from "../../base/at.js";
import type { DType } from "../../base/dtype.js";
import { isDType } from "../../base/dtype.js";
import { ArgumentError, DTypeError, ShapeError } from "../../base/errors.js";
import type { Shape } from "../../base/shape.js";
import { formatShape, requireShape } from "../../base/shape.js";
import { apply, bind } from "../bind.js";
import type { ArrayInput, StrongOf } from "../input.js";
import { broadcastInto, convertTo, reshapeTo, toArray } from "../input.js";
import type { NDArray } from "../ndarray.js";
import { filled, fromStructure } from "../ndarray.js";
import { sliceAxis } from "./layout.js";

function shapeOf(operation: string, shape: number | Shape): Shape {
  return requireShape(operation, "shape", typeof shape === "number" ? [shape] : shape);
}

function dtypeOr(operation: string, dtype: DType | undefined, fallback: DType): DType {
  if (dtype === undefined) return fallback;
  if (isDType(dtype)) return dtype;
  throw new DTypeError({
    operation,
    argument: "dtype",
    found: JSON.stringify(dtype),
    expected: '"float64", "float32", "int32", "uint32" or "bool"',
  });
}

/**
 * An array of anything that can be one: a number (f64), a boolean, nested lists (f64; of booleans only: bool), a typed array (copied,
 * with its dtype), arrays, or lists of arrays (stacked). Throws `ShapeError` where lists are ragged, `ArgumentError` where an
 * element is no number.
 *
 * @example
 * ```ts
 * import { np } from "heddle";
 *
 * const a = np.array([[1, 2, 3], [4, 5, 6]]);
 * console.log(a.shape, a.dtype); // [ 2, 3 ] float64
 * console.log(np.array([1, 2], "int32").dtype); // int32
 * ```
 */
export function array<A extends ArrayInput>(value: A): NDArray<StrongOf<A>>;
export function array<D extends DType>(value: ArrayInput, dtype: D): NDArray<D>;
export function array(value: ArrayInput, dtype?: DType): NDArray {
  const result: NDArray = toArray("array", "value", value);
  return dtype === undefined ? result : convertTo(result, dtypeOr("array", dtype, "float64"));
}
export { array as asarray };

/** `value` everywhere. The dtype is f64 for a number and bool for a boolean, unless given. */
export function full(shape: number | Shape, value: number): NDArray<"float64">;
export function full(shape: number | Shape, value: boolean): NDArray<"bool">;
export function full<D extends DType>(shape: number | Shape, value: ArrayInput, dtype: D): NDArray<D>;
export function full(shape: number | Shape, value: ArrayInput, dtype?: DType): NDArray;
export function full(shape: number | Shape, value: ArrayInput, dtype?: DType): NDArray {
  const scalar: NDArray = toArray("full", "value", value);
  const wanted = dtypeOr("full", dtype, scalar.dtype);
  return broadcastInto("full", convertTo(scalar, wanted), shapeOf("full", shape));
}

/** Zeros, f64 unless another dtype is given. */
export function zeros(shape: number | Shape): NDArray<"float64">;
export function zeros<D extends DType>(shape: number | Shape, dtype: D): NDArray<D>;
export function zeros(shape: number | Shape, dtype?: DType): NDArray {
  return filled(dtypeOr("zeros", dtype, "float64"), shapeOf("zeros", shape), 0);
}

/** Ones, f64 unless another dtype is given. */
export function ones(shape: number | Shape): NDArray<"float64">;
export function ones<D extends DType>(shape: number | Shape, dtype: D): NDArray<D>;
export function ones(shape: number | Shape, dtype?: DType): NDArray {
  return filled(dtypeOr("ones", dtype, "float64"), shapeOf("ones", shape), 1);
}

/** Zeros with the shape and dtype of another array. */
export function zerosLike<A extends ArrayInput>(x: A): NDArray<StrongOf<A>> {
  const like = toArray("zerosLike", "x", x);
  return filled(like.dtype, like.shape, 0);
}

/** Ones with the shape and dtype of another array. */
export function onesLike<A extends ArrayInput>(x: A): NDArray<StrongOf<A>> {
  const like = toArray("onesLike", "x", x);
  return filled(like.dtype, like.shape, 1);
}

/** `value` everywhere, with the shape and dtype of another array. */
export function fullLike<A extends ArrayInput>(x: A, value: ArrayInput): NDArray<StrongOf<A>> {
  const like = toArray("fullLike", "x", x);
  const scalar: NDArray = toArray("fullLike", "value", value);
  return broadcastInto("fullLike", convertTo(scalar, like.dtype), like.shape);
}

/** A matrix with ones where column = row + `offset`; square unless `columns` is given. */
export function eye<D extends DType = "float64">(
  rows: number,
  columns: number = rows,
  options: { readonly offset?: number; readonly dtype?: D } = {},
): NDArray<D> {
  const [height, width] = shapeOf("eye", [rows, columns]);
  const params = {
    dtype: dtypeOr("eye", options.dtype, "float64"),
    rows: height ?? 0,
    columns: width ?? 0,
    offset: options.offset ?? 0,
  };
  // The dtype is D, or f64 where D has its default.
  return fromStructure({ op: "eye", params }) as NDArray<D>;
}

/** The identity matrix. */
export function identity(n: number): NDArray<"float64"> {
  return eye(n);
}

/** 0, 1, ... along an axis of a shape. */
function ramp(shape: Shape, axis: number, dtype: DType): NDArray {
  return fromStructure({ op: "iota", params: { dtype, shape, axis } });
}

/**
 * start, start + step, ... below stop, as f64 unless a dtype is given; `arange(n)` counts from 0. Throws `ArgumentError` if a
 * bound is not finite or the step is 0.
 */
export function arange(stop: number): NDArray<"float64">;
export function arange(start: number, stop: number, step?: number): NDArray<"float64">;
export function arange<D extends DType>(start: number, stop: number, step: number, dtype: D): NDArray<D>;
export function arange(first: number, second?: number, step = 1, dtype?: DType): NDArray {
  const [start, stop] = second === undefined ? [0, first] : [first, second];
  if (![start, stop, step].every(Number.isFinite) || step === 0) {
    throw new ArgumentError({
      operation: "arange",
      found: `from ${start} to ${stop} by ${step}`,
      expected: "finite numbers and a step that is not 0",
    });
  }
  const type = dtypeOr("arange", dtype, "float64");
  const length = Math.max(0, Math.ceil((stop - start) / step));
  const positions = ramp([length], 0, type);
  if (start === 0 && step === 1) return positions;
  const scaled = apply("mul", positions, filled(type, [length], step));
  return apply("add", scaled, filled(type, [length], start));
}

/** Throws `ArgumentError` if it is no number of points. */
function requireCount(operation: string, count: unknown): number {
  if (typeof count === "number" && Number.isSafeInteger(count) && count >= 0) return count;
  throw new ArgumentError({
    operation,
    argument: "count",
    found: typeof count === "number" ? String(count) : typeof count,
    expected: "an integer from 0",
  });
}

/** `count` evenly spaced f64 numbers from start to stop, which is the last one unless `endpoint` is false. */
export function linspace(
  start: number,
  stop: number,
  count = 50,
  options: { readonly endpoint?: boolean } = {},
): NDArray<"float64"> {
  const length = requireCount("linspace", count);
  if (!Number.isFinite(start) || !Number.isFinite(stop)) {
    throw new ArgumentError({
      operation: "linspace",
      found: `from ${start} to ${stop}`,
      expected: "finite numbers",
    });
  }
  const endpoint = options.endpoint ?? true;
  const intervals = endpoint ? length - 1 : length;
  const data = new Float64Array(length);
  const step = intervals > 0 ? (stop - start) / intervals : 0;
  for (let i = 0; i < length; i++) data[i] = start + i * step;
  if (endpoint && length > 1) data[length - 1] = stop;
  return toArray("linspace", "points", data);
}

/** `count` numbers evenly spaced on a logarithmic scale from base^start to base^stop. */
export function logspace(
  start: number,
  stop: number,
  count = 50,
  options: { readonly endpoint?: boolean; readonly base?: number } = {},
): NDArray<"float64"> {
  const powers = linspace(start, stop, count, options);
  const base = options.base ?? 10;
  return toArray(
    "logspace",
    "points",
    Float64Array.from(powers.data, (power) => base ** power),
  );
}

/** `count` numbers from start to stop in geometric progression. Both must be on one side of 0. */
export function geomspace(start: number, stop: number, count = 50): NDArray<"float64"> {
  const length = requireCount("geomspace", count);
  if (!(start * stop > 0)) {
    throw new ArgumentError({
      operation: "geomspace",
      found: `from ${start} to ${stop}`,
      expected: "two numbers of one sign, none of them 0",
    });
  }
  const data = Float64Array.from({ length }, (_, i) =>
    i === length - 1 && i > 0 ? stop : start * (stop / start) ** (i / Math.max(1, length - 1)),
  );
  return toArray("geomspace", "points", data);
}

/**
 * Coordinates of a grid, one array for each vector, all of the grid's shape: `[y, x, ...]` with the default indexing `"xy"`,
 * `[x, y, ...]` with `"ij"`.
 */
export function meshgrid(
  vectors: readonly ArrayInput[],
  options: { readonly indexing?: "xy" | "ij" } = {},
): NDArray[] {
  const list = vectors.map((x, i): NDArray => toArray("meshgrid", `vector ${i}`, x));
  list.forEach((x, i) => {
    if (x.ndim > 1) {
      throw new ShapeError({
        operation: "meshgrid",
        argument: `vector ${i}`,
        found: formatShape(x.shape),
        expected: "a vector",
      });
    }
  });
  const order = list.map((_, i) => i);
  if ((options.indexing ?? "xy") === "xy" && list.length >= 2) [order[0], order[1]] = [1, 0];
  const shape = order.map((i) => at(list, i).size);
  return list.map((x, i) => {
    const axis = order.indexOf(i);
    const placed = reshapeTo(
      x,
      shape.map((_, position) => (position === axis ? x.size : 1)),
    );
    return broadcastInto("meshgrid", placed, shape);
  });
}

/** True where column ≤ row + offset. */
function lowerMask(rows: number, columns: number, offset: number): NDArray {
  const shape = [rows, columns];
  const row = apply("add", ramp(shape, 0, "int32"), filled("int32", shape, offset));
  return apply("lessEqual", ramp(shape, 1, "int32"), row);
}

/** A matrix with ones where column ≤ row + offset. */
export function tri(rows: number, columns: number = rows, offset = 0): NDArray<"float64"> {
  const [height = 0, width = 0] = shapeOf("tri", [rows, columns]);
  return convertTo(lowerMask(height, width, offset), "float64");
}

function triangle(operation: string, x: ArrayInput, offset: number, lower: boolean): NDArray {
  const matrix: NDArray = toArray(operation, "x", x);
  if (matrix.ndim < 2) {
    throw new ShapeError({
      operation,
      argument: "x",
      found: formatShape(matrix.shape),
      expected: "at least two axes",
    });
  }
  const [rows, columns] = [at(matrix.shape, matrix.ndim - 2), at(matrix.shape, matrix.ndim - 1)];
  const mask = broadcastInto(operation, lowerMask(rows, columns, lower ? offset : offset - 1), matrix.shape);
  const zero = filled(matrix.dtype, matrix.shape, 0);
  return lower ? apply("select", mask, matrix, zero) : apply("select", mask, zero, matrix);
}

/** The lower triangle: zero where column > row + offset. */
export function tril<A extends ArrayInput>(x: A, offset = 0): NDArray<StrongOf<A>> {
  // A choice among elements of x and zeros of its dtype.
  return triangle("tril", x, offset, true) as NDArray<StrongOf<A>>;
}

/** The upper triangle: zero where column < row + offset. */
export function triu<A extends ArrayInput>(x: A, offset = 0): NDArray<StrongOf<A>> {
  // A choice among elements of x and zeros of its dtype.
  return triangle("triu", x, offset, false) as NDArray<StrongOf<A>>;
}

/** The elements of the last two axes where column = row + offset. */
export function diagonal<A extends ArrayInput>(x: A, offset = 0): NDArray<StrongOf<A>> {
  const matrix = toArray("diagonal", "x", x);
  if (matrix.ndim < 2) {
    throw new ShapeError({
      operation: "diagonal",
      argument: "x",
      found: formatShape(matrix.shape),
      expected: "at least two axes",
    });
  }
  const lead = matrix.shape.slice(0, -2);
  const [rows, columns] = [at(matrix.shape, matrix.ndim - 2), at(matrix.shape, matrix.ndim - 1)];
  const [top, left] = [Math.max(0, -offset), Math.max(0, offset)];
  const length = Math.max(0, Math.min(rows - top, columns - left));
  const flat = reshapeTo(matrix, [...lead, rows * columns]);
  if (length === 0) return sliceAxis(flat, lead.length, 0, 0);
  const start = top * columns + left;
  return sliceAxis(flat, lead.length, start, start + (length - 1) * (columns + 1) + 1, columns + 1);
}

/** Of a vector, a matrix with it on the diagonal where column = row + offset; of a matrix, that diagonal. */
export function diag<A extends ArrayInput>(x: A, offset = 0): NDArray<StrongOf<A>> {
  const value = toArray("diag", "x", x);
  if (value.ndim === 2) return diagonal(value, offset) as NDArray<StrongOf<A>>;
  if (value.ndim !== 1) {
    throw new ShapeError({
      operation: "diag",
      argument: "x",
      found: formatShape(value.shape),
      expected: "a vector or a matrix",
    });
  }
  const matrix = apply("diag", value) as NDArray<StrongOf<A>>;
  if (offset === 0) return matrix;
  const [up, down] = [Math.max(0, offset), Math.max(0, -offset)];
  return bind("pad", [matrix], { low: [down, up], high: [up, down], interior: [0, 0] }) as NDArray<
    StrongOf<A>
  >;
}
