/**
 * The methods of `NDArray`: each is the function of `np` with the array as its first argument. They are attached here
 * because the functions themselves are made of arrays. Whoever imports arrays from this folder does so through
 * `arrays/index.ts`, which loads this file.
 */
import type { DType } from "../base/dtype.js";
import type { Shape } from "../base/shape.js";
import type { ArrayInput } from "./input.js";
import { NDArray } from "./ndarray.js";
import * as binary from "./np/binary.js";
import { diagonal } from "./np/creation.js";
import type { Index } from "./np/indexing.js";
import { slice, take } from "./np/indexing.js";
import { split, unstack } from "./np/join.js";
import * as layout from "./np/layout.js";
import * as product from "./np/product.js";
import type { ArgOptions, Axis, Reduction, SpreadOptions } from "./np/reduction.js";
import * as reduction from "./np/reduction.js";
import * as unary from "./np/unary.js";
import type { NumberOf } from "./np/unary.js";
import type { Update } from "./np/update.js";
import { updateAt } from "./np/update.js";
import type { FloatOf, FloatPromoted, Promoted } from "./promote.js";

declare module "./ndarray.js" {
  interface NDArray<D extends DType> {
    /** The array with its axes reversed. */
    readonly T: NDArray<D>;
    /** The array with its last two axes exchanged. */
    readonly mT: NDArray<D>;
    /** The array in another dtype. See `np.astype`. */
    astype<E extends DType>(dtype: E): NDArray<E>;

    /** Sum with another array or number. */
    add<B extends ArrayInput>(b: B): NDArray<Promoted<this, B>>;
    /** Difference to another array or number. */
    sub<B extends ArrayInput>(b: B): NDArray<Promoted<this, B>>;
    /** Difference to another array or number. */
    subtract<B extends ArrayInput>(b: B): NDArray<Promoted<this, B>>;
    /** Element-wise product. */
    mul<B extends ArrayInput>(b: B): NDArray<Promoted<this, B>>;
    /** Element-wise product. */
    multiply<B extends ArrayInput>(b: B): NDArray<Promoted<this, B>>;
    /** Quotient, in floats. */
    div<B extends ArrayInput>(b: B): NDArray<FloatPromoted<this, B>>;
    /** Quotient, in floats. */
    divide<B extends ArrayInput>(b: B): NDArray<FloatPromoted<this, B>>;
    /** Floor of the quotient. */
    floorDivide<B extends ArrayInput>(b: B): NDArray<Promoted<this, B>>;
    /** Remainder with the sign of the divisor. */
    mod<B extends ArrayInput>(b: B): NDArray<Promoted<this, B>>;
    /** Power. See `np.power`. */
    pow<B extends ArrayInput>(b: B): NDArray<Promoted<this, B>>;
    /** Power. See `np.power`. */
    power<B extends ArrayInput>(b: B): NDArray<Promoted<this, B>>;
    /** The greater one. */
    maximum<B extends ArrayInput>(b: B): NDArray<Promoted<this, B>>;
    /** The lesser one. */
    minimum<B extends ArrayInput>(b: B): NDArray<Promoted<this, B>>;
    /** The elements kept between bounds; `null` does not bind. */
    clip(low?: ArrayInput | null, high?: ArrayInput | null): NDArray<D>;
    /** Product of vectors and matrices. See `np.dot`. */
    dot<B extends ArrayInput>(b: B): NDArray<Promoted<this, B>>;
    /** Matrix product. See `np.matmul`. */
    matmul<B extends ArrayInput>(b: B): NDArray<Promoted<this, B>>;
    /** All products of an element with one of b. */
    outer<B extends ArrayInput>(b: B): NDArray<Promoted<this, B>>;

    /** True where the elements are equal. */
    equal(b: ArrayInput): NDArray<"bool">;
    /** True where the elements differ. */
    notEqual(b: ArrayInput): NDArray<"bool">;
    /** True where the element is less. */
    less(b: ArrayInput): NDArray<"bool">;
    /** True where the element is less or equal. */
    lessEqual(b: ArrayInput): NDArray<"bool">;
    /** True where the element is greater. */
    greater(b: ArrayInput): NDArray<"bool">;
    /** True where the element is greater or equal. */
    greaterEqual(b: ArrayInput): NDArray<"bool">;
    /** True where both are true. */
    logicalAnd(b: ArrayInput): NDArray<"bool">;
    /** True where at least one is true. */
    logicalOr(b: ArrayInput): NDArray<"bool">;
    /** True where the element is zero or false. */
    logicalNot(): NDArray<"bool">;

