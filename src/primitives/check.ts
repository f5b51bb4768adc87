/**
 * Checks the form of a graph: every value is defined once and before its use, every equation has the type that its
 * primitive's shape rule gives, every constant has the elements that its type says. Tests run it on every transformed graph.
 */
import { at } from "../base/at.js";
import { GraphError } from "../base/errors.js";
import { sizeOf } from "../base/shape.js";
import type { Graph, ValueId } from "../ir/graph.js";
import { formatAval, sameAval } from "../ir/graph.js";
import { outputAval } from "./table.js";

function refuse(argument: string, found: string, expected: string, cause?: unknown): never {
  throw new GraphError({ operation: "checkGraph", argument, found, expected, cause });
}

/** Throws `GraphError` if the graph breaks a rule of its form; returns the graph. */
export function checkGraph(graph: Graph): Graph {
  const defined = new Set<ValueId>();
  const define = (id: ValueId, where: string): void => {
    if (graph.avals[id] === undefined) refuse(where, `value ${id}`, "a value that has a type");
    if (defined.has(id)) refuse(where, `a second definition of value ${id}`, "one");
    defined.add(id);
  };
  const use = (id: ValueId, where: string): void => {
    if (!defined.has(id)) refuse(where, `value ${id}`, "a value that is defined before");
  };
  graph.inputs.forEach((id, position) => define(id, `input ${position}`));
  graph.constants.forEach(({ id, data }, position) => {
    define(id, `constant ${position}`);
    const aval = at(graph.avals, id);
    if (data.length !== sizeOf(aval.shape))
      refuse(`constant ${position}`, `${data.length} elements`, `as many as ${formatAval(aval)} has`);
  });
  graph.equations.forEach(({ op, params, inputs, outputs }, position) => {
    const where = `equation ${position} (${op})`;
    for (const id of inputs) use(id, where);
    if (outputs.length !== 1) refuse(where, `${outputs.length} results`, "one");
    const id = at(outputs, 0);
    define(id, where);
    const wanted = typeOf(where, () =>
      outputAval(
        op,
        inputs.map((input) => at(graph.avals, input)),
        params,
      ),
    );
    const found = at(graph.avals, id);
    if (!sameAval(found, wanted))
      refuse(where, formatAval(found), `${formatAval(wanted)}, by its shape rule`);
  });
  graph.outputs.forEach((id, position) => use(id, `output ${position}`));
  return graph;
}

function typeOf<T>(where: string, rule: () => T): T {
  try {
    return rule();
  } catch (cause) {
    return refuse(where, "operands that the shape rule refuses", "operands that fit", cause);
  }
}
