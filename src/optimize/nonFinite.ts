/**
 * NaN and infinity, found where they first appear. An optimizer that goes on with them ends far from the cause; this
 * module names the rows, and the objective that they belong to, instead.
 */
import { HeddleError } from "../base/errors.js";
import { entry } from "./entry.js";
import type { ObjectiveRows } from "../objectives/objectiveFunction.js";

/** A residual or a Jacobian has entries that are NaN or infinite. */
export class NonFiniteError extends HeddleError {
  /** The rows that are not finite, ascending. */
  readonly rows: readonly number[];
  /** The objectives that those rows belong to, where the problem names its objectives. */
  readonly objectives: readonly string[];

  constructor(operation: string, argument: string, rows: readonly number[], named: readonly ObjectiveRows[]) {
    const objectives = named
      .filter(({ rows: [start, end] }) => rows.some((row) => row >= start && row < end))
      .map(({ name }) => name);
    const shown = rows.slice(0, 8).join(", ") + (rows.length > 8 ? `, ... (${rows.length} in all)` : "");
    const owner =
      objectives.length === 0 ? "" : ` of objective ${objectives.map((name) => `"${name}"`).join(", ")}`;
    super("HEDDLE_NON_FINITE", {
      operation,
      argument,
      found: `NaN or infinite in row ${shown}${owner}`,
      expected: "finite numbers",
      remedy: "start elsewhere, or guard logarithms, roots and divisions in the function",
    });
    this.rows = rows;
    this.objectives = objectives;
  }
}

/** The rows of a row-major matrix with `columns` columns that hold a NaN or an infinity. */
export function nonFiniteRows(matrix: Float64Array, columns = 1): number[] {
  const rows: number[] = [];
  for (let start = 0; start < matrix.length; start += columns) {
    for (let i = start; i < start + columns; i++) {
      if (!Number.isFinite(entry(matrix, i))) {
        rows.push(start / columns);
        break;
      }
    }
  }
  return rows;
}
