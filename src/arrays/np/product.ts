/**
 * Products of vectors, matrices and tensors: all of them are contractions.
 */
import { at } from "../../base/at.js";
import { ArgumentError, ShapeError } from "../../base/errors.js";
import { broadcastShapes, formatShape, normalizeAxis } from "../../base/shape.js";
import type { ArrayInput } from "../input.js";
import { reshapeTo, toArray } from "../input.js";
import type { NDArray } from "../ndarray.js";
import type { Promoted } from "../promote.js";
import { unify } from "../promote.js";
import { multiply, subtract } from "./binary.js";
import { diagonal } from "./creation.js";
import { contractPair } from "./einsum.js";
import { moveaxis, ravel, roll } from "./layout.js";
import { sum } from "./reduction.js";

function both(operation: string, a: ArrayInput, b: ArrayInput): [NDArray, NDArray] {
  const arrays = unify(operation, ["a", "b"], [a, b], "number");
  return [at(arrays, 0), at(arrays, 1)];
}

const named = (prefix: string, length: number): string[] => Array.from({ length }, (_, i) => `${prefix}${i}`);

/** Contracts axes of a with axes of b; the result has the others, those of a first. */
function contractAxes(
  operation: string,
  a: NDArray,
  b: NDArray,
  pairs: readonly (readonly [number, number])[],
): NDArray {
  const namesA = named("a", a.ndim);
  const namesB = named("b", b.ndim);
  for (const [i, j] of pairs) {
    const [n, m] = [at(a.shape, i), at(b.shape, j)];
    if (n !== m) {
      throw new ShapeError({
        operation,
        found: `contracted axis is ${n} in a ${formatShape(a.shape)} but ${m} in b ${formatShape(b.shape)}`,
        expected: "equal extents",
        remedy: "transpose one of them",
      });
    }
    namesB[j] = at(namesA, i);
  }
  const summed = new Set(pairs.map(([i]) => at(namesA, i)));
  const wanted = [...namesA, ...namesB].filter((name) => !summed.has(name));
  return contractPair(operation, { x: a, names: namesA }, { x: b, names: namesB }, wanted).x;
}

/**
 * The product of vectors and matrices: sums over the last axis of a and the second last (or only) axis of b. With a
 * scalar, multiplication. Throws `ShapeError` if these extents differ.
 */
export function dot<A extends ArrayInput, B extends ArrayInput>(a: A, b: B): NDArray<Promoted<A, B>> {
  const [x, y] = both("dot", a, b);
  const result =
    x.ndim === 0 || y.ndim === 0
      ? multiply(x, y)
      : contractAxes("dot", x, y, [[x.ndim - 1, Math.max(0, y.ndim - 2)]]);
  // Operands were promoted, and products keep their dtype.
  return result as NDArray<Promoted<A, B>>;
}

/**
 * The matrix product over the last two axes, for all positions of the leading ones, which broadcast. A vector counts as
 * a row on the left and as a column on the right. Throws `ShapeError` on scalars and where extents do not fit.
 */
export function matmul<A extends ArrayInput, B extends ArrayInput>(a: A, b: B): NDArray<Promoted<A, B>> {
  const [x, y] = both("matmul", a, b);
  if (x.ndim === 0 || y.ndim === 0) {
    throw new ShapeError({
      operation: "matmul",
      argument: x.ndim === 0 ? "a" : "b",
      found: "a scalar",
      expected: "at least one axis",
      remedy: "use multiply",
    });
  }
  const inner = at(x.shape, x.ndim - 1);
  const outer = at(y.shape, Math.max(0, y.ndim - 2));
  if (inner !== outer) {
    throw new ShapeError({
      operation: "matmul",
      found: `contracted axis is ${inner} in a ${formatShape(x.shape)} but ${outer} in b ${formatShape(y.shape)}`,
      expected: "equal extents",
      remedy: "transpose one of them",
    });
  }
  const [batchX, batchY] = [Math.max(0, x.ndim - 2), Math.max(0, y.ndim - 2)];
  broadcastShapes("matmul", x.shape.slice(0, batchX), y.shape.slice(0, batchY));
  const rank = Math.max(batchX, batchY);
  const batch = named("n", rank);
  const namesX = [...batch.slice(rank - batchX), ...(x.ndim === 1 ? ["k"] : ["i", "k"])];
  const namesY = [...batch.slice(rank - batchY), ...(y.ndim === 1 ? ["k"] : ["k", "j"])];
  const wanted = [...batch, ...(x.ndim === 1 ? [] : ["i"]), ...(y.ndim === 1 ? [] : ["j"])];
  const result = contractPair("matmul", { x, names: namesX }, { x: y, names: namesY }, wanted);
  return result.x as NDArray<Promoted<A, B>>;
}

/** The sum over the last axes of both. */
export function inner<A extends ArrayInput, B extends ArrayInput>(a: A, b: B): NDArray<Promoted<A, B>> {
  const [x, y] = both("inner", a, b);
  const result =
    x.ndim === 0 || y.ndim === 0 ? multiply(x, y) : contractAxes("inner", x, y, [[x.ndim - 1, y.ndim - 1]]);
  return result as NDArray<Promoted<A, B>>;
}

