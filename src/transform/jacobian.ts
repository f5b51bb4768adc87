/**
 * Jacobians as graphs. The seed is a symbolic identity, which simplification carries through the linear map, so that
 * structure (a linear function, a pointwise one, one that reads a part) is never multiplied out.
 */
import { at } from "../base/at.js";
import { isFloating } from "../base/dtype.js";
import { DerivativeError } from "../base/errors.js";
import { sizeOf } from "../base/shape.js";
import type { Aval, Graph, ValueId } from "../ir/graph.js";
import { GraphBuilder } from "../primitives/builder.js";
import { requireActive } from "./jvp.js";
import { linearizeGraph } from "./linearize.js";
import { transposeGraph } from "./transpose.js";
import { batchInto } from "./vmap.js";

function requireFloatOutputs(operation: string, graph: Graph): void {
  graph.outputs.forEach((id, position) => {
    const { dtype } = at(graph.avals, id);
    if (!isFloating(dtype)) {
      throw new DerivativeError({
        operation,
        argument: `output ${position}`,
        found: dtype,
        expected: "float64 or float32",
        remedy: "convert it, or return it through hasAux",
      });
    }
  });
}

/** One basis vector per element of a type, stacked along a new leading axis. */
function basis(b: GraphBuilder, { dtype, shape }: Aval): ValueId {
  const size = sizeOf(shape);
  return b.reshape(b.eye(dtype, size, size), [size, ...shape]);
}

/**
 * Forward-mode Jacobians: outputs are, for each output and within it for each active input, the derivative of shape
 * [...output shape, ...input shape].
 */
export function jacfwdGraph(graph: Graph, active: readonly boolean[]): Graph {
  requireActive("jacfwd", graph, active);
  requireFloatOutputs("jacfwd", graph);
  const b = new GraphBuilder();
  const primals = graph.inputs.map((id) => b.input(at(graph.avals, id)));
  const columns = graph.inputs.flatMap((id, position) => {
    if (active[position] !== true) return [];
    const aval = at(graph.avals, id);
    const { known, linear, residuals } = linearizeGraph(
      graph,
      active.map((_, other) => other === position),
    );
    const values = b.inline(known, primals).slice(graph.outputs.length);
    const marks = linear.inputs.map((_, other) => other >= residuals);
    const stacked = batchInto(b, linear, [...values, basis(b, aval)], marks, sizeOf(aval.shape));
    const blocks = stacked.map((block) => {
      const shape = b.shape(block);
      const last = b.transpose(block, [...shape.slice(1).map((_, axis) => axis + 1), 0]);
      return b.reshape(last, [...shape.slice(1), ...aval.shape]);
    });
    return [blocks];
  });
  return b.build(graph.outputs.flatMap((_, output) => columns.map((blocks) => at(blocks, output))));
}

/** Reverse-mode Jacobians, with the outputs of `jacfwdGraph`. */
export function jacrevGraph(graph: Graph, active: readonly boolean[]): Graph {
  requireActive("jacrev", graph, active);
  requireFloatOutputs("jacrev", graph);
  const b = new GraphBuilder();
  const primals = graph.inputs.map((id) => b.input(at(graph.avals, id)));
  const { known, linear, residuals } = linearizeGraph(graph, active);
  const values = b.inline(known, primals).slice(graph.outputs.length);
  const reversed = transposeGraph(linear, residuals);
  const results = graph.outputs.flatMap((id, output) => {
    const aval = at(graph.avals, id);
    const size = sizeOf(aval.shape);
    const seeds = graph.outputs.map((other, position) => {
      const { dtype, shape } = at(graph.avals, other);
      return position === output ? basis(b, aval) : b.fill(0, { dtype, shape: [size, ...shape] });
    });
    const marks = reversed.inputs.map((_, position) => position >= residuals);
    const rows = batchInto(b, reversed, [...values, ...seeds], marks, size);
    return rows.map((block) => b.reshape(block, [...aval.shape, ...b.shape(block).slice(1)]));
  });
  return b.build(results);
}
