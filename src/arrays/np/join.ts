/**
 * Functions that join arrays and take them apart.
 */
import { at } from "../../base/at.js";
import { promoteTypes } from "../../base/dtype.js";
import { ArgumentError, ShapeError } from "../../base/errors.js";
import { formatShape, normalizeAxis, sameShape } from "../../base/shape.js";
import { bind } from "../bind.js";
import type { ArrayInput } from "../input.js";
import { convertTo, reshapeTo, toArray } from "../input.js";
import type { NDArray } from "../ndarray.js";
import { expandDims, ravel, sliceAxis, transpose } from "./layout.js";

/** The dtype that holds all of the inputs' dtypes. */
type JoinedDType<A> =
  A extends NDArray<infer D> ? ([D] extends ["float64"] ? "float64" : NDArray["dtype"]) : "float64";

function arraysOf(operation: string, arrays: readonly ArrayInput[]): NDArray[] {
  if (!Array.isArray(arrays) || arrays.length === 0) {
    throw new ArgumentError({
      operation,
      argument: "arrays",
      found: Array.isArray(arrays) ? "an empty list" : "not a list",
      expected: "a list of at least one array",
    });
  }
  const list = arrays.map((x, i): NDArray => toArray(operation, `array ${i}`, x));
  const dtype = list.map((x) => x.dtype).reduce(promoteTypes);
  return list.map((x) => convertTo(x, dtype));
}

function join(operation: string, parts: readonly NDArray[], axis: number): NDArray {
  const first = at(parts, 0);
  if (first.ndim === 0) {
    throw new ShapeError({
      operation,
      argument: "array 0",
      found: "a scalar",
      expected: "at least one axis",
      remedy: "join scalars with np.stack or np.array",
    });
  }
  const along = normalizeAxis(operation, axis, first.ndim);
  parts.forEach((part, i) => {
    const fits =
      part.ndim === first.ndim &&
      part.shape.every((e, position) => position === along || e === first.shape[position]);
    if (!fits) {
      throw new ShapeError({
        operation,
        argument: `array ${i}`,
        found: formatShape(part.shape),
        expected: `the extents of ${formatShape(first.shape)}, except along axis ${along}`,
      });
    }
  });
  return parts.length === 1 ? first : bind("concatenate", parts, { axis: along });
}

/**
 * Joins arrays along an axis that they have; `axis: null` flattens them first. Their dtypes promote. Throws
 * `ShapeError` if other extents differ.
 */
export function concatenate<A extends ArrayInput>(
  arrays: readonly A[],
  axis: number | null = 0,
): NDArray<JoinedDType<A>> {
  const list = arraysOf("concatenate", arrays);
  const parts = axis === null ? list.map((x): NDArray => ravel(x)) : list;
  // All parts have the common dtype.
  return join("concatenate", parts, axis ?? 0) as NDArray<JoinedDType<A>>;
}
export { concatenate as concat };

/** Joins arrays of one shape along a new axis. */
export function stack<A extends ArrayInput>(arrays: readonly A[], axis = 0): NDArray<JoinedDType<A>> {
  const list = arraysOf("stack", arrays);
  const first = at(list, 0);
  list.forEach((x, i) => {
    if (!sameShape(x.shape, first.shape)) {
      throw new ShapeError({
        operation: "stack",
        argument: `array ${i}`,
        found: formatShape(x.shape),
        expected: `${formatShape(first.shape)}, the shape of array 0`,
      });
    }
  });
  const along = normalizeAxis("stack", axis, first.ndim + 1);
  // All parts have the common dtype.
  return join(
    "stack",
    list.map((x): NDArray => expandDims(x, along)),
    along,
  ) as NDArray<JoinedDType<A>>;
}

/** Stacks as rows: vectors become rows, matrices are put on top of each other. */
export function vstack(arrays: readonly ArrayInput[]): NDArray {
  const list = arraysOf("vstack", arrays).map((x) => (x.ndim < 2 ? reshapeTo(x, [1, x.size]) : x));
  return join("vstack", list, 0);
}

/** Stacks side by side: vectors are joined, matrices get more columns. */
export function hstack(arrays: readonly ArrayInput[]): NDArray {
  const list = arraysOf("hstack", arrays).map((x) => (x.ndim === 0 ? reshapeTo(x, [1]) : x));
  return join("hstack", list, at(list, 0).ndim === 1 ? 0 : 1);
}

