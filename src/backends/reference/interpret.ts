/**
 * The reference backend: each equation in turn, by the table's definitions. It is slow and readable, and what every other
 * backend is compared with.
 */
import { at } from "../../base/at.js";
import { allocate, itemSize, viewOf } from "../../base/dtype.js";
import { ArgumentError } from "../../base/errors.js";
import { sizeOf, stridesOf } from "../../base/shape.js";
import type { Backend, Placement } from "../../ir/executable.js";
import type { Aval, Graph, OpName, OpParams, ValueId } from "../../ir/graph.js";
import type { HostArray } from "../../primitives/row.js";
import { outputAval, rowOf } from "../../primitives/table.js";

/** Applies one primitive to concrete arrays. Throws `ShapeError` or `DTypeError`. */
export function applyReference<K extends OpName>(
  op: K,
  inputs: readonly HostArray[],
  params: OpParams[K],
): HostArray {
  const aval = outputAval(op, inputs, params);
  const out: HostArray = {
    dtype: aval.dtype,
    shape: aval.shape,
    data: allocate(aval.dtype, sizeOf(aval.shape)),
  };
  rowOf(op).reference(inputs, out, params);
  return out;
}

/** Runs a graph on concrete arrays. */
export function interpret(graph: Graph, inputs: readonly HostArray[]): HostArray[] {
  if (inputs.length !== graph.inputs.length) {
    throw new ArgumentError({
      operation: "interpret",
      found: `${inputs.length} arrays`,
      expected: `${graph.inputs.length}, the number of the graph's inputs`,
    });
  }
  const values = new Map<ValueId, HostArray>();
  graph.inputs.forEach((id, position) => values.set(id, at(inputs, position)));
  for (const { id, data } of graph.constants) {
    const { dtype, shape } = at(graph.avals, id);
    values.set(id, { dtype, shape, data: data.now });
  }
  const valueOf = (id: ValueId): HostArray => {
    const value = values.get(id);
    if (value === undefined)
      throw new ArgumentError({ operation: "interpret", found: `undefined value ${id}` });
    return value;
  };
  for (const { op, params, inputs: operands, outputs } of graph.equations) {
    values.set(at(outputs, 0), applyReference(op, operands.map(valueOf), params));
  }
  return graph.outputs.map(valueOf);
}

/** Copies a row-major array to a place with strides. */
function copyStrided(from: HostArray, to: HostArray, strides: readonly number[]): void {
  const own = stridesOf(from.shape);
  for (let i = 0; i < from.data.length; i++) {
    let offset = 0;
    own.forEach((stride, axis) => {
      offset += (Math.floor(i / stride) % at(from.shape, axis)) * at(strides, axis);
    });
    to.data[offset] = at(from.data, i);
  }
}

function viewPlace(memory: WebAssembly.Memory, aval: Aval, { offset, strides }: Placement): HostArray {
  const extent = strides === undefined ? sizeOf(aval.shape) : spanOf(aval.shape, strides);
  return { dtype: aval.dtype, shape: aval.shape, data: viewOf(aval.dtype, memory.buffer, offset, extent) };
}

/** Elements from the first to the last that a strided array touches. */
function spanOf(shape: readonly number[], strides: readonly number[]): number {
  if (sizeOf(shape) === 0) return 0;
  return 1 + shape.reduce((sum, extent, axis) => sum + (extent - 1) * at(strides, axis), 0);
}

/** The definition as a backend. It allocates as it goes, and needs no workspace. */
export const referenceBackend: Backend = {
  name: "reference",
  compile: (graph) => ({
    workspaceBytes: 0,
    kernels: graph.equations.map(({ op }) => op),
    bind: (memory, places) => () => {
      const inputs = graph.inputs.map((id, position) => {
        const view = viewPlace(memory, at(graph.avals, id), at(places.inputs, position));
        return { ...view, data: view.data.slice() };
      });
      interpret(graph, inputs).forEach((result, position) => {
        const place = at(places.outputs, position);
        const target = viewPlace(memory, result, place);
        if (place.strides === undefined) target.data.set(result.data);
        else copyStrided(result, target, place.strides);
      });
    },
  }),
};

/** Bytes of an array of a type. */
export function byteSize(aval: Aval): number {
  return sizeOf(aval.shape) * itemSize(aval.dtype);
}
