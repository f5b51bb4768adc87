/**
 * A curve that is a plain function of numbers, with a Jacobian of its own or by finite differences: the way to fit a
 * model that cannot be written as an array program.
 */
import { ArgumentError, ShapeError } from "../base/errors.js";
import { byName } from "./curveData.js";
import type { CurveData, PerParameter } from "./curveData.js";
import { entry } from "./entry.js";
import type { DifferenceScheme } from "./finiteDifference.js";
import { copyMatrix, copyVector, plainProblem, requireJacobianOption } from "./plainProblem.js";
import type { NumericMatrix, NumericVector } from "./plainProblem.js";
import { after } from "./problem.js";
import type { LeastSquaresProblem, MaybePromise } from "./problem.js";

/** A model as plain code: the curve at all of `x`. `x` is handed over as it was given to `curveFit`. */
export type PlainCurve<X, P> = (x: X, parameters: PerParameter<P>) => MaybePromise<NumericVector>;

/**
 * The derivatives of a model: `[m, n]` with columns in the order of the sorted names, or one column under each
 * parameter's name.
 */
export type PlainCurveJacobian<X, P> = (
  x: X,
  parameters: PerParameter<P>,
) => MaybePromise<NumericMatrix | PerParameter<P, NumericVector>>;

/** The problem of fitting a plain curve to data. */
export function plainCurveProblem<X, P>(
  operation: string,
  f: PlainCurve<X, P>,
  jac: DifferenceScheme | PlainCurveJacobian<X, P>,
  x: X,
  data: CurveData,
): LeastSquaresProblem {
  const { names, sigma, start, y } = data;
  const m = y.length;
  const weighted = (value: number, row: number): number =>
    sigma === undefined ? value : value / entry(sigma, row);

  const residual = (p: Float64Array): MaybePromise<Float64Array> =>
    after(f(x, byName<P>(names, p)), (found) => {
      const curve = copyVector(operation, "f", found);
      if (curve.length !== m) {
        throw new ShapeError({
          operation,
          argument: "f",
          found: `a curve of ${curve.length} points`,
          expected: `${m}, as many as ydata has`,
          remedy: "return one value per observation",
        });
      }
      return curve.map((value, i) => weighted(value - entry(y, i), i));
    });

  const checked = requireJacobianOption(operation, jac);
  const jacobian =
    typeof jac !== "function"
      ? checked
      : (p: Float64Array): MaybePromise<Float64Array> =>
          after(jac(x, byName<P>(names, p)), (found) => {
            const matrix = isMatrix(found)
              ? copyMatrix(operation, "jac", found, m, names.length)
              : columnsOf(operation, found, names, m);
            return matrix.map((value, index) => weighted(value, Math.floor(index / names.length)));
          });

  const typical = start.map((value) => Math.abs(value) || 1);
  return plainProblem(operation, residual, jacobian, typical);
}

function isMatrix<P>(found: NumericMatrix | PerParameter<P, NumericVector>): found is NumericMatrix {
  return Array.isArray(found) || found instanceof Float64Array;
}

function columnsOf(operation: string, found: unknown, names: readonly string[], m: number): Float64Array {
  const matrix = new Float64Array(m * names.length);
  names.forEach((name, j) => {
    const given: unknown = typeof found === "object" && found !== null ? Reflect.get(found, name) : undefined;
    if (given === undefined) {
      throw new ArgumentError({
        operation,
        argument: "jac",
        found: `without a column "${name}"`,
        expected: `a matrix, or columns named ${names.join(", ")}`,
      });
    }
    const column = copyVector(operation, `jac.${name}`, given);
    if (column.length !== m) {
      throw new ShapeError({
        operation,
        argument: `jac.${name}`,
        found: `${column.length} entries`,
        expected: String(m),
      });
    }
    column.forEach((value, i) => {
      matrix[i * names.length + j] = value;
    });
  });
  return matrix;
}