    /** The negated elements. */
    neg(): NDArray<NumberOf<this>>;
    /** Absolute values. */
    abs(): NDArray<NumberOf<this>>;
    /** −1, 0 or 1. */
    sign(): NDArray<NumberOf<this>>;
    /** Squares. */
    square(): NDArray<NumberOf<this>>;
    /** 1 / x. */
    reciprocal(): NDArray<FloatOf<this>>;
    /** Rounded down. */
    floor(): NDArray<NumberOf<this>>;
    /** Rounded up. */
    ceil(): NDArray<NumberOf<this>>;
    /** Rounded to `decimals` places, halves to even. */
    round(decimals?: number): NDArray<NumberOf<this>>;
    /** Square roots. */
    sqrt(): NDArray<FloatOf<this>>;
    /** e to the power x. */
    exp(): NDArray<FloatOf<this>>;
    /** exp(x) − 1. */
    expm1(): NDArray<FloatOf<this>>;
    /** Natural logarithms. */
    log(): NDArray<FloatOf<this>>;
    /** log(1 + x). */
    log1p(): NDArray<FloatOf<this>>;
    /** Sines. */
    sin(): NDArray<FloatOf<this>>;
    /** Cosines. */
    cos(): NDArray<FloatOf<this>>;
    /** Tangents. */
    tan(): NDArray<FloatOf<this>>;
    /** Inverse tangents. */
    atan(): NDArray<FloatOf<this>>;
    /** Hyperbolic sines. */
    sinh(): NDArray<FloatOf<this>>;
    /** Hyperbolic cosines. */
    cosh(): NDArray<FloatOf<this>>;
    /** Hyperbolic tangents. */
    tanh(): NDArray<FloatOf<this>>;

    /** The sum. */
    sum(reduction?: Reduction): NDArray<NumberOf<this>>;
    /** The product. */
    prod(reduction?: Reduction): NDArray<NumberOf<this>>;
    /** The mean. */
    mean(reduction?: Reduction): NDArray<FloatOf<this>>;
    /** The greatest element. */
    max(reduction?: Reduction): NDArray<D>;
    /** The least element. */
    min(reduction?: Reduction): NDArray<D>;
    /** True if any element is. */
    any(reduction?: Reduction): NDArray<"bool">;
    /** True if all elements are. */
    all(reduction?: Reduction): NDArray<"bool">;
    /** The variance. */
    var(options?: Axis | SpreadOptions | null): NDArray<FloatOf<this>>;
    /** The standard deviation. */
    std(options?: Axis | SpreadOptions | null): NDArray<FloatOf<this>>;
    /** The position of the first greatest element. */
    argmax(options?: number | ArgOptions | null): NDArray<"int32">;
    /** The position of the first least element. */
    argmin(options?: number | ArgOptions | null): NDArray<"int32">;
    /** The sum of the diagonal. */
    trace(offset?: number): NDArray;

    /** The same elements in another shape, given as a list or as extents; one may be −1. */
    reshape(...shape: readonly number[] | readonly [Shape]): NDArray<D>;
    /** All elements as a vector. */
    ravel(): NDArray<D>;
    /** All elements as a vector. */
    flatten(): NDArray<D>;
    /** Permutes the axes, given as a list or one by one; without them, reverses their order. */
    transpose(...axes: readonly number[] | readonly [readonly number[]]): NDArray<D>;
    /** Exchanges two axes. */
    swapaxes(first: number, second: number): NDArray<D>;
    /** Drops axes of extent 1. */
    squeeze(axis?: number | readonly number[]): NDArray<D>;
    /** Inserts axes of extent 1. */
    expandDims(axis: number | readonly number[]): NDArray<D>;
    /** Repeats along new axes and axes of extent 1. */
    broadcastTo(shape: number | Shape): NDArray<D>;
    /** Repeats each element. */
    repeat(repeats: number, axis?: number): NDArray<D>;
    /** Reverses the order along axes. */
    flip(axis?: number | readonly number[]): NDArray<D>;
    /** The diagonal. */
    diagonal(offset?: number): NDArray<D>;
    /** Cuts into parts. See `np.split`. */
    split(sections: number | readonly number[], axis?: number): NDArray[];

