/**
 * Forward mode: a graph that computes, beside each result, its derivative along given tangents.
 */
import { at } from "../base/at.js";
import { isFloating } from "../base/dtype.js";
import { ArgumentError } from "../base/errors.js";
import type { Equation, Graph, ValueId } from "../ir/graph.js";
import { GraphBuilder, lookup } from "../primitives/builder.js";
import type { Tangent } from "../primitives/row.js";
import { zeroDerivative } from "../primitives/row.js";
import { rowOf } from "../primitives/table.js";

/** Refuses a mask that does not have one entry per input, or that marks an input which has no derivative. */
export function requireActive(operation: string, graph: Graph, active: readonly boolean[]): void {
  if (active.length !== graph.inputs.length) {
    throw new ArgumentError({
      operation,
      argument: "active",
      found: `${active.length} entries`,
      expected: `${graph.inputs.length}, one per input`,
    });
  }
  graph.inputs.forEach((id, position) => {
    const { dtype } = at(graph.avals, id);
    if (active[position] === true && !isFloating(dtype)) {
      throw new ArgumentError({
        operation,
        argument: `input ${position}`,
        found: dtype,
        expected: "float64 or float32, since only these have derivatives",
      });
    }
  });
}

/** Emits the tangent of an equation's result. */
function tangentOf(
  b: GraphBuilder,
  equation: Equation,
  primals: readonly ValueId[],
  tangents: readonly Tangent[],
  output: ValueId,
): Tangent {
  const { jvp } = rowOf(equation.op);
  if (jvp === zeroDerivative || tangents.every((tangent) => tangent === null)) return null;
  if (!isFloating(b.aval(output).dtype)) return null;
  const rule = jvp;
  return rule(b, { params: equation.params, primals, tangents, output });
}

/** The jvp in the builder's terms: results and their tangents, `null` for a symbolic zero. */
export function pushForward(
  b: GraphBuilder,
  graph: Graph,
  primals: readonly ValueId[],
  tangents: readonly Tangent[],
): { readonly outputs: readonly ValueId[]; readonly tangents: readonly Tangent[] } {
  const known = new Map<ValueId, ValueId>();
  const moving = new Map<ValueId, ValueId>();
  const define = (id: ValueId, image: ValueId, tangent: Tangent): void => {
    known.set(id, image);
    if (tangent !== null) moving.set(id, tangent);
  };
  graph.inputs.forEach((id, position) => {
    define(id, at(primals, position), tangents[position] ?? null);
  });
  for (const { id, data } of graph.constants) define(id, b.constant(at(graph.avals, id), data), null);
  for (const equation of graph.equations) {
    const operands = equation.inputs.map((id) => lookup(known, id));
    const output = b.emit(equation.op, operands, equation.params);
    const incoming = equation.inputs.map((id) => moving.get(id) ?? null);
    define(at(equation.outputs, 0), output, tangentOf(b, equation, operands, incoming, output));
  }
  return {
    outputs: graph.outputs.map((id) => lookup(known, id)),
    tangents: graph.outputs.map((id) => moving.get(id) ?? null),
  };
}

/**
 * The forward derivative of `graph` in its active inputs: inputs are the primals, then a tangent for each active input;
 * outputs are the results, then the tangent of each.
 */
export function jvpGraph(graph: Graph, active: readonly boolean[]): Graph {
  requireActive("jvp", graph, active);
  const b = new GraphBuilder();
  const primals = graph.inputs.map((id) => b.input(at(graph.avals, id)));
  const seeds = graph.inputs.map((id, position): Tangent =>
    active[position] === true ? b.input(at(graph.avals, id)) : null,
  );
  const { outputs, tangents } = pushForward(b, graph, primals, seeds);
  const dense = outputs.map((id, position) => tangents[position] ?? b.like(id, 0));
  return b.build([...outputs, ...dense]);
}
