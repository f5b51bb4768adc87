/**
 * Operations that only move elements, on concrete arrays: each is one or more copies between strided places.
 */
import { at } from "../base/at.js";
import type { Storage } from "../base/dtype.js";
import { allocate } from "../base/dtype.js";
import { sizeOf, stridesOf } from "../base/shape.js";
import type { Aval, OpName, OpParams } from "../ir/graph.js";
import type { HostArray } from "../primitives/row.js";

/** Elements in order, somewhere: the element at position p lies at offset + Σ p·strides. */
interface Place {
  readonly offset: number;
  readonly strides: readonly number[];
}

function copy(source: Storage, from: Place, target: Storage, to: Place, extents: readonly number[]): void {
  const last = extents.length - 1;
  if (last < 0) {
    target[to.offset] = at(source, from.offset);
    return;
  }
  const [extent, fromStep, toStep] = [at(extents, last), at(from.strides, last), at(to.strides, last)];
  const walk = (axis: number, read: number, write: number): void => {
    if (axis === last) {
      copyRow(source, read, fromStep, target, write, toStep, extent);
      return;
    }
    const [n, reads, writes] = [at(extents, axis), at(from.strides, axis), at(to.strides, axis)];
    for (let i = 0; i < n; i++) walk(axis + 1, read + i * reads, write + i * writes);
  };
  walk(0, from.offset, to.offset);
}

function copyRow(
  source: Storage,
  read: number,
  fromStep: number,
  target: Storage,
  write: number,
  toStep: number,
  extent: number,
): void {
  if (toStep === 1 && fromStep === 1 && extent > 16) {
    target.set(source.subarray(read, read + extent), write);
  } else if (toStep === 1 && fromStep === 0) {
    target.fill(at(source, read), write, write + extent);
  } else {
    for (let i = 0; i < extent; i++) target[write + i * toStep] = source[read + i * fromStep] ?? 0;
  }
}

const dense = (shape: readonly number[]): Place => ({ offset: 0, strides: stridesOf(shape) });

/** Where the elements of the result lie in the operand. */
function sourceOf<K extends OpName>(op: K, params: OpParams[K], x: Aval, output: Aval): Place | null {
  const strides = stridesOf(x.shape);
  if (op === "broadcast") {
    const { axes } = params as OpParams["broadcast"];
    const repeated = output.shape.map((_, axis) => {
      const own = axes.indexOf(axis);
      return own < 0 ? 0 : at(strides, own);
    });
    return { offset: 0, strides: repeated };
  }
  if (op === "transpose") {
    const { permutation } = params as OpParams["transpose"];
    return { offset: 0, strides: permutation.map((axis) => at(strides, axis)) };
  }
  if (op === "slice") {
    const { start, step } = params as OpParams["slice"];
    return {
      offset: start.reduce((sum, from, axis) => sum + from * at(strides, axis), 0),
      strides: strides.map((stride, axis) => stride * at(step, axis)),
    };
  }
  if (op === "reverse") {
    const { axes } = params as OpParams["reverse"];
    return {
      offset: axes.reduce((sum, axis) => sum + (at(x.shape, axis) - 1) * at(strides, axis), 0),
      strides: strides.map((stride, axis) => (axes.includes(axis) ? -stride : stride)),
    };
  }
  return null;
}

/** Where the elements of an operand lie in the result. */
function targetsOf<K extends OpName>(
  op: K,
  params: OpParams[K],
  inputs: readonly Aval[],
  output: Aval,
): Place[] | null {
  const strides = stridesOf(output.shape);
  if (op === "pad") {
    const { low, interior } = params as OpParams["pad"];
    const place = {
      offset: low.reduce((sum, width, axis) => sum + width * at(strides, axis), 0),
      strides: strides.map((stride, axis) => stride * (at(interior, axis) + 1)),
    };
    return [place];
  }
  if (op === "concatenate") {
    const { axis } = params as OpParams["concatenate"];
    let start = 0;
    return inputs.map(({ shape }) => {
      const place = { offset: start * at(strides, axis), strides };
      start += at(shape, axis);
      return place;
    });
  }
  return null;
}

function gather(x: HostArray, indices: HostArray, axis: number, target: Storage): void {
  const inner = sizeOf(x.shape.slice(axis + 1));
  const outer = sizeOf(x.shape.slice(0, axis));
  const last = at(x.shape, axis) - 1;
  let write = 0;
  for (let block = 0; block < outer; block++) {
    for (let i = 0; i < indices.data.length; i++) {
      const position = Math.max(0, Math.min(last, at(indices.data, i)));
      const read = (block * (last + 1) + position) * inner;
      copyRow(x.data, read, 1, target, write, 1, inner);
      write += inner;
    }
  }
}

/** Moves elements as the operation says, or answers `null` if it does more than that. */
export function move<K extends OpName>(
  op: K,
  params: OpParams[K],
  inputs: readonly HostArray[],
  output: Aval,
): Storage | null {
  const first = inputs[0];
  if (first === undefined) return null;
  if (op === "reshape" || op === "stopGradient") {
    // Arrays are immutable, so both may have the same elements; memory that is shared with others may change.
    return first.data.buffer instanceof ArrayBuffer ? first.data : first.data.slice();
  }
  const source = sourceOf(op, params, first, output);
  const targets = source === null ? targetsOf(op, params, inputs, output) : null;
  if (source === null && targets === null && op !== "gather") return null;
  const data: Storage = allocate(output.dtype, sizeOf(output.shape));
  if (data.length === 0) return data;
  if (source !== null) {
    copy(first.data, source, data, dense(output.shape), output.shape);
  } else if (targets !== null) {
    targets.forEach((target, i) => {
      const input = at(inputs, i);
      if (input.data.length > 0) copy(input.data, dense(input.shape), data, target, input.shape);
    });
  } else {
    gather(first, at(inputs, 1), (params as OpParams["gather"]).axis, data);
  }
  return data;
}
