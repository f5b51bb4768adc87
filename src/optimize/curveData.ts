/**
 * The observations of a curve fit and the names of its parameters, checked once and copied, so that the fit can rely on
 * them. Parameters are ordered by name: an object has no order that a covariance could follow.
 */
import { isNDArray } from "../arrays/index.js";
import type { NDArray } from "../arrays/index.js";
import { ArgumentError, ShapeError } from "../base/errors.js";
import { formatShape } from "../base/shape.js";
import { entry } from "./entry.js";
import { copyVector } from "./plainProblem.js";
import type { NumericVector } from "./plainProblem.js";

/** A vector of observations. */
export type VectorInput = NumericVector | NDArray;

/** Parameter values by name. */
export type Parameters = Readonly<Record<string, number>>;

/** One value for each of the parameters `P`. */
export type PerParameter<P, T = number> = { readonly [K in keyof P]: T };

/** The observations of one fit. */
export interface CurveData {
  /** The parameters, sorted. */
  readonly names: readonly string[];
  /** Where the fit starts, in the order of `names`. */
  readonly start: Float64Array;
  readonly y: Float64Array;
  /** The standard deviation of each observation, or `undefined` if all are alike. */
  readonly sigma: Float64Array | undefined;
}

/** Checks and copies what `curveFit` was given. */
export function curveData(
  operation: string,
  ydata: VectorInput,
  p0: Parameters | undefined,
  sigma: VectorInput | undefined,
): CurveData {
  const y = finiteVector(operation, "ydata", ydata);
  if (y.length === 0) {
    throw new ShapeError({
      operation,
      argument: "ydata",
      found: "empty",
      expected: "at least one observation",
    });
  }
  return { ...startOf(operation, p0), y, sigma: sigmaOf(operation, sigma, y.length) };
}

/** The values in the order of `names` under their names. */
export function byName<P>(names: readonly string[], values: Float64Array): PerParameter<P> {
  // The names are the keys of P, which only the caller's type knows.
  return Object.fromEntries(names.map((name, j) => [name, entry(values, j)])) as PerParameter<P>;
}

/** A vector without NaN or infinity. */
export function finiteVector(operation: string, argument: string, value: unknown): Float64Array {
  if (isNDArray(value) && value.ndim !== 1) {
    const found = `of shape ${formatShape(value.shape)}`;
    throw new ShapeError({ operation, argument, found, expected: "a vector" });
  }
  const vector = copyVector(operation, argument, isNDArray(value) ? Float64Array.from(value.data) : value);
  const index = vector.findIndex((item) => !Number.isFinite(item));
  if (index < 0) return vector;
  throw new ArgumentError({
    operation,
    argument: `${argument}[${index}]`,
    found: String(entry(vector, index)),
    expected: "a finite number",
    remedy: "leave out observations that are missing",
  });
}

function startOf(operation: string, p0: Parameters | undefined): { names: string[]; start: Float64Array } {
  const expected = "an object of named numbers, such as { a: 1, b: 2 }";
  // A caller without types can leave it out, or pass a list as SciPy takes it.
  const given: unknown = p0;
  if (
    p0 === undefined ||
    typeof given !== "object" ||
    given === null ||
    Array.isArray(given) ||
    ArrayBuffer.isView(given)
  ) {
    const found = given === undefined ? "missing" : Array.isArray(given) ? "an array" : typeof given;
    throw new ArgumentError({ operation, argument: "options.p0", found, expected });
  }
  const names = Object.keys(given).sort();
  if (names.length === 0) {
    throw new ArgumentError({ operation, argument: "options.p0", found: "without parameters", expected });
  }
  const start = Float64Array.from(names, (name) => {
    const value: unknown = p0[name];
    if (typeof value === "number" && Number.isFinite(value)) return value;
    throw new ArgumentError({
      operation,
      argument: `options.p0.${name}`,
      found: typeof value === "number" ? String(value) : typeof value,
      expected: "a finite number",
    });
  });
  return { names, start };
}

function sigmaOf(
  operation: string,
  sigma: VectorInput | undefined,
  observations: number,
): Float64Array | undefined {
  if (sigma === undefined) return undefined;
  const argument = "options.sigma";
  const deviations = finiteVector(operation, argument, sigma);
  if (deviations.length !== observations) {
    throw new ShapeError({
      operation,
      argument,
      found: `${deviations.length} entries`,
      expected: `${observations}, one per observation`,
    });
  }
  const index = deviations.findIndex((deviation) => !(deviation > 0));
  if (index < 0) return deviations;
  throw new ArgumentError({
    operation,
    argument: `${argument}[${index}]`,
    found: String(entry(deviations, index)),
    expected: "a positive standard deviation",
  });
}
