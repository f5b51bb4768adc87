/**
 * What a rewrite sees: values, the equations that define them, and a way to emit an equal value instead.
 */
import type { Aval, Equation, OpName, OpParams, ValueId } from "../ir/graph.js";

/** A builder that rewrites what it is asked to emit, as the rules see it. */
export interface Rewriter {
  aval(id: ValueId): Aval;
  /** The equation that defines a value, if it is not an input or a constant. */
  definition(id: ValueId): Equation | undefined;
  /** Emits, rewriting further. */
  emit<K extends OpName>(op: K, inputs: readonly ValueId[], params: OpParams[K]): ValueId;
}

/** Returns an equal, cheaper value, or `null`. */
export type RewriteRule = (r: Rewriter, equation: Equation) => ValueId | null;

/** The value that fills an array, if it is known to be one value. */
export function fillOf(r: Rewriter, id: ValueId): number | undefined {
  const definition = r.definition(id);
  return definition?.op === "fill" ? definition.params.value : undefined;
}

/** The equation that defines a value, if it applies `op`. */
export function definedBy<K extends OpName>(
  r: Rewriter,
  id: ValueId,
  op: K,
): Extract<Equation, { op: K }> | null {
  const definition = r.definition(id);
  // Comparing `op` narrows to the member for K; the compiler does not follow a type parameter there.
  return definition?.op === op ? (definition as Extract<Equation, { op: K }>) : null;
}
