/**
 * Batching: a graph over arrays becomes a graph over stacks of them, one equation at a time.
 */
import { at } from "../base/at.js";
import { ArgumentError } from "../base/errors.js";
import type { Graph, ValueId } from "../ir/graph.js";
import { GraphBuilder, lookup } from "../primitives/builder.js";
import { rowOf } from "../primitives/table.js";

/**
 * `graph` over inputs of which the batched ones carry an axis of extent `size` in front. Every output does.
 */
export function vmapGraph(graph: Graph, batched: readonly boolean[], size: number): Graph {
  const b = new GraphBuilder();
  const inputs = graph.inputs.map((id, position) => {
    const { dtype, shape } = at(graph.avals, id);
    return b.input({ dtype, shape: batched[position] === true ? [size, ...shape] : shape });
  });
  return b.build(batchInto(b, graph, inputs, batched, size));
}

/** `vmapGraph` in the builder's terms. */
export function batchInto(
  b: GraphBuilder,
  graph: Graph,
  inputs: readonly ValueId[],
  batched: readonly boolean[],
  size: number,
): ValueId[] {
  if (inputs.length !== graph.inputs.length || batched.length !== inputs.length) {
    throw new ArgumentError({
      operation: "vmap",
      argument: "inputs",
      found: `${inputs.length} values and ${batched.length} marks`,
      expected: `${graph.inputs.length} of each`,
    });
  }
  const known = new Map<ValueId, ValueId>();
  const stacked = new Set<ValueId>();
  graph.inputs.forEach((id, position) => {
    known.set(id, at(inputs, position));
    if (batched[position] === true) stacked.add(id);
  });
  for (const { id, data } of graph.constants) known.set(id, b.constant(at(graph.avals, id), data));
  for (const equation of graph.equations) {
    const operands = equation.inputs.map((id) => lookup(known, id));
    const marks = equation.inputs.map((id) => stacked.has(id));
    const output = at(equation.outputs, 0);
    if (!marks.includes(true)) {
      known.set(output, b.emit(equation.op, operands, equation.params));
      continue;
    }
    const rule = rowOf(equation.op).batch;
    known.set(output, rule(b, { params: equation.params, inputs: operands, batched: marks, size }));
    stacked.add(output);
  }
  return graph.outputs.map((id) => {
    const image = lookup(known, id);
    const shape = b.shape(image);
    return stacked.has(id)
      ? image
      : b.broadcast(
          image,
          [size, ...shape],
          shape.map((_, axis) => axis + 1),
        );
  });
}
