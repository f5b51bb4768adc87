/**
 * Reverse mode: the transpose of a linear graph, and from it the vector-Jacobian product of any graph.
 */
import { at } from "../base/at.js";
import { DerivativeError } from "../base/errors.js";
import type { Equation, Graph, ValueId } from "../ir/graph.js";
import { GraphBuilder, lookup } from "../primitives/builder.js";
import type { Tangent } from "../primitives/row.js";
import { notLinear } from "../primitives/row.js";
import { addTangents } from "../primitives/tangent.js";
import { rowOf } from "../primitives/table.js";
import { dependents, linearizeGraph } from "./linearize.js";

function transposeEquation(
  b: GraphBuilder,
  graph: Graph,
  equation: Equation,
  linear: readonly boolean[],
  known: ReadonlyMap<ValueId, ValueId>,
  cotangent: ValueId,
): readonly Tangent[] {
  const { transpose } = rowOf(equation.op);
  if (transpose === notLinear) {
    throw new DerivativeError({
      operation: `transpose of ${equation.op}`,
      found: "a primitive that is not linear",
      remedy: "this is a fault in a derivative rule; please report it",
    });
  }
  const rule = transpose;
  return rule(b, {
    params: equation.params,
    cotangent,
    // A linear operand has no value here; the rule reads only its type.
    inputs: equation.inputs.map((id, position) => (linear[position] === true ? -1 : lookup(known, id))),
    linear,
    avals: equation.inputs.map((id) => at(graph.avals, id)),
  });
}

/**
 * Pulls cotangents of a graph's outputs back to its inputs from position `residuals` on, in which it is linear.
 * `residualValues` are the images of the inputs before.
 */
export function pullBack(
  b: GraphBuilder,
  graph: Graph,
  residualValues: readonly ValueId[],
  cotangents: readonly Tangent[],
): Tangent[] {
  const sources = graph.inputs.slice(residualValues.length);
  const moving = dependents(graph, sources);
  const known = new Map<ValueId, ValueId>();
  graph.inputs
    .slice(0, residualValues.length)
    .forEach((id, position) => known.set(id, at(residualValues, position)));
  for (const { id, data } of graph.constants) known.set(id, b.constant(at(graph.avals, id), data));
  for (const { op, params, inputs, outputs } of graph.equations) {
    const output = at(outputs, 0);
    if (!moving.has(output))
      known.set(
        output,
        b.emit(
          op,
          inputs.map((id) => lookup(known, id)),
          params,
        ),
      );
  }

  const pending = new Map<ValueId, ValueId>();
  const accumulate = (id: ValueId, cotangent: Tangent): void => {
    const sum = addTangents(b, pending.get(id) ?? null, cotangent);
    if (sum !== null) pending.set(id, sum);
  };
  graph.outputs.forEach((id, position) => {
    if (moving.has(id)) accumulate(id, cotangents[position] ?? null);
  });
  for (const equation of [...graph.equations].reverse()) {
    const output = at(equation.outputs, 0);
    const cotangent = pending.get(output);
    if (cotangent === undefined || !moving.has(output)) continue;
    const linear = equation.inputs.map((id) => moving.has(id));
    const parts = transposeEquation(b, graph, equation, linear, known, cotangent);
    equation.inputs.forEach((id, position) => {
      if (linear[position] === true) accumulate(id, parts[position] ?? null);
    });
  }
  return sources.map((id) => pending.get(id) ?? null);
}

/**
 * The transpose of a linear graph: inputs are the residuals, then a cotangent per output; outputs are the cotangents of
 * the inputs behind the residuals.
 */
export function transposeGraph(graph: Graph, residuals: number): Graph {
  const b = new GraphBuilder();
  const values = graph.inputs.slice(0, residuals).map((id) => b.input(at(graph.avals, id)));
  const cotangents = graph.outputs.map((id) => b.input(at(graph.avals, id)));
  const results = pullBack(b, graph, values, cotangents);
  return b.build(
    results.map((id, position) => id ?? b.fill(0, at(graph.avals, at(graph.inputs, residuals + position)))),
  );
}

/**
 * The reverse derivative of `graph` in its active inputs: inputs are the primals, then a cotangent per output; outputs
 * are the results, then the cotangent of each active input. (Cotangents of outputs that are not floats are ignored.)
 */
export function vjpGraph(graph: Graph, active: readonly boolean[]): Graph {
  const { known, linear, residuals } = linearizeGraph(graph, active);
  const b = new GraphBuilder();
  const primals = graph.inputs.map((id) => b.input(at(graph.avals, id)));
  const cotangents = graph.outputs.map((id) => b.input(at(graph.avals, id)));
  const values = b.inline(known, primals);
  const outputs = values.slice(0, graph.outputs.length);
  const results = pullBack(b, linear, values.slice(graph.outputs.length), cotangents);
  const dense = results.map(
    (id, position) => id ?? b.fill(0, at(linear.avals, at(linear.inputs, residuals + position))),
  );
  return b.build([...outputs, ...dense]);
}
