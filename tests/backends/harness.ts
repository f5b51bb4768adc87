// Runs a graph on a backend in a memory of its own, with a canary around every array, and compares with the reference.
import { at } from "#heddle/base/at";
import type { DType, Storage } from "#heddle/base/dtype";
import { itemSize, viewOf } from "#heddle/base/dtype";
import { sizeOf, stridesOf } from "#heddle/base/shape";
import type { Backend, Placement } from "#heddle/ir/executable";
import type { Aval, Graph } from "#heddle/ir/graph";
import type { HostArray } from "#heddle/primitives/row";

export interface RunOptions {
  /** Strides of some outputs, by position. */
  readonly strides?: ReadonlyMap<number, readonly number[]>;
  /** Bytes between arrays. */
  readonly gap?: number;
}

const canary = 0xa5;

function spanOf(aval: Aval, strides: readonly number[]): number {
  if (sizeOf(aval.shape) === 0) return 0;
  return 1 + aval.shape.reduce((sum, extent, axis) => sum + (extent - 1) * at(strides, axis), 0);
}

/** The offsets, in elements, of an array's elements in row-major order. */
function offsetsOf(aval: Aval, strides: readonly number[]): number[] {
  const own = stridesOf(aval.shape);
  return Array.from({ length: sizeOf(aval.shape) }, (_, i) =>
    own.reduce(
      (sum, stride, axis) => sum + (Math.floor(i / stride) % at(aval.shape, axis)) * at(strides, axis),
      0,
    ),
  );
}

/** The outputs of one step. Throws if the step wrote outside its outputs and workspace. */
export function run(
  backend: Backend,
  graph: Graph,
  inputs: readonly HostArray[],
  options: RunOptions = {},
): HostArray[] {
  const executable = backend.compile(graph);
  const gap = options.gap ?? 64;
  let top = gap;
  const reserve = (bytes: number): number => {
    const offset = Math.ceil(top / 64) * 64;
    top = offset + bytes + gap;
    return offset;
  };
  const inputPlaces = inputs.map((input): Placement => ({
    offset: reserve(sizeOf(input.shape) * itemSize(input.dtype)),
  }));
  const avals = graph.outputs.map((id) => at(graph.avals, id));
  const outputPlaces = avals.map((aval, position): Placement => {
    const strides = options.strides?.get(position);
    const offset = reserve(spanOf(aval, strides ?? stridesOf(aval.shape)) * itemSize(aval.dtype));
    return strides === undefined ? { offset } : { offset, strides };
  });
  const workspace = reserve(executable.workspaceBytes);
  const memory = new WebAssembly.Memory({ initial: Math.ceil(top / 65536), maximum: 65536, shared: true });
  const bytes = new Uint8Array(memory.buffer);
  bytes.fill(canary);
  inputs.forEach((input, position) => {
    const place = at(inputPlaces, position);
    viewOf(input.dtype, memory.buffer, place.offset, input.data.length).set(input.data);
  });
  const before = bytes.slice();
  executable.bind(memory, { inputs: inputPlaces, outputs: outputPlaces, workspace })();
  const results = avals.map((aval, position): HostArray => {
    const { offset, strides } = at(outputPlaces, position);
    const own = strides ?? stridesOf(aval.shape);
    const view = viewOf(aval.dtype, memory.buffer, offset, spanOf(aval, own));
    const offsets = offsetsOf(aval, own);
    const data = allocateLike(
      aval.dtype,
      offsets.map((from) => at(view, from)),
    );
    const touched = new Uint8Array(memory.buffer, offset, view.byteLength);
    for (const to of offsets)
      touched.fill(canary, to * itemSize(aval.dtype), (to + 1) * itemSize(aval.dtype));
    return { ...aval, data };
  });
  bytes.fill(canary, workspace, workspace + executable.workspaceBytes);
  outputPlaces.forEach(({ offset, strides }, position) => {
    const aval = at(avals, position);
    const size = spanOf(aval, strides ?? stridesOf(aval.shape)) * itemSize(aval.dtype);
    for (let i = offset; i < offset + size; i++) {
      if (bytes[i] !== canary) throw new Error(`output ${position} was written between its elements`);
    }
  });
  for (let i = 0; i < bytes.length; i++) {
    if (bytes[i] !== before[i]) throw new Error(`byte ${i} was written outside of outputs and workspace`);
  }
  return results;
}

function allocateLike(dtype: DType, values: readonly number[]): Storage {
  const data = viewOf(dtype, new ArrayBuffer(values.length * itemSize(dtype)), 0, values.length);
  data.set(values);
  return data;
}

/** The first difference between two arrays, or `null`. With a tolerance of 0 bits must agree, NaN payloads aside. */
export function differenceOf(found: HostArray, expected: HostArray, tolerance: number): string | null {
  if (found.dtype !== expected.dtype || found.shape.join() !== expected.shape.join()) {
    return `type ${found.dtype}[${found.shape}] instead of ${expected.dtype}[${expected.shape}]`;
  }
  if (found.data.length !== expected.data.length) return `length ${found.data.length}`;
  let scale = 1;
  for (const value of expected.data) if (Number.isFinite(value)) scale = Math.max(scale, Math.abs(value));
  for (let i = 0; i < expected.data.length; i++) {
    const [a, b] = [at(found.data, i), at(expected.data, i)];
    if (Object.is(a, b)) continue;
    if (tolerance > 0 && Math.abs(a - b) <= tolerance * scale) continue;
    return `element ${i} of ${expected.dtype}[${expected.shape}] is ${Object.is(a, -0) ? "-0" : a} instead of ${Object.is(b, -0) ? "-0" : b}`;
  }
  return null;
}
