/**
 * The numbers and comparisons of whole arrays that programs over `np` reach for.
 */
import { sameShape } from "../../base/shape.js";
import type { ArrayInput } from "../input.js";
import { toArray } from "../input.js";
import type { NDArray } from "../ndarray.js";
import { equal, isclose } from "./binary.js";
import { all } from "./reduction.js";

/** The ratio of a circle's circumference to its diameter. */
export const pi = Math.PI;
/** The base of natural logarithms. */
export const e = Math.E;
/** Infinity. */
export const inf = Infinity;
/** Not a number. */
export const nan = NaN;
/** Inserts an axis where it stands among indices. */
export const newaxis = null;

/** True if all elements are close (see `isclose`). The result is an array of one truth: `.item()` reads it. */
export function allclose(
  a: ArrayInput,
  b: ArrayInput,
  options: { readonly rtol?: number; readonly atol?: number; readonly equalNan?: boolean } = {},
): NDArray<"bool"> {
  return all(isclose(a, b, options));
}

/** True if shapes and all elements are equal. The result is an array of one truth: `.item()` reads it. */
export function arrayEqual(a: ArrayInput, b: ArrayInput): NDArray<"bool"> {
  const [x, y]: [NDArray, NDArray] = [toArray("arrayEqual", "a", a), toArray("arrayEqual", "b", b)];
  return sameShape(x.shape, y.shape) ? all(equal(x, y)) : toArray("arrayEqual", "result", false);
}
