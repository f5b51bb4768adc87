/**
 * Rebuilds a graph with local rewrites, common subexpressions shared and dead code dropped. Every rewrite is exact: it
 * changes no bit of any result, NaN and signed zeros included. The one exception is structural zeros: the zeros of an
 * identity, a diagonal or padding times anything are zeros, as for every sparse format.
 */
import { at } from "../base/at.js";
import type { Aval, Equation, Graph, OpName, OpParams, ValueId } from "../ir/graph.js";
import { GraphBuilder, lookup } from "../primitives/builder.js";
import { rewriteRules } from "./rewrite.js";
import type { Rewriter } from "./rewriter.js";

/** A parameter list as text, in which −0 and NaN keep their identity. */
function keyOf(op: OpName, inputs: readonly ValueId[], params: object): string {
  const text = JSON.stringify(params, (_, value: unknown) =>
    typeof value === "number" && (Object.is(value, -0) || !Number.isFinite(value))
      ? `#${Object.is(value, -0) ? "-0" : String(value)}`
      : value,
  );
  return `${op}(${inputs.join(",")})${text}`;
}

class RewritingBuilder implements Rewriter {
  readonly builder = new GraphBuilder();
  readonly #definitions = new Map<ValueId, Equation>();
  readonly #known = new Map<string, ValueId>();

  aval(id: ValueId): Aval {
    return this.builder.aval(id);
  }

  definition(id: ValueId): Equation | undefined {
    return this.#definitions.get(id);
  }

  emit<K extends OpName>(op: K, inputs: readonly ValueId[], params: OpParams[K]): ValueId {
    const key = keyOf(op, inputs, params);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const id = this.#rewrite(op, inputs, params);
    this.#known.set(key, id);
    return id;
  }

  #rewrite<K extends OpName>(op: K, inputs: readonly ValueId[], params: OpParams[K]): ValueId {
    // K and its parameters make one member of the union of equations; the compiler does not follow that.
    const equation = { op, inputs, params, outputs: [] } as unknown as Equation;
    for (const rule of rewriteRules) {
      const result = rule(this, equation);
      if (result !== null) return result;
    }
    const id = this.builder.emit(op, inputs, params);
    this.#definitions.set(id, at(this.builder.equations, this.builder.equations.length - 1));
    return id;
  }
}

/** An equivalent graph with the same inputs and outputs; constants that nothing reads are dropped. */
export function simplify(graph: Graph): Graph {
  const rewriter = new RewritingBuilder();
  const image = new Map<ValueId, ValueId>();
  for (const id of graph.inputs) image.set(id, rewriter.builder.input(at(graph.avals, id)));
  for (const { id, data } of graph.constants)
    image.set(id, rewriter.builder.constant(at(graph.avals, id), data));
  for (const { op, params, inputs, outputs } of graph.equations) {
    image.set(
      at(outputs, 0),
      rewriter.emit(
        op,
        inputs.map((id) => lookup(image, id)),
        params,
      ),
    );
  }
  return dropDead(rewriter.builder.build(graph.outputs.map((id) => lookup(image, id))));
}

/** Drops equations and constants that no output needs, and numbers the rest anew. */
export function dropDead(graph: Graph): Graph {
  const live = new Set<ValueId>(graph.outputs);
  const equations: Equation[] = [];
  for (const equation of [...graph.equations].reverse()) {
    if (!equation.outputs.some((id) => live.has(id))) continue;
    equations.push(equation);
    for (const id of equation.inputs) live.add(id);
  }
  const builder = new GraphBuilder();
  const image = new Map<ValueId, ValueId>();
  for (const id of graph.inputs) image.set(id, builder.input(at(graph.avals, id)));
  for (const { id, data } of graph.constants) {
    if (live.has(id)) image.set(id, builder.constant(at(graph.avals, id), data));
  }
  for (const { op, params, inputs, outputs } of equations.reverse()) {
    image.set(
      at(outputs, 0),
      builder.emit(
        op,
        inputs.map((id) => lookup(image, id)),
        params,
      ),
    );
  }
  return builder.build(graph.outputs.map((id) => lookup(image, id)));
}
