/**
 * How the result of a primitive is cut along one of its axes: which axis of each operand is cut with it, which positions
 * a block reads there, and how the block is computed from them. Splitting a program over ranks is a loop over these rules.
 */
import { at } from "../base/at.js";
import type { DType } from "../base/dtype.js";
import type { Shape } from "../base/shape.js";
import type { Aval, ValueId } from "../ir/graph.js";
import type { Emitter } from "./emitter.js";

/** Neighbouring positions along one axis. */
export interface Run {
  readonly start: number;
  readonly extent: number;
}

/** Says that a block needs all of an operand. */
export const whole = "whole";

/** Says that an axis of a result has no blocks that parts of the operands suffice for. */
export const notCuttable = "notCuttable";

/** How a result is cut along one axis. */
export interface Sharding {
  /** For each operand, the axis that is cut with the result's. */
  readonly axes: readonly (number | typeof whole)[];
  /**
   * Blocks that start at multiples of this read whole grains of an operand and compute nothing twice, for operands whose
   * own grain is `of`. (Offsets, as those of slices, are left out of account: they cost time, not bits.)
   */
  readonly grain: (of: number) => number;
  /** The positions along its cut axis that a block reads of an operand; extent 0 if the block does not need it. */
  readonly reads: (operand: number, block: Run) => Run;
  /**
   * Emits a block, bit for bit what the whole result has there. `inputs` are the parts that `reads` asks for, or whole
   * operands; `origin` gives the block's start as an i32 scalar, so that blocks differ in values and not in equations.
   */
  readonly emit: (b: Emitter, block: Run, inputs: readonly ValueId[], origin: () => ValueId) => ValueId;
}

/** The sharding of a result along one axis. */
export type ShardingRule<P> = (rule: {
  readonly params: P;
  readonly inputs: readonly Aval[];
  readonly output: Aval;
  readonly axis: number;
}) => Sharding | typeof notCuttable;

/** The grain of a result that is aligned as its operands are. */
export const alike = (of: number): number => of;

/** The usual sharding: a block reads the same positions of every operand that is cut. */
export function cutAlike(axes: Sharding["axes"], emit: Sharding["emit"]): Sharding {
  return { axes, grain: alike, reads: (_operand, block) => block, emit };
}

/** A list with one entry replaced. */
export function withEntry(list: readonly number[], position: number, value: number): number[] {
  return list.map((entry, i) => (i === position ? value : entry));
}

/** Positions `run` of a value along an axis. */
export function sliceAlong(b: Emitter, id: ValueId, axis: number, { start, extent }: Run): ValueId {
  const shape = b.shape(id);
  if (start === 0 && extent === at(shape, axis)) return id;
  return b.emit("slice", [id], {
    start: shape.map((_, i) => (i === axis ? start : 0)),
    limit: withEntry(shape, axis, start + extent),
    step: shape.map(() => 1),
  });
}

/** Positions along an axis, as i32, counted from a scalar. */
export function positionsFrom(b: Emitter, shape: Shape, axis: number, origin: ValueId): ValueId {
  const dtype: DType = "int32";
  const counted = b.emit("iota", [], { dtype, shape, axis });
  return b.apply("add", counted, b.broadcast(origin, shape, []));
}

/** True where row = column, of a block of a square matrix that was cut along `axis`. */
export function diagonalMask(b: Emitter, shape: Shape, axis: number, origin: ValueId): ValueId {
  const cut = positionsFrom(b, shape, axis, origin);
  return b.apply("equal", cut, b.emit("iota", [], { dtype: "int32", shape, axis: 1 - axis }));
}
