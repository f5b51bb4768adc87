/**
 * Plain functions as a problem: what a user writes over `Float64Array`s, sync or async, checked and copied at the border
 * so that a wrong shape is refused by name and a buffer that the user fills again cannot change a result.
 */
import { ArgumentError, ShapeError } from "../base/errors.js";
import { differenceJacobian } from "./finiteDifference.js";
import type { DifferenceScheme } from "./finiteDifference.js";
import { after } from "./problem.js";
import type { LeastSquaresProblem, MaybePromise } from "./problem.js";

/** A vector as plain code has it. */
export type NumericVector = Float64Array | readonly number[];

/** A matrix as plain code has it: row-major, or a list of rows. */
export type NumericMatrix = Float64Array | readonly NumericVector[];

/** The residual at `x`, `[m]`. */
export type PlainResidual = (x: Float64Array) => MaybePromise<NumericVector>;

/** The Jacobian at `x`, `[m, n]`. */
export type PlainJacobian = (x: Float64Array) => MaybePromise<NumericMatrix>;

/** How to get the Jacobian of a plain function. */
export type PlainJacobianOption = DifferenceScheme | PlainJacobian;

/** The problem of minimising a plain function's squares. `typical` is the size of each variable, for differences. */
export function plainProblem(
  operation: string,
  fun: PlainResidual,
  jac: PlainJacobianOption,
  typical: Float64Array,
): LeastSquaresProblem {
  const dimX = typical.length;
  const residual = (x: Float64Array) => after(fun(x), (value) => copyVector(operation, "fun", value));
  return {
    dimX,
    residual,
    jacobian(x, at) {
      if (typeof jac === "function") {
        return after(jac(x), (value) => copyMatrix(operation, "jac", value, at.length, dimX));
      }
      const checked = (point: Float64Array) =>
        after(residual(point), (value) => {
          if (value.length !== at.length) {
            throw new ShapeError({
              operation,
              argument: "fun",
              found: `a residual of ${value.length} entries after one of ${at.length}`,
              expected: "the same length at every x",
            });
          }
          return value;
        });
      return differenceJacobian(checked, x, at, jac, typical);
    },
  };
}

/** Refuses what is neither a scheme of differences nor a function. */
export function requireJacobianOption(operation: string, jac: unknown): PlainJacobianOption {
  if (jac === "2-point" || jac === "3-point") return jac;
  // A function's own signature cannot be seen from here; its results are checked instead.
  if (typeof jac === "function") return jac as PlainJacobian;
  throw new ArgumentError({
    operation,
    argument: "options.jac",
    found: typeof jac === "string" ? `"${jac}"` : typeof jac,
    expected: `"2-point", "3-point" or a function`,
  });
}

/** A user's vector as a `Float64Array` of our own. */
export function copyVector(operation: string, argument: string, value: unknown): Float64Array {
  if (isNumericVector(value)) return Float64Array.from(value);
  throw new ArgumentError({
    operation,
    argument,
    found: describe(value),
    expected: "a Float64Array or an array of numbers",
  });
}

/** A user's matrix as a row-major `Float64Array` of our own. */
export function copyMatrix(
  operation: string,
  argument: string,
  value: unknown,
  rows: number,
  columns: number,
): Float64Array {
  const refuse = (found: string): ShapeError =>
    new ShapeError({
      operation,
      argument,
      found,
      expected: `shape [${rows},${columns}]`,
      remedy: "give one row per residual and one column per variable, row-major",
    });
  if (value instanceof Float64Array) {
    if (value.length !== rows * columns) throw refuse(`an array of ${value.length} entries`);
    return value.slice();
  }
  if (!Array.isArray(value)) {
    throw new ArgumentError({
      operation,
      argument,
      found: describe(value),
      expected: "a row-major Float64Array or an array of rows",
    });
  }
  const lines: readonly unknown[] = value;
  if (lines.length !== rows) throw refuse(`${lines.length} rows`);
  const matrix = new Float64Array(rows * columns);
  lines.forEach((line, i) => {
    const row = copyVector(operation, `${argument}[${i}]`, line);
    if (row.length !== columns) throw refuse(`a row ${i} of ${row.length} entries`);
    matrix.set(row, i * columns);
  });
  return matrix;
}

function isNumericVector(value: unknown): value is NumericVector {
  if (value instanceof Float64Array) return true;
  return Array.isArray(value) && value.every((item) => typeof item === "number");
}

function describe(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array with entries that are not numbers";
  return typeof value === "object" ? `a ${value.constructor.name}` : typeof value;
}