    /** Part of the array: one index for each axis. See `np.slice`. */
    slice(...indices: readonly Index[]): NDArray<D>;
    /** The elements at positions. */
    take(indices: ArrayInput, axis?: number | null): NDArray<D>;
    /** Part of the array, to be replaced in a copy: `x.at(0).set(1)`, `x.at([1, 3]).add(y)`. */
    at(...indices: readonly Index[]): Update<NDArray<D>>;
    /** The parts along the first axis. */
    [Symbol.iterator](): IterableIterator<NDArray<D>>;
  }
}

type FirstArgument = (x: NDArray, ...rest: never[]) => unknown;

/** Methods that are a function of `np` as it is. */
const plain: Readonly<Record<string, FirstArgument>> = {
  astype: layout.astype,
  add: binary.add,
  sub: binary.subtract,
  subtract: binary.subtract,
  mul: binary.multiply,
  multiply: binary.multiply,
  div: binary.divide,
  divide: binary.divide,
  floorDivide: binary.floorDivide,
  mod: binary.remainder,
  pow: binary.power,
  power: binary.power,
  maximum: binary.maximum,
  minimum: binary.minimum,
  clip: binary.clip,
  dot: product.dot,
  matmul: product.matmul,
  outer: product.outer,
  equal: binary.equal,
  notEqual: binary.notEqual,
  less: binary.less,
  lessEqual: binary.lessEqual,
  greater: binary.greater,
  greaterEqual: binary.greaterEqual,
  logicalAnd: binary.logicalAnd,
  logicalOr: binary.logicalOr,
  logicalNot: unary.logicalNot,
  neg: unary.negative,
  abs: unary.abs,
  sign: unary.sign,
  square: unary.square,
  reciprocal: unary.reciprocal,
  floor: unary.floor,
  ceil: unary.ceil,
  round: unary.round,
  sqrt: unary.sqrt,
  exp: unary.exp,
  expm1: unary.expm1,
  log: unary.log,
  log1p: unary.log1p,
  sin: unary.sin,
  cos: unary.cos,
  tan: unary.tan,
  atan: unary.atan,
  sinh: unary.sinh,
  cosh: unary.cosh,
  tanh: unary.tanh,
  sum: reduction.sum,
  prod: reduction.prod,
  mean: reduction.mean,
  max: reduction.max,
  min: reduction.min,
  any: reduction.any,
  all: reduction.all,
  var: reduction.variance,
  std: reduction.std,
  argmax: reduction.argmax,
  argmin: reduction.argmin,
  trace: product.trace,
  ravel: layout.ravel,
  flatten: layout.ravel,
  swapaxes: layout.swapaxes,
  squeeze: layout.squeeze,
  expandDims: layout.expandDims,
  broadcastTo: layout.broadcastTo,
  repeat: layout.repeat,
  flip: layout.flip,
  diagonal,
  split,
  slice,
  take,
};

type Extents = readonly number[] | readonly [readonly number[]];

/** `(2, 3)` and `([2, 3])` alike. */
function listOf(extents: Extents): readonly number[] {
  const [first] = extents;
  return typeof first === "object" ? first : (extents as readonly number[]);
}

function define(name: string | symbol, value: (this: NDArray, ...rest: never[]) => unknown): void {
  Object.defineProperty(NDArray.prototype, name, { value, writable: true, configurable: true });
}

function defineGetter(name: string, get: (this: NDArray) => unknown): void {
  Object.defineProperty(NDArray.prototype, name, { get, configurable: true });
}

for (const [name, method] of Object.entries(plain)) {
  define(name, function (...rest) {
    return method(this, ...rest);
  });
}

define("reshape", function (...shape: Extents) {
  return layout.reshape(this, listOf(shape));
});
define("transpose", function (...axes: Extents) {
  return layout.transpose(this, axes.length === 0 ? undefined : listOf(axes));
});
define("at", function (...indices: readonly Index[]) {
  return updateAt(this, indices);
});
define(Symbol.iterator, function () {
  return unstack(this)[Symbol.iterator]();
});
defineGetter("T", function () {
  return layout.transpose(this);
});
defineGetter("mT", function () {
  return layout.matrixTranspose(this);
});
