/**
 * Arrays that differ from another one in part of their elements: `x.at(...).set(v)` and its kin. Arrays are immutable, so
 * these return new ones.
 */
import { at } from "../../base/at.js";
import { ArgumentError } from "../../base/errors.js";
import { apply, bind } from "../bind.js";
import type { ArrayInput } from "../input.js";
import { broadcastInto, convertTo, reshapeTo, toArray } from "../input.js";
import type { NDArray } from "../ndarray.js";
import { filled, fromData } from "../ndarray.js";
import type { AxisIndex, Index } from "./indexing.js";
import { readAxes, resolveIndices, sliceParams } from "./indexing.js";
import { flip } from "./layout.js";

/** How a new value meets the old one. */
type Combine = "set" | "add" | "mul" | "min" | "max";

/** The elements of an array that `x.at(...)` names, ready to be replaced in a new array. */
export interface Update<X extends NDArray = NDArray> {
  /** The array with these elements replaced. Of several values for one element, the last counts. */
  set(value: ArrayInput): X;
  /** The array with these elements increased. Several values for one element all count. */
  add(value: ArrayInput): X;
  /** The array with these elements multiplied. */
  mul(value: ArrayInput): X;
  /** The array with these elements lowered to the value where it is less. */
  min(value: ArrayInput): X;
  /** The array with these elements raised to the value where it is greater. */
  max(value: ArrayInput): X;
}

/** Whether each element is named at most once whatever the data. */
function isSimple(resolved: readonly AxisIndex[]): boolean {
  return resolved.every((axis) => axis.kind !== "array");
}

/** Puts a value at the places of a basic index, zeros elsewhere: the transpose of reading them. */
function place(x: NDArray, resolved: readonly AxisIndex[], value: NDArray): NDArray {
  const own = resolved.filter(({ kind }) => kind !== "new");
  const bounds = own.map((axis) =>
    axis.kind === "range"
      ? axis.bounds
      : { start: axis.kind === "position" ? axis.position : 0, step: 1, extent: 1 },
  );
  const full = reshapeTo(
    value,
    bounds.map(({ extent }) => extent),
  );
  const reversed = bounds.map((_, axis) => axis).filter((axis) => at(bounds, axis).step < 0);
  const ordered = reversed.length === 0 ? full : flip(full, reversed);
  const { start, limit, step } = sliceParams(bounds);
  return bind("pad", [ordered], {
    low: start,
    high: limit.map((end, axis) => at(x.shape, axis) - end),
    interior: step.map((by) => by - 1),
  });
}

function updateSimple(x: NDArray, resolved: readonly AxisIndex[], value: NDArray, how: Combine): NDArray {
  const placed = place(x, resolved, value);
  if (how === "add" && x.dtype !== "bool") return apply("add", x, placed);
  const mask = place(x, resolved, filled("bool", value.shape, 1));
  const next = how === "set" ? placed : apply(how === "add" ? "or" : how, x, placed);
  return apply("select", mask, next, x);
}

/** Splits updates into rounds, in each of which no element is named twice; later values stand in later rounds. */
function rounds(positions: readonly number[]): number[][] {
  const seen = new Map<number, number>();
  const result: number[][] = [];
  positions.forEach((position, i) => {
    const round = seen.get(position) ?? 0;
    seen.set(position, round + 1);
    (result[round] ??= []).push(i);
  });
  return result;
}

function readVector(x: NDArray, positions: NDArray): NDArray {
  return bind("gather", [x, positions], { axis: 0 });
}

/** Replaces elements of a vector at distinct positions. */
function replace(x: NDArray, positions: NDArray, value: NDArray): NDArray {
  if (x.dtype === "bool")
    return convertTo(replace(convertTo(x, "int32"), positions, convertTo(value, "int32")), "bool");
  const scatter = (base: NDArray, updates: NDArray): NDArray =>
    bind("scatterAdd", [base, positions, updates], { axis: 0 });
  const hits = scatter(filled("int32", x.shape, 0), filled("int32", value.shape, 1));
  const mask = apply("notEqual", hits, filled("int32", x.shape, 0));
  return apply("select", mask, scatter(filled(x.dtype, x.shape, 0), value), x);
}

function updateArrays(x: NDArray, resolved: readonly AxisIndex[], value: NDArray, how: Combine): NDArray {
  const flat = reshapeTo(x, [x.size]);
  const numbered = reshapeTo(bind("iota", [], { dtype: "int32", shape: [x.size], axis: 0 }), x.shape);
  const read = readAxes(numbered, resolved);
  const positions = reshapeTo(read, [read.size]);
  const values = reshapeTo(value, [value.size]);
  if (how === "add" && x.dtype !== "bool") {
    return reshapeTo(bind("scatterAdd", [flat, positions, values], { axis: 0 }), x.shape);
  }
  const combine = (old: NDArray, next: NDArray): NDArray =>
    how === "set"
      ? next
      : apply(how === "add" ? "or" : how === "mul" && x.dtype === "bool" ? "and" : how, old, next);
  const single = positions.size === 1;
  if (positions.traced && !single) {
    throw new ArgumentError({
      operation: `at(...).${how}`,
      argument: "indices",
      found: "a traced array of positions, which may name an element twice",
      expected: "concrete positions, one traced position, or .add",
    });
  }
  if (single) {
    return reshapeTo(replace(flat, positions, combine(readVector(flat, positions), values)), x.shape);
  }
  const list = Array.from(positions.data);
  let result = flat;
  for (const round of rounds(list)) {
    const which = fromData("int32", [round.length], Int32Array.from(round));
    const here = fromData(
      "int32",
      [round.length],
      Int32Array.from(round, (i) => at(list, i)),
    );
    result = replace(result, here, combine(readVector(result, here), readVector(values, which)));
  }
  return reshapeTo(result, x.shape);
}

/** The elements that the indices name (see `slice`), for `.set`, `.add`, `.mul`, `.min` and `.max`. */
export function updateAt<X extends NDArray>(x: X, indices: readonly Index[]): Update<X> {
  const resolved = resolveIndices(x, indices);
  const update =
    (how: Combine) =>
    (input: ArrayInput): X => {
      const { shape } = readAxes(filled("bool", x.shape, 0), resolved);
      const given: NDArray = toArray(`at(...).${how}`, "value", input);
      const value = broadcastInto(`at(...).${how}`, convertTo(given, x.dtype), shape);
      // An update keeps the dtype.
      return (isSimple(resolved) ? updateSimple : updateArrays)(x, resolved, value, how) as X;
    };
  return {
    set: update("set"),
    add: update("add"),
    mul: update("mul"),
    min: update("min"),
    max: update("max"),
  };
}
