/**
 * A Jacobian from function values alone. Steps follow the size of each variable (a step of `max(1, |x|)`, common
 * elsewhere, loses every digit of a variable near 1e-6). Every evaluation gets its own `x`, so that asynchronous
 * functions may run at the same time.
 */
import { entry } from "./entry.js";
import type { MaybePromise } from "./problem.js";

/** Forward differences, or central ones at twice the price and about the square of the accuracy. */
export type DifferenceScheme = "2-point" | "3-point";

/** A residual function whose results are never changed afterwards. */
export type Residual = (x: Float64Array) => MaybePromise<Float64Array>;

const relativeStep: Readonly<Record<DifferenceScheme, number>> = {
  "2-point": Number.EPSILON ** (1 / 2),
  "3-point": Number.EPSILON ** (1 / 3),
};

/** To which part of itself an entry of a difference Jacobian is right, about. */
export const differenceAccuracy: Readonly<Record<DifferenceScheme, number>> = {
  "2-point": Number.EPSILON ** (1 / 2),
  "3-point": Number.EPSILON ** (2 / 3),
};

/** A variable that has shrunk to nothing is stepped as if it still had this part of its typical size. */
const smallestPart = 1e-3;

/**
 * The Jacobian of `fun` at `x`, row-major `[m, n]`; `residual` is `fun(x)`, and `typical` the size of each variable
 * where `x` itself tells nothing, because it is near zero.
 */
export async function differenceJacobian(
  fun: Residual,
  x: Float64Array,
  residual: Float64Array,
  scheme: DifferenceScheme,
  typical: Float64Array,
): Promise<Float64Array> {
  const n = x.length;
  const m = residual.length;
  const jacobian = new Float64Array(m * n);
  await Promise.all(
    Array.from({ length: n }, async (_, j) => {
      const value = entry(x, j);
      const size = Math.max(Math.abs(value), smallestPart * entry(typical, j));
      const step = (value < 0 ? -1 : 1) * relativeStep[scheme] * size;
      const ahead = moved(x, j, value + step);
      const behind = scheme === "2-point" ? undefined : moved(x, j, value - step);
      // The distance as it was rounded, not as it was meant; now, because the points belong to the function from here.
      const distance = entry(ahead, j) - (behind === undefined ? value : entry(behind, j));
      // The calls come before the await: an asynchronous function starts on all its points at once.
      const [high, low] = await Promise.all([
        call(fun, ahead),
        behind === undefined ? residual : call(fun, behind),
      ]);
      for (let i = 0; i < m; i++) {
        jacobian[i * n + j] = (entry(high, i) - entry(low, i)) / distance;
      }
    }),
  );
  return jacobian;
}

/** A call whose every failure, thrown or rejected, is a rejection, so that none goes unheard. */
async function call(fun: Residual, x: Float64Array): Promise<Float64Array> {
  return fun(x);
}

function moved(x: Float64Array, j: number, value: number): Float64Array {
  const copy = x.slice();
  copy[j] = value;
  return copy;
}
