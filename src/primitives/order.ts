/**
 * In which order a reduction adds. It is read off the equation, its dtype and its extents alone, so that a value has the
 * same bits in whatever program it is computed, and whatever was fused into it.
 */
import { at } from "../base/at.js";
import type { Shape } from "../base/shape.js";
import type { Aval, Equation } from "../ir/graph.js";
import { indexExtents, parseSignature } from "./signature.js";

/**
 * `"lanes"`: several partial results along the innermost reduced index, as vectors hold them, combined in a fixed way.
 * `"sequence"`: one term after the other.
 */
export type ReductionOrder = "lanes" | "sequence";

/** A product of matrices is worth tiles, which add in sequence, from these extents on. */
export const tileExtent = 4;
const tileTerms = 8;

/** The order in which a contraction of operands of these shapes adds. */
export function contractionOrder(signature: string, a: Shape, b: Shape): ReductionOrder {
  const parsed = parseSignature(signature);
  const inner = parsed.summed[parsed.summed.length - 1];
  if (inner === undefined || parsed.a.at(-1) !== inner || parsed.b.at(-1) !== inner) return "sequence";
  const extents = indexExtents(signature, a, b);
  const [row, column] = parsed.out.slice(-2);
  if (row === undefined || column === undefined) return "lanes";
  const shared = (index: string): boolean => parsed.a.includes(index) && parsed.b.includes(index);
  const wide = (index: string): boolean => !shared(index) && (extents.get(index) ?? 0) >= tileExtent;
  const terms = parsed.summed.reduce((product, index) => product * (extents.get(index) ?? 1), 1);
  return wide(row) && wide(column) && terms >= tileTerms ? "sequence" : "lanes";
}

/** The order in which an equation reduces. */
export function reductionOrder(equation: Equation, inputs: readonly Aval[]): ReductionOrder {
  switch (equation.op) {
    case "contract":
      return contractionOrder(equation.params.signature, at(inputs, 0).shape, at(inputs, 1).shape);
    case "reduceSum":
    case "reduceProd":
    case "reduceMax":
    case "reduceMin":
      return equation.params.axes.includes(at(inputs, 0).shape.length - 1) ? "lanes" : "sequence";
    default:
      return "sequence";
  }
}
