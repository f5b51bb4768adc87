/**
 * The table of primitives: one row each, and the machinery that applies a row by name. Everything that heddle does to a
 * program (checking, differentiating, batching, lowering) is a loop over equations that looks rows up here.
 */
import { ArgumentError } from "../base/errors.js";
import type { Aval, OpName, OpParams } from "../ir/graph.js";
import { contract } from "./contraction.js";
import * as creation from "./creation.js";
import * as elementwise from "./elementwise.js";
import * as indexing from "./indexing.js";
import * as layout from "./layout.js";
import * as padding from "./padding.js";
import * as reduction from "./reduction.js";
import type { PrimitiveRow, PrimitiveTable } from "./row.js";

/** Every primitive's row. */
export const primitives: PrimitiveTable = {
  ...creation,
  ...elementwise,
  ...reduction,
  contract,
  ...layout,
  ...padding,
  ...indexing,
};

/** The row of a primitive. */
export function rowOf<K extends OpName>(op: K): PrimitiveRow<OpParams[K]> {
  return primitives[op];
}

/** The type of the result of a primitive. Checks number, shapes and dtypes of the operands. */
export function outputAval<K extends OpName>(op: K, inputs: readonly Aval[], params: OpParams[K]): Aval {
  const row = rowOf(op);
  if (row.arity === null ? inputs.length === 0 : inputs.length !== row.arity) {
    throw new ArgumentError({
      operation: op,
      found: `${inputs.length} operands`,
      expected: row.arity === null ? "at least one" : String(row.arity),
    });
  }
  return row.shape(inputs, params);
}