/** Stacks along a third axis. */
export function dstack(arrays: readonly ArrayInput[]): NDArray {
  const list = arraysOf("dstack", arrays).map((x) => {
    if (x.ndim < 2) return reshapeTo(x, [1, x.size, 1]);
    return x.ndim === 2 ? reshapeTo(x, [...x.shape, 1]) : x;
  });
  return join("dstack", list, 2);
}

/** Vectors become columns of a matrix; matrices are put side by side. */
export function columnStack(arrays: readonly ArrayInput[]): NDArray {
  const list = arraysOf("columnStack", arrays).map((x) => (x.ndim < 2 ? reshapeTo(x, [x.size, 1]) : x));
  return join("columnStack", list, 1);
}

/** The array with more elements at the end of an axis; without an axis, both are flattened. */
export function append(x: ArrayInput, values: ArrayInput, axis?: number): NDArray {
  return concatenate([x, values], axis ?? null);
}

function cut(x: NDArray, bounds: readonly number[], axis: number): NDArray[] {
  const extent = at(x.shape, axis);
  const clamp = (bound: number): number => Math.max(0, Math.min(extent, bound < 0 ? bound + extent : bound));
  const edges = [0, ...bounds.map(clamp), extent];
  return edges.slice(1).map((end, i) => sliceAxis(x, axis, Math.min(at(edges, i), end), end));
}

/**
 * Cuts along an axis into equal sections, or at the given positions. Throws `ShapeError` if the extent is not a multiple
 * of the number of sections (see `arraySplit`).
 */
export function split(x: ArrayInput, sections: number | readonly number[], axis = 0): NDArray[] {
  const array: NDArray = toArray("split", "x", x);
  const along = normalizeAxis("split", axis, array.ndim);
  if (typeof sections !== "number") return cut(array, sections, along);
  const extent = at(array.shape, along);
  if (!(sections >= 1) || extent % sections !== 0) {
    throw new ShapeError({
      operation: "split",
      argument: "sections",
      found: `${sections} for the extent ${extent} of ${formatShape(array.shape)}`,
      expected: "a divisor of the extent",
      remedy: "arraySplit makes sections that differ by one",
    });
  }
  return arraySplit(array, sections, along);
}

/** Cuts along an axis into sections whose extents differ by one at most, the longer ones first. */
export function arraySplit(x: ArrayInput, sections: number | readonly number[], axis = 0): NDArray[] {
  const array: NDArray = toArray("arraySplit", "x", x);
  const along = normalizeAxis("arraySplit", axis, array.ndim);
  if (typeof sections !== "number") return cut(array, sections, along);
  if (!Number.isInteger(sections) || sections < 1) {
    throw new ArgumentError({
      operation: "arraySplit",
      argument: "sections",
      found: String(sections),
      expected: "a positive integer, or a list of positions",
    });
  }
  const extent = at(array.shape, along);
  const [short, longer] = [Math.floor(extent / sections), extent % sections];
  const ends = Array.from({ length: sections }, (_, i) => (i + 1) * short + Math.min(i + 1, longer));
  return cut(array, ends.slice(0, -1), along);
}

/** `split` along axis 0. */
export function vsplit(x: ArrayInput, sections: number | readonly number[]): NDArray[] {
  return split(x, sections, 0);
}

/** `split` along axis 1, or along the only axis of a vector. */
export function hsplit(x: ArrayInput, sections: number | readonly number[]): NDArray[] {
  return split(x, sections, toArray("hsplit", "x", x).ndim === 1 ? 0 : 1);
}

/** The parts along an axis, which they lose. */
export function unstack(x: ArrayInput, axis = 0): NDArray[] {
  const array: NDArray = toArray("unstack", "x", x);
  const along = normalizeAxis("unstack", axis, array.ndim);
  const front = transpose(array, [along, ...array.shape.map((_, i) => i).filter((i) => i !== along)]);
  const rest = front.shape.slice(1);
  return Array.from({ length: at(front.shape, 0) }, (_, i) => reshapeTo(sliceAxis(front, 0, i, i + 1), rest));
}
