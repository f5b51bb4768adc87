/**
 * Operations on concrete arrays, one at a time.
 */
import { applyReference } from "../backends/reference/interpret.js";
import type { OpName, OpParams } from "../ir/graph.js";
import type { HostArray } from "../primitives/row.js";

/** Applies one primitive to concrete arrays. Throws `ShapeError` or `DTypeError`. */
export function applyEagerly<K extends OpName>(
  op: K,
  inputs: readonly HostArray[],
  params: OpParams[K],
): HostArray {
  return applyReference(op, inputs, params);
}
