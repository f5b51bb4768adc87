/**
 * Checks the programs of a plan before a rank compiles them. Kernels write to shared memory without looking, so a graph
 * that came from a file must have the form of a graph, the types that its program states, and the hash that it is
 * remembered by.
 */
import { at } from "../base/at.js";
import { isDType } from "../base/dtype.js";
import { GraphError, HeddleError, PlanError } from "../base/errors.js";
import { requireShape } from "../base/shape.js";
import type { Graph, ValueId } from "../ir/graph.js";
import { formatAval, sameAval } from "../ir/graph.js";
import { hashGraph } from "../ir/hash.js";
import type { BufferType, Plan } from "../plan/plan.js";
import { checkGraph } from "../primitives/check.js";
import { primitives } from "../primitives/table.js";

/** Refuses what has not the outer form of a graph; `checkGraph` looks at the rest. */
function requireGraph(value: unknown): Graph {
  const refuse = (argument: string, expected: string): never => {
    throw new GraphError({ operation: "graph", argument, found: "something else", expected });
  };
  if (typeof value !== "object" || value === null) return refuse("it", "an object");
  const graph = value as Graph; // Its fields are checked here.
  for (const [name, list] of Object.entries({
    avals: graph.avals,
    inputs: graph.inputs,
    constants: graph.constants,
    equations: graph.equations,
    outputs: graph.outputs,
  })) {
    if (!Array.isArray(list)) refuse(name, "a list");
  }
  graph.avals.forEach(({ dtype, shape }, id) => {
    if (!isDType(dtype)) refuse(`the dtype of value ${id}`, "a dtype");
    requireShape("graph", `the shape of value ${id}`, shape);
  });
  if (graph.constants.length > 0) refuse("constants", "none: constants are inputs of a program");
  graph.equations.forEach(({ op }, position) => {
    if (!Object.hasOwn(primitives, op)) refuse(`the operation of equation ${position}`, "a primitive");
  });
  return graph;
}

function checkTypes(
  name: string,
  graph: Graph,
  what: "input" | "output",
  types: readonly BufferType[],
): void {
  const ids: readonly ValueId[] = what === "input" ? graph.inputs : graph.outputs;
  if (ids.length !== types.length) {
    throw new PlanError({
      operation: "verify",
      argument: `program "${name}"`,
      found: `a graph of ${ids.length} ${what}s`,
      expected: `${types.length}, as the program states`,
    });
  }
  ids.forEach((id, position) => {
    const found = at(graph.avals, id);
    const wanted = at(types, position);
    if (sameAval(found, wanted)) return;
    throw new PlanError({
      operation: "verify",
      argument: `${what} ${position} of program "${name}"`,
      found: `${formatAval(found)} in its graph`,
      expected: `${formatAval(wanted)}, as the program states`,
    });
  });
}

/** Checks every program of a plan. Throws `PlanError`, with the graph's own error as its cause. */
export function checkPrograms(plan: Plan): void {
  for (const [name, program] of Object.entries(plan.programs)) {
    let graph: Graph;
    let hash: string;
    try {
      graph = checkGraph(requireGraph(program.graph));
      hash = hashGraph(graph);
    } catch (cause) {
      throw new PlanError({
        operation: "verify",
        argument: `the graph of program "${name}"`,
        found: cause instanceof HeddleError ? `refused (${cause.message})` : "not in the form of a graph",
        cause,
      });
    }
    checkTypes(name, graph, "input", program.inputs);
    checkTypes(name, graph, "output", program.outputs);
    if (hash !== program.hash) {
      throw new PlanError({
        operation: "verify",
        argument: `the hash of program "${name}"`,
        found: program.hash,
        expected: `${hash}, by its graph`,
        remedy: "the plan was altered or damaged; make it again",
      });
    }
  }
}