/** All products of an element of a with one of b: a matrix of both sizes. */
export function outer<A extends ArrayInput, B extends ArrayInput>(a: A, b: B): NDArray<Promoted<A, B>> {
  const [x, y] = both("outer", a, b);
  return contractAxes("outer", ravel(x), ravel(y), []) as NDArray<Promoted<A, B>>;
}

/** The scalar product of all elements. Throws `ShapeError` if the sizes differ. */
export function vdot<A extends ArrayInput, B extends ArrayInput>(a: A, b: B): NDArray<Promoted<A, B>> {
  const [x, y] = both("vdot", a, b);
  return contractAxes("vdot", ravel(x), ravel(y), [[0, 0]]) as NDArray<Promoted<A, B>>;
}

/** Scalar products along one axis (the last, unless given), for all positions of the others, which broadcast. */
export function vecdot(a: ArrayInput, b: ArrayInput, axis = -1): NDArray {
  const [x, y] = both("vecdot", a, b);
  const lastX = moveaxis(x, axis, -1);
  const lastY = moveaxis(y, axis, -1);
  const [n, m] = [at(lastX.shape, x.ndim - 1), at(lastY.shape, y.ndim - 1)];
  if (n !== m) {
    throw new ShapeError({
      operation: "vecdot",
      found: `axis ${axis} is ${n} in a ${formatShape(x.shape)} but ${m} in b ${formatShape(y.shape)}`,
      expected: "equal extents",
    });
  }
  broadcastShapes("vecdot", lastX.shape, lastY.shape);
  const rank = Math.max(x.ndim, y.ndim);
  const names = named("n", rank);
  const [left, right] = [
    { x: lastX, names: names.slice(rank - x.ndim) },
    { x: lastY, names: names.slice(rank - y.ndim) },
  ];
  return contractPair("vecdot", left, right, names.slice(0, -1)).x;
}

/**
 * Sums over pairs of axes: over the last `axes` axes of a and the first of b (2 unless given), or over the axes that two
 * lists name.
 */
export function tensordot(
  a: ArrayInput,
  b: ArrayInput,
  axes: number | readonly [number | readonly number[], number | readonly number[]] = 2,
): NDArray {
  const [x, y] = both("tensordot", a, b);
  const count = (length: number): number[] => Array.from({ length }, (_, i) => i);
  const list = (value: number | readonly number[]): readonly number[] =>
    typeof value === "number" ? [value] : value;
  if (typeof axes === "number" && !(axes >= 0 && axes <= Math.min(x.ndim, y.ndim))) {
    throw new ArgumentError({
      operation: "tensordot",
      argument: "axes",
      found: String(axes),
      expected: `0 to ${Math.min(x.ndim, y.ndim)}, the number of axes of both`,
    });
  }
  const [left, right] =
    typeof axes === "number"
      ? [count(axes).map((i) => x.ndim - axes + i), count(axes)]
      : [list(axes[0]), list(axes[1])];
  if (
    left.length !== right.length ||
    new Set(left).size !== left.length ||
    new Set(right).size !== right.length
  ) {
    throw new ArgumentError({
      operation: "tensordot",
      argument: "axes",
      found: `${formatShape(left)} and ${formatShape(right)}`,
      expected: "as many distinct axes of a as of b",
    });
  }
  const pairs = left.map((axis, i): [number, number] => [
    normalizeAxis("tensordot", axis, x.ndim),
    normalizeAxis("tensordot", at(right, i), y.ndim),
  ]);
  return contractAxes("tensordot", x, y, pairs);
}

/** The Kronecker product of two matrices or vectors of equal rank. */
export function kron(a: ArrayInput, b: ArrayInput): NDArray {
  const [left, right] = both("kron", a, b);
  const rank = Math.max(left.ndim, right.ndim);
  const pad = (x: NDArray): NDArray =>
    reshapeTo(x, [...new Array<number>(rank - x.ndim).fill(1), ...x.shape]);
  const [x, y] = [pad(left), pad(right)];
  const namesX = named("a", rank);
  const namesY = named("b", rank);
  const wanted = namesX.flatMap((name, i) => [name, at(namesY, i)]);
  const product = contractPair("kron", { x, names: namesX }, { x: y, names: namesY }, wanted).x;
  return reshapeTo(
    product,
    x.shape.map((extent, axis) => extent * at(y.shape, axis)),
  );
}

/** The sum of the diagonal where column = row + offset. */
export function trace(x: ArrayInput, offset = 0): NDArray {
  return sum(diagonal(toArray("trace", "x", x), offset), -1);
}

/** The vector product along the last axis, of extent 3. */
export function cross(a: ArrayInput, b: ArrayInput): NDArray {
  const [x, y] = both("cross", a, b);
  for (const [name, value] of [
    ["a", x],
    ["b", y],
  ] as const) {
    if (value.shape[value.ndim - 1] !== 3) {
      throw new ShapeError({
        operation: "cross",
        argument: name,
        found: formatShape(value.shape),
        expected: "extent 3 along the last axis",
      });
    }
  }
  const previous = multiply(roll(x, 1, -1), roll(y, -1, -1));
  return subtract(multiply(roll(x, -1, -1), roll(y, 1, -1)), previous);
}
