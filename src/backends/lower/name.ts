/**
 * Names of kernels, for reports: the operations that were folded together and the extents that they run over.
 */
import { at } from "../../base/at.js";
import { formatShape } from "../../base/shape.js";
import type { Equation, Graph, ValueId } from "../../ir/graph.js";
import { loweringOf } from "./materialize.js";

const silent: ReadonlySet<string> = new Set([
  "fill",
  "iota",
  "eye",
  "broadcast",
  "reshape",
  "transpose",
  "stopGradient",
]);
const longest = 5;

/** `add_tanh[4096]` for the kernel that computes `values`. */
export function kernelName(
  graph: Graph,
  equations: readonly Equation[],
  stored: ReadonlySet<ValueId>,
  values: readonly ValueId[],
): string {
  const wanted = new Set(values);
  const ops: string[] = [];
  let quiet = "copy";
  for (let position = equations.length - 1; position >= 0; position--) {
    const equation = at(equations, position);
    const id = at(equation.outputs, 0);
    if (!wanted.has(id)) continue;
    if (silent.has(equation.op)) quiet = equation.op;
    else ops.unshift(equation.op);
    for (const operand of equation.inputs) if (!stored.has(operand)) wanted.add(operand);
    if (loweringOf(equation).kind === "scatterAdd") quiet = equation.op;
  }
  const distinct = ops.filter((op, position) => ops[position - 1] !== op);
  const shown =
    distinct.length > longest
      ? [...distinct.slice(0, longest - 1), `${distinct.length - longest + 1}more`]
      : distinct;
  const shapes = values.map((id) => at(graph.avals, id).shape);
  const largest = shapes.reduce((best, shape) => (shape.length > best.length ? shape : best), at(shapes, 0));
  return `${shown.length === 0 ? quiet : shown.join("_")}${formatShape(largest)}`;
}
