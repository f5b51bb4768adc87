/**
 * Splits a forward derivative at a point into what is known there and a linear map of the tangents.
 */
import { at } from "../base/at.js";
import type { Graph, ValueId } from "../ir/graph.js";
import { GraphBuilder, lookup } from "../primitives/builder.js";
import type { Tangent } from "../primitives/row.js";
import { pushForward, requireActive } from "./jvp.js";

/** A function linearized: its value at a point, and its derivative there as a linear map. */
export interface Linearized {
  /** Inputs: the primals. Outputs: the results, then the residuals, which the linear map needs. */
  readonly known: Graph;
  /** Inputs: the residuals, then a tangent per active input. Outputs: the tangent of each result. */
  readonly linear: Graph;
  /** The number of residuals. */
  readonly residuals: number;
}

/** The ids of all values that depend on `sources`. */
export function dependents(graph: Graph, sources: Iterable<ValueId>): Set<ValueId> {
  const moving = new Set(sources);
  for (const { inputs, outputs } of graph.equations) {
    if (inputs.some((id) => moving.has(id))) for (const id of outputs) moving.add(id);
  }
  return moving;
}

/** Linearizes `graph` in its active inputs. */
export function linearizeGraph(graph: Graph, active: readonly boolean[]): Linearized {
  requireActive("linearize", graph, active);
  const joint = new GraphBuilder();
  const primals = graph.inputs.map((id) => joint.input(at(graph.avals, id)));
  const seeds = graph.inputs.map((id, position): Tangent =>
    active[position] === true ? joint.input(at(graph.avals, id)) : null,
  );
  const pushed = pushForward(joint, graph, primals, seeds);
  const dense = pushed.outputs.map((id, position) => pushed.tangents[position] ?? joint.like(id, 0));
  const whole = joint.build([...pushed.outputs, ...dense]);

  const tangentInputs = whole.inputs.slice(primals.length);
  const moving = dependents(whole, tangentInputs);
  const linear = new GraphBuilder();
  const knownEquations = whole.equations.filter(({ outputs }) => !moving.has(at(outputs, 0)));
  const structure = new Map(
    knownEquations
      .filter(({ inputs }) => inputs.length === 0)
      .map((equation) => [at(equation.outputs, 0), equation] as const),
  );
  const constants = new Map(whole.constants.map(({ id, data }) => [id, data] as const));

  // What the linear part reads of the known part; constants and structure are copied rather than passed.
  const wanted = new Set<ValueId>();
  const need = (id: ValueId): void => {
    if (!moving.has(id) && !structure.has(id) && !constants.has(id)) wanted.add(id);
  };
  for (const { inputs, outputs } of whole.equations) {
    if (moving.has(at(outputs, 0))) inputs.forEach(need);
  }
  dense.forEach(need);
  const residuals = [...wanted];
  const image = new Map<ValueId, ValueId>();
  for (const id of residuals) image.set(id, linear.input(at(whole.avals, id)));
  for (const id of tangentInputs) image.set(id, linear.input(at(whole.avals, id)));
  const imageOf = (id: ValueId): ValueId => {
    const data = constants.get(id);
    if (data !== undefined) return linear.constant(at(whole.avals, id), data);
    const source = structure.get(id);
    if (source !== undefined && !image.has(id)) image.set(id, linear.emit(source.op, [], source.params));
    return lookup(image, id);
  };
  for (const { op, params, inputs, outputs } of whole.equations) {
    if (moving.has(at(outputs, 0))) image.set(at(outputs, 0), linear.emit(op, inputs.map(imageOf), params));
  }
  const linearGraph = linear.build(dense.map(imageOf));

  const known: Graph = {
    ...whole,
    inputs: whole.inputs.slice(0, primals.length),
    equations: knownEquations,
    outputs: [...pushed.outputs, ...residuals],
  };
  return { known, linear: linearGraph, residuals: residuals.length };
}
