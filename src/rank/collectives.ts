/**
 * What each collective computes, in its plainest form: every member reads all inputs from the shared heap, in the order
 * of the group, and works out its own result. The order is fixed, so the bits do not depend on who arrives first.
 */
import { at } from "../base/at.js";
import type { Storage } from "../base/dtype.js";
import { coerce, itemSize, viewOf } from "../base/dtype.js";
import { sizeOf } from "../base/shape.js";
import { copyBox, denseSide, windowSide } from "../heap/box.js";
import type { BufferType, CollectiveInstruction, Reduction } from "../plan/plan.js";

const combine: Readonly<Record<Reduction, (a: number, b: number) => number>> = {
  add: (a, b) => a + b,
  mul: (a, b) => a * b,
  max: Math.max,
  min: Math.min,
};

/** What a member needs to know. */
export interface CollectiveContext {
  readonly instruction: CollectiveInstruction;
  readonly members: readonly number[];
  /** This rank's position among the members. */
  readonly self: number;
  readonly input: BufferType;
  readonly output: BufferType;
}

/** The bytes of all members' inputs, in order, to the bytes of this member's output. */
export function computeCollective(
  context: CollectiveContext,
  inputs: readonly Uint8Array[],
  out: Uint8Array,
): void {
  const { instruction, members, self, input, output } = context;
  const item = itemSize(input.dtype);
  switch (instruction.operation) {
    case "allReduce":
      reduceInto(input, inputs, instruction.reduce, out);
      return;
    case "reduceScatter": {
      const whole = new Uint8Array(at(inputs, 0).length);
      reduceInto(input, inputs, instruction.reduce, whole);
      const start = partStart(output, instruction.axis, self);
      const from = windowSide(whole, 0, input.shape, start, item);
      copyBox(denseSide(out, 0, output.shape, item), from, output.shape, item);
      return;
    }
    case "allGather":
      inputs.forEach((bytes, member) => {
        const start = partStart(input, instruction.axis, member);
        const to = windowSide(out, 0, output.shape, start, item);
        copyBox(to, denseSide(bytes, 0, input.shape, item), input.shape, item);
      });
      return;
    case "allToAll": {
      const { axis } = instruction;
      const part = input.shape.map((extent, i) => (i === axis ? extent / members.length : extent));
      const start = (member: number): number[] =>
        partStart({ dtype: input.dtype, shape: part }, axis, member);
      inputs.forEach((bytes, member) => {
        const from = windowSide(bytes, 0, input.shape, start(self), item);
        copyBox(windowSide(out, 0, output.shape, start(member), item), from, part, item);
      });
      return;
    }
    case "broadcast":
      out.set(at(inputs, members.indexOf(instruction.root)));
      return;
    case "permute": {
      const source = instruction.pairs.find(([, to]) => to === members[self]);
      if (source === undefined) out.fill(0);
      else out.set(at(inputs, members.indexOf(source[0])));
      return;
    }
  }
}

function partStart(part: BufferType, axis: number, member: number): number[] {
  return part.shape.map((extent, i) => (i === axis ? extent * member : 0));
}

function viewBytes(type: BufferType, bytes: Uint8Array): Storage {
  return viewOf(type.dtype, bytes.buffer, bytes.byteOffset, sizeOf(type.shape));
}

function reduceInto(
  type: BufferType,
  inputs: readonly Uint8Array[],
  reduction: Reduction,
  out: Uint8Array,
): void {
  const target = viewBytes(type, out);
  const combineTwo = combine[reduction];
  inputs.forEach((bytes, member) => {
    const view = viewBytes(type, bytes);
    for (let i = 0; i < target.length; i++) {
      const value = at(view, i);
      target[i] = member === 0 ? value : coerce(type.dtype, combineTwo(at(target, i), value));
    }
  });
}
