/**
 * Sums of tangents of which some are symbolic zeros.
 */
import type { Emitter } from "./emitter.js";
import type { Tangent } from "./row.js";

/** The sum of tangents that may be symbolic zeros. */
export function addTangents(b: Emitter, first: Tangent, second: Tangent): Tangent {
  if (first === null) return second;
  return second === null ? first : b.apply("add", first, second);
}
