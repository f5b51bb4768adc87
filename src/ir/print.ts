/**
 * Graphs as text: one line for each value, with its type.
 */
import type { Equation, Graph, ValueId } from "./graph.js";
import { formatAval } from "./graph.js";

/** a, b, ..., z, aa, ab, ... */
function letters(position: number): string {
  const rest = Math.floor(position / 26);
  const letter = String.fromCharCode(97 + (position % 26));
  return rest === 0 ? letter : letters(rest - 1) + letter;
}

/** Numbers in full, so that -0, NaN and infinities show. */
function formatNumber(value: number): string {
  return Object.is(value, -0) ? "-0" : String(value);
}

function formatValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(formatValue).join(",")}]`;
  if (typeof value === "string") return JSON.stringify(value);
  return typeof value === "number" ? formatNumber(value) : String(value);
}

/** Parameters as they are printed; those that the result's type says already are left out. */
function formatParams({ op, params }: Equation): string {
  switch (op) {
    case "fill":
      return `[${formatNumber(params.value)}]`;
    case "contract":
      return `[${JSON.stringify(params.signature)}]`;
    case "convert":
    case "reshape":
      return "";
    case "iota":
      return `[axis=${params.axis}]`;
    case "eye":
      return params.offset === 0 ? "" : `[offset=${params.offset}]`;
    case "broadcast":
      return `[axes=${formatValue(params.axes)}]`;
    default: {
      const parts = Object.entries(params).map(([name, value]) => `${name}=${formatValue(value)}`);
      return parts.length === 0 ? "" : `[${parts.join(" ")}]`;
    }
  }
}

/** A name for each value: constants are k0, k1, ..., all others letters in their order. */
export function nameValues(graph: Graph): ReadonlyMap<ValueId, string> {
  const names = new Map<ValueId, string>();
  graph.constants.forEach(({ id }, position) => names.set(id, `k${position}`));
  let next = 0;
  const name = (id: ValueId): void => {
    // Constants' names are k and a number, which no letters are.
    if (!names.has(id)) names.set(id, letters(next++));
  };
  graph.inputs.forEach(name);
  for (const { outputs } of graph.equations) outputs.forEach(name);
  return names;
}

/** The graph as text. */
export function printGraph(graph: Graph): string {
  const names = nameValues(graph);
  const nameOf = (id: ValueId): string => names.get(id) ?? `undefined value ${id}`;
  const typed = (id: ValueId): string => {
    const aval = graph.avals[id];
    return `${nameOf(id)}: ${aval === undefined ? "unknown" : formatAval(aval)}`;
  };
  const lines = [
    `graph(${graph.inputs.map(typed).join(", ")}) {`,
    ...graph.constants.map(({ id }) => `  const ${typed(id)}`),
    ...graph.equations.map((equation) => {
      const result = equation.outputs.map(typed).join(", ");
      const call = [equation.op + formatParams(equation), ...equation.inputs.map(nameOf)].join(" ");
      return `  ${result} = ${call}`;
    }),
    `  return ${graph.outputs.map(nameOf).join(", ")}`,
    "}",
  ];
  return lines.join("\n");
}
