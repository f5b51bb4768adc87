/**
 * Random arrays and one-equation graphs for the laws: one integer reproduces a failure.
 */
import { allocate, coerce, isFloating } from "#heddle/base/dtype";
import { sizeOf } from "#heddle/base/shape";
import type { Graph, OpName, OpParams } from "#heddle/ir/graph";
import { GraphBuilder } from "#heddle/primitives/builder";
import type { HostArray } from "#heddle/primitives/row";
import type { SampleOperand } from "./samples.js";

/** A small generator with a seed, so that one integer reproduces a failure. */
export function uniform(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
    return ((state ^ (state >>> 13)) >>> 0) / 4294967296;
  };
}

/** An array with values from an operand's interval, with further axes in front. */
export function draw(
  { dtype, shape, low, high }: SampleOperand,
  next: () => number,
  leading: readonly number[] = [],
): HostArray {
  const full = [...leading, ...shape];
  const data = allocate(dtype, sizeOf(full));
  for (let i = 0; i < data.length; i++) {
    const value = low + (high - low) * next();
    data[i] =
      dtype === "bool"
        ? Number(value >= (low + high) / 2)
        : coerce(dtype, isFloating(dtype) ? value : Math.floor(value));
  }
  return { dtype, shape: full, data };
}

/** The graph of one application of a primitive. */
export function graphOf<K extends OpName>(
  op: K,
  inputs: readonly SampleOperand[],
  params: OpParams[K],
): Graph {
  const b = new GraphBuilder();
  const ids = inputs.map(({ dtype, shape }) => b.input({ dtype, shape }));
  return b.build([b.emit(op, ids, params)]);
}
