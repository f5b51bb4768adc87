/**
 * How much work a graph is, by the table's costs: what is compared when a graph is cut, before anything was measured.
 */
import { at } from "../base/at.js";
import { itemSize } from "../base/dtype.js";
import { sizeOf } from "../base/shape.js";
import type { Graph, ValueId } from "../ir/graph.js";
import { rowOf } from "../primitives/table.js";

/** Bytes of values. */
export function bytesOf(graph: Graph, ids: readonly ValueId[]): number {
  return ids.reduce((sum, id) => {
    const { dtype, shape } = at(graph.avals, id);
    return sum + sizeOf(shape) * itemSize(dtype);
  }, 0);
}

/** Floating-point operations of all equations. */
export function flopsOf(graph: Graph): number {
  return graph.equations.reduce((sum, { op, params, inputs, outputs }) => {
    const avals = inputs.map((id) => at(graph.avals, id));
    return sum + rowOf(op).cost(avals, at(graph.avals, at(outputs, 0)), params).flops;
  }, 0);
}

/** Bytes that move in the time of one floating-point operation. */
const bytesPerFlop = 8;

/**
 * The work of running a graph once, in floating-point operations, which take about a nanosecond each: those that it
 * makes, and the time of moving its inputs and outputs. What lies between is fused as a rule, and not counted.
 */
export function workOf(graph: Graph): number {
  return flopsOf(graph) + bytesOf(graph, [...graph.inputs, ...graph.outputs]) / bytesPerFlop;
}
