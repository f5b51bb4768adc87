/**
 * Makes a graph's constants inputs, so that a backend sees no data and a pool places each constant once.
 */
import type { Graph, GraphConstant } from "../ir/graph.js";

/** The graph with its constants as further inputs, behind its own, and the constants in their order. */
export function hoistConstants(graph: Graph): {
  readonly graph: Graph;
  readonly constants: readonly GraphConstant[];
} {
  const inputs = [...graph.inputs, ...graph.constants.map(({ id }) => id)];
  return { graph: { ...graph, inputs, constants: [] }, constants: graph.constants };
}
