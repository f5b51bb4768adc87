/**
 * A Jacobian from function values alone. Steps follow the size of each variable (a step of `max(1, |x|)`, common
 * elsewhere, loses every digit of a variable near 1e-6). Every evaluation gets its own `x`, so that asynchronous
 * functions may run at the same time.
 */
import { entry } from "./entry.js";
import type { MaybePromise } from "./problem.js";
import { isPromiseLike } from "./problem.js";

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
 * where `x` itself tells nothing, because it is near zero. It is there at once if `fun` answers at once; an asynchronous
 * function starts on all its points before the first is waited for.
 */
export function differenceJacobian(
  fun: Residual,
  x: Float64Array,
  residual: Float64Array,
  scheme: DifferenceScheme,
  typical: Float64Array,
): MaybePromise<Float64Array> {
  const begun: MaybePromise<Float64Array>[] = [];
  const call = (point: Float64Array): MaybePromise<Float64Array> => {
    try {
      const value = fun(point);
      begun.push(value);
      return value;
    } catch (error) {
      // What those under way may reject with goes unheard: this error is the one.
      for (const one of begun) Promise.resolve(one).catch(() => {});
      throw error;
    }
  };
  const columns = Array.from(x, (value, j) => {
    const size = Math.max(Math.abs(value), smallestPart * entry(typical, j));
    const step = (value < 0 ? -1 : 1) * relativeStep[scheme] * size;
    const ahead = moved(x, j, value + step);
    const behind = scheme === "2-point" ? undefined : moved(x, j, value - step);
    // The distance as it was rounded, not as it was meant; now, because the points belong to the function from here.
    const distance = entry(ahead, j) - (behind === undefined ? value : entry(behind, j));
    return { distance, high: call(ahead), low: behind === undefined ? residual : call(behind) };
  });
  const jacobian = new Float64Array(residual.length * x.length);
  const fill = (j: number, high: Float64Array, low: Float64Array, distance: number): void => {
    for (let i = 0; i < residual.length; i++) {
      jacobian[i * x.length + j] = (entry(high, i) - entry(low, i)) / distance;
    }
  };
  if (columns.some(({ high, low }) => isPromiseLike(high) || isPromiseLike(low))) {
    return Promise.all(
      columns.map(async ({ distance, high, low }, j) => {
        const [above, below] = await Promise.all([high, low]);
        fill(j, above, below, distance);
      }),
    ).then(() => jacobian);
  }
  columns.forEach(({ distance, high, low }, j) => {
    // None of them is promised, by the test above.
    fill(j, high as Float64Array, low as Float64Array, distance);
  });
  return jacobian;
}

function moved(x: Float64Array, j: number, value: number): Float64Array {
  const copy = x.slice();
  copy[j] = value;
  return copy;
}
