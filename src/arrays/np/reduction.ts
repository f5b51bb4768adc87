/**
 * Functions that combine elements along axes.
 */
import { at } from "../../base/at.js";
import { isFloating } from "../../base/dtype.js";
import { ArgumentError } from "../../base/errors.js";
import { normalizeAxes, normalizeAxis } from "../../base/shape.js";
import { apply, bind } from "../bind.js";
import type { ArrayInput, StrongOf } from "../input.js";
import { convertTo, reshapeTo, toArray } from "../input.js";
import type { NDArray } from "../ndarray.js";
import { filled } from "../ndarray.js";
import type { FloatOf } from "../promote.js";
import { divide, equal, multiply, subtract } from "./binary.js";
import type { NumberOf } from "./unary.js";
import { isnan, operand, sqrt, square, truth } from "./unary.js";

/** One axis, several, or (left out) all. */
export type Axis = number | readonly number[];

/** Which axes a reduction combines, and whether they stay with extent 1. */
export interface ReductionOptions {
  readonly axis?: Axis | null | undefined;
  readonly keepdims?: boolean | undefined;
}

/** The axes alone, or options. */
export type Reduction = Axis | ReductionOptions | null | undefined;

function isOptions(value: Reduction): value is ReductionOptions {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The axes of a reduction, sorted, and whether they stay. */
export function reductionOf(
  operation: string,
  rank: number,
  reduction: Reduction,
): { readonly axes: readonly number[]; readonly keepdims: boolean } {
  const { axis, keepdims = false } = isOptions(reduction) ? reduction : { axis: reduction };
  return { axes: normalizeAxes(operation, axis ?? undefined, rank), keepdims };
}

type ReduceOp = "reduceSum" | "reduceProd" | "reduceMax" | "reduceMin";

function reduce(operation: string, op: ReduceOp, x: NDArray, reduction: Reduction): NDArray {
  const { axes, keepdims } = reductionOf(operation, x.ndim, reduction);
  const result = axes.length === 0 ? x : bind(op, [x], { axes });
  if (!keepdims) return result;
  return reshapeTo(
    result,
    x.shape.map((extent, axis) => (axes.includes(axis) ? 1 : extent)),
  );
}

/** The number of elements that a reduction combines. */
function countOf(operation: string, x: NDArray, reduction: Reduction): number {
  return reductionOf(operation, x.ndim, reduction).axes.reduce((n, axis) => n * at(x.shape, axis), 1);
}

/** The sum; of booleans, the count as i32. Of nothing, 0. */
export function sum<A extends ArrayInput>(x: A, reduction?: Reduction): NDArray<NumberOf<A>> {
  // The operand was converted to the number that NumberOf names.
  return reduce("sum", "reduceSum", operand("sum", x, "number"), reduction) as NDArray<NumberOf<A>>;
}

/** The product. Of nothing, 1. */
export function prod<A extends ArrayInput>(x: A, reduction?: Reduction): NDArray<NumberOf<A>> {
  return reduce("prod", "reduceProd", operand("prod", x, "number"), reduction) as NDArray<NumberOf<A>>;
}

/** The greatest element; NaN if there is one. Throws `ShapeError` where there is none. Ties share the derivative. */
export function max<A extends ArrayInput>(x: A, reduction?: Reduction): NDArray<StrongOf<A>> {
  return reduce("max", "reduceMax", toArray("max", "x", x), reduction) as NDArray<StrongOf<A>>;
}

/** The least element; NaN if there is one. Throws `ShapeError` where there is none. Ties share the derivative. */
export function min<A extends ArrayInput>(x: A, reduction?: Reduction): NDArray<StrongOf<A>> {
  return reduce("min", "reduceMin", toArray("min", "x", x), reduction) as NDArray<StrongOf<A>>;
}
export { max as amax, min as amin };

/** True if any element is true (not zero). Of nothing, false. */
export function any(x: ArrayInput, reduction?: Reduction): NDArray<"bool"> {
  return reduce("any", "reduceMax", truth(x), reduction) as NDArray<"bool">;
}

/** True if all elements are true (not zero). Of nothing, true. */
export function all(x: ArrayInput, reduction?: Reduction): NDArray<"bool"> {
  return reduce("all", "reduceMin", truth(x), reduction) as NDArray<"bool">;
}

/** The number of elements that are true (not zero), as i32. */
export function countNonzero(x: ArrayInput, reduction?: Reduction): NDArray<"int32"> {
  return sum(truth(x), reduction);
}

/** The mean, in floats: integers and booleans give f64. Of nothing, NaN. */
export function mean<A extends ArrayInput>(x: A, reduction?: Reduction): NDArray<FloatOf<A>> {
  const value = operand("mean", x, "float");
  return divide(sum(value, reduction), countOf("mean", value, reduction)) as NDArray<FloatOf<A>>;
}

/** The mean with weights, which have the shape of x or of its one reduced axis. */
export function average(x: ArrayInput, reduction?: Reduction, weights?: ArrayInput): NDArray {
  const value = operand("average", x, "float");
  if (weights === undefined) return mean(value, reduction);
  const given: NDArray = toArray("average", "weights", weights);
  const { axes } = reductionOf("average", value.ndim, reduction);
  const fits = given.ndim === 1 && axes.length === 1 && value.ndim > 1;
  const factor = fits
    ? reshapeTo(
        given,
        value.shape.map((_, axis) => (axis === axes[0] ? given.size : 1)),
      )
    : given;
  const spread = multiply(filled(value.dtype, value.shape, 1), factor);
  return divide(sum(multiply(value, factor), reduction), sum(spread, reduction));
}

/** Options of `variance` and `std`. */
export interface SpreadOptions extends ReductionOptions {
  /** The divisor is n − ddof; 0 unless given. */
  readonly ddof?: number;
}

/** The mean squared distance from the mean. */
export function variance<A extends ArrayInput>(
  x: A,
  options?: Axis | SpreadOptions | null,
): NDArray<FloatOf<A>> {
  const value = operand("var", x, "float");
  const { axes } = reductionOf("var", value.ndim, options);
  const ddof = isOptions(options) && "ddof" in options ? (options.ddof ?? 0) : 0;
  const centre = mean(value, { axis: axes, keepdims: true });
  const total = sum(square(subtract(value, centre)), options);
  return divide(total, Math.max(0, countOf("var", value, options) - ddof)) as NDArray<FloatOf<A>>;
}
export { variance as var };

/** The square root of the variance. */
export function std<A extends ArrayInput>(x: A, options?: Axis | SpreadOptions | null): NDArray<FloatOf<A>> {
  const spread: NDArray = variance(x, options);
  return sqrt(spread) as NDArray<FloatOf<A>>;
}

/** The greatest element less the least. */
export function ptp<A extends ArrayInput>(x: A, reduction?: Reduction): NDArray {
  return subtract(max(x, reduction), min(x, reduction));
}

function argExtreme(operation: string, op: "argMax" | "argMin") {
  return (x: ArrayInput, options?: number | ArgOptions | null): NDArray<"int32"> => {
    const value: NDArray = toArray(operation, "x", x);
    const { axis, keepdims = false } =
      typeof options === "object" && options !== null ? options : { axis: options };
    if (axis != null && typeof axis !== "number") {
      throw new ArgumentError({
        operation,
        argument: "axis",
        found: JSON.stringify(axis),
        expected: "one axis, or none for the flattened array",
      });
    }
    const along = axis == null ? null : normalizeAxis(operation, axis, value.ndim);
    const source = along === null ? reshapeTo(value, [value.size]) : value;
    // These primitives give i32.
    const result = bind(op, [source], { axis: along ?? 0 }) as NDArray<"int32">;
    if (!keepdims) return result;
    return reshapeTo(
      result,
      value.shape.map((extent, i) => (along === null || i === along ? 1 : extent)),
    );
  };
}

/** The axis along which positions count, and whether it stays with extent 1. */
export interface ArgOptions {
  readonly axis?: number | null;
  readonly keepdims?: boolean;
}

/** The position of the first greatest element along an axis, or in the flattened array; a NaN counts as greatest. */
export const argmax = argExtreme("argmax", "argMax");
/** The position of the first least element along an axis, or in the flattened array; a NaN counts as least. */
export const argmin = argExtreme("argmin", "argMin");

/** x with NaN replaced. */
function without(x: ArrayInput, by: number): NDArray {
  const value = operand("nansum", x, "number");
  if (!isFloating(value.dtype)) return value;
  return apply("select", isnan(value), filled(value.dtype, value.shape, by), value);
}

/** The sum of what is not NaN. */
export function nansum(x: ArrayInput, reduction?: Reduction): NDArray {
  return sum(without(x, 0), reduction);
}

/** The product of what is not NaN. */
export function nanprod(x: ArrayInput, reduction?: Reduction): NDArray {
  return prod(without(x, 1), reduction);
}

/** The mean of what is not NaN. */
export function nanmean(x: ArrayInput, reduction?: Reduction): NDArray {
  const value = operand("nanmean", x, "float");
  const known = convertTo(equal(value, value), value.dtype);
  return divide(nansum(value, reduction), sum(known, reduction));
}

/** log of the sum of exponentials, without overflow. */
export function logsumexp(x: ArrayInput, reduction?: Reduction): NDArray {
  const value = operand("logsumexp", x, "float");
  const { axes } = reductionOf("logsumexp", value.ndim, reduction);
  const peak = apply("stopGradient", max(value, { axis: axes, keepdims: true }));
  const finite = apply("select", apply("isFinite", peak), peak, filled(peak.dtype, peak.shape, 0));
  const total = apply("log", sum(apply("exp", subtract(value, finite)), reduction));
  return apply("add", total, reshapeTo(finite, total.shape));
}
