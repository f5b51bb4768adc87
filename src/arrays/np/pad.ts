/**
 * Adding elements around an array.
 */
import { at } from "../../base/at.js";
import { ArgumentError, ShapeError } from "../../base/errors.js";
import { formatShape } from "../../base/shape.js";
import { apply, bind } from "../bind.js";
import type { ArrayInput, StrongOf } from "../input.js";
import { broadcastInto, convertTo, toArray } from "../input.js";
import type { NDArray } from "../ndarray.js";
import { filled } from "../ndarray.js";
import { take } from "./indexing.js";

/** How much to add: everywhere the same, `[before, after]` on each axis, or such a pair for each axis. */
export type PadWidth = number | readonly [number, number] | readonly (readonly [number, number])[];

/** What to add. */
export type PadMode = "constant" | "edge" | "reflect" | "symmetric" | "wrap";

function widthsOf(width: PadWidth, rank: number): [number, number][] {
  const pairs = Array.from({ length: rank }, (_, axis): [number, number] => {
    if (typeof width === "number") return [width, width];
    const own = typeof width[0] === "number" ? width : width[width.length === 1 ? 0 : axis];
    const [before, after] = Array.isArray(own) ? (own as readonly unknown[]) : [];
    return [Number(before), Number(after)];
  });
  const perAxis = typeof width !== "number" && typeof width[0] !== "number";
  const counted = !perAxis || width.length === 1 || width.length === rank;
  if (!counted || pairs.some((pair) => pair.some((each) => !Number.isInteger(each) || each < 0))) {
    throw new ArgumentError({
      operation: "pad",
      argument: "width",
      found: JSON.stringify(width),
      expected: `an integer that is not negative, [before, after], or such a pair for each of ${rank} axes`,
    });
  }
  return pairs;
}

/** The position that an element outside (before or behind) copies. */
function sourceOf(mode: Exclude<PadMode, "constant">, position: number, extent: number): number {
  const wrap = (value: number, period: number): number => ((value % period) + period) % period;
  switch (mode) {
    case "edge":
      return Math.max(0, Math.min(extent - 1, position));
    case "wrap":
      return wrap(position, extent);
    case "symmetric": {
      const folded = wrap(position, 2 * extent);
      return folded < extent ? folded : 2 * extent - 1 - folded;
    }
    case "reflect": {
      if (extent === 1) return 0;
      const folded = wrap(position, 2 * extent - 2);
      return folded < extent ? folded : 2 * extent - 2 - folded;
    }
  }
}

/**
 * The array with elements added before and after each axis: a constant (0 unless `value` is given), the edge element, or
 * the array's own elements reflected (without or with the edge) or wrapped. Throws `ShapeError` if there is nothing to copy.
 */
export function pad<A extends ArrayInput>(
  x: A,
  width: PadWidth,
  options: { readonly mode?: PadMode; readonly value?: ArrayInput } = {},
): NDArray<StrongOf<A>> {
  const array: NDArray = toArray("pad", "x", x);
  const pairs = widthsOf(width, array.ndim);
  const { mode = "constant", value = 0 } = options;
  // All branches keep the dtype.
  if (mode === "constant") return padConstant(array, pairs, value) as NDArray<StrongOf<A>>;
  return pairs.reduce<NDArray>((result, [before, after], axis) => {
    if (before === 0 && after === 0) return result;
    const extent = at(array.shape, axis);
    if (extent === 0) {
      throw new ShapeError({
        operation: "pad",
        argument: "x",
        found: formatShape(array.shape),
        expected: `an element along axis ${axis} to copy`,
      });
    }
    const positions = Int32Array.from({ length: before + extent + after }, (_, i) =>
      sourceOf(mode, i - before, extent),
    );
    return take(result, positions, axis);
  }, array) as NDArray<StrongOf<A>>;
}

function padConstant(x: NDArray, pairs: readonly (readonly [number, number])[], value: ArrayInput): NDArray {
  const params = {
    low: pairs.map(([before]) => before),
    high: pairs.map(([, after]) => after),
    interior: pairs.map(() => 0),
  };
  const padded = bind("pad", [x], params);
  if (value === 0) return padded;
  const inside = bind("pad", [filled("bool", x.shape, 1)], params);
  const given: NDArray = toArray("pad", "value", value);
  return apply("select", inside, padded, broadcastInto("pad", convertTo(given, x.dtype), padded.shape));
}
