/**
 * `curveFit`: the parameters of a curve from noisy observations, by name and with standard errors.
 */
import { ArgumentError } from "../base/errors.js";
import { curveData, byName } from "./curveData.js";
import type { CurveData, Parameters, PerParameter, VectorInput } from "./curveData.js";
import { inverseNormalMatrix } from "./covariance.js";
import { entry } from "./entry.js";
import { differenceAccuracy } from "./finiteDifference.js";
import type { DifferenceScheme } from "./finiteDifference.js";
import { formulaProblem } from "./formulaCurve.js";
import { solveProblem, requireLeastSquaresOptions } from "./leastSquares.js";
import type { LeastSquaresOptions } from "./leastSquares.js";
import { plainCurveProblem } from "./plainCurve.js";
import type { PlainCurve, PlainCurveJacobian } from "./plainCurve.js";
import type { LeastSquaresResult } from "./result.js";
import { tracedCurveProblem } from "./tracedCurve.js";
import type { CurveProblem, TracedCurve, XData } from "./tracedCurve.js";

/** The options of every curve fit. Tolerances are 1e-12 and `maxNfev` is `200·(n + 1)` unless given. */
export interface CurveFitOptions<P extends PerParameter<P>> extends Omit<LeastSquaresOptions, "xScale"> {
  /** The parameters by name, with the values to start from. */
  readonly p0: P;
  /** The standard deviation of each observation; all alike by default. */
  readonly sigma?: VectorInput | undefined;
  /** True if `sigma` is in the units of `ydata`; false (default) if only the ratios count. */
  readonly absoluteSigma?: boolean | undefined;
  /** The size of each parameter, or `"jac"` (the default). */
  readonly xScale?: PerParameter<P> | "jac" | undefined;
}

/** The options for a model that is a plain function. */
export interface PlainCurveFitOptions<X, P extends PerParameter<P>> extends CurveFitOptions<P> {
  /** The derivatives of the model, or how to find them by differences. */
  readonly jac: DifferenceScheme | PlainCurveJacobian<X, P>;
}

/** A fitted curve. Everything that is indexed by parameter follows `names`. */
export interface CurveFitResult<P> extends LeastSquaresResult {
  /** The fitted parameters. */
  readonly popt: PerParameter<P>;
  /** Their standard errors; infinite where the data do not determine them. */
  readonly stderr: PerParameter<P>;
  /** Their covariance, `[n, n]`. */
  readonly pcov: number[][];
  /** The names of the parameters, sorted. */
  readonly names: readonly string[];
  /** What to know before believing the result: a lack of convergence, a covariance that cannot be estimated. */
  readonly warnings: readonly string[];
}

const operation = "curveFit";
const standardTolerance = 1e-12;

/**
 * Fits a curve to `ydata`, observed at `xdata`, by least squares (Levenberg-Marquardt). The model is one of
 *
 * - an array program `(x, { a, b }) => ...` over `NDArray`s, which is traced and differentiated exactly. `xdata` is a
 *   vector, or a list of vectors (then `x` is `[k, m]`), or an object of them (then `x` is an object of arrays);
 * - a formula such as `"a * (1 - exp(-b * x))"`, parsed and never run as code. Its names are the parameters, `x` or the
 *   names of an object `xdata`, `pi` and `e`;
 * - with `jac`, a plain function of numbers, sync or async, which gets `xdata` as it is.
 *
 * The covariance is `(JᵀJ)⁻¹`, times the variance of the residuals unless `absoluteSigma`.
 *
 * @throws {ArgumentError} {ShapeError} for bad input
 * @throws {NonFiniteError} as `leastSquares` does
 *
 * @example
 * ```ts
 * import { curveFit, np } from "heddle";
 *
 * const time = [0, 1, 2, 3, 4];
 * const level = [5.02, 3.01, 1.84, 1.09, 0.68];
 * const p0 = { a: 1, b: 1 };
 * const fit = await curveFit((t, { a, b }) => a.mul(np.exp(t.mul(b).neg())), time, level, { p0 });
 * console.log(fit.popt.b.toFixed(3), "±", fit.stderr.b.toFixed(3)); // 0.505 ± 0.003
 *
 * const same = await curveFit("a * exp(-b * t)", { t: time }, level, { p0 });
 * console.log(same.popt.b.toFixed(3)); // 0.505
 * ```
 */
export function curveFit<P extends PerParameter<P>>(
  formula: string,
  xdata: XData,
  ydata: VectorInput,
  options: CurveFitOptions<P>,
): Promise<CurveFitResult<P>>;
export function curveFit<X, P extends PerParameter<P>>(
  f: PlainCurve<X, P>,
  xdata: X,
  ydata: VectorInput,
  options: PlainCurveFitOptions<X, P>,
): Promise<CurveFitResult<P>>;
export function curveFit<X extends XData, P extends PerParameter<P>>(
  f: TracedCurve<X, P>,
  xdata: X,
  ydata: VectorInput,
  options: CurveFitOptions<P>,
): Promise<CurveFitResult<P>>;
export async function curveFit<P extends PerParameter<P>>(
  f: unknown,
  xdata: unknown,
  ydata: VectorInput,
  // A caller without types can leave the options out; what is missing is then named.
  options?: CurveFitOptions<P> & { readonly jac?: DifferenceScheme | PlainCurveJacobian<unknown, P> },
): Promise<CurveFitResult<P>> {
  requireLeastSquaresOptions(operation, options ?? {}, ["p0", "sigma", "absoluteSigma", "jac"]);
  const { absoluteSigma = false, jac, maxNfev, sigma, xScale = "jac" } = options ?? {};
  const data = curveData(operation, ydata, options?.p0, sigma);
  const problem = problemOf<P>(f, xdata, data, jac);
  const settings = {
    ...options,
    maxNfev: maxNfev ?? 200 * (data.names.length + 1),
    xScale: scaleInOrder(xScale, data.names),
  };
  try {
    const fit = await solveProblem(operation, problem, data.start, settings, standardTolerance);
    const accuracy = typeof jac === "string" ? differenceAccuracy[jac] : undefined;
    return { ...fit, ...uncertainty<P>(fit, data, absoluteSigma, accuracy) };
  } finally {
    problem.release?.();
  }
}

/** The overloads promise what each kind of model goes with; the casts below restate it. */
function problemOf<P>(
  f: unknown,
  xdata: unknown,
  data: CurveData,
  jac: DifferenceScheme | PlainCurveJacobian<unknown, P> | undefined,
): CurveProblem {
  if (typeof f === "string") {
    if (jac !== undefined) {
      throw new ArgumentError({
        operation,
        argument: "options.jac",
        found: "given",
        expected: "none, because a formula is differentiated exactly",
        remedy: "leave it out",
      });
    }
    return formulaProblem(operation, f, xdata as XData, data);
  }
  if (typeof f !== "function") {
    const expected = "a function of x and parameters, or a formula";
    throw new ArgumentError({ operation, argument: "f", found: f === null ? "null" : typeof f, expected });
  }
  return jac === undefined
    ? tracedCurveProblem(operation, f as TracedCurve<XData, P>, xdata as XData, data)
    : plainCurveProblem(operation, f as PlainCurve<unknown, P>, jac, xdata, data);
}

function scaleInOrder(xScale: Parameters | "jac", names: readonly string[]): number[] | "jac" {
  // A scale that is missing is refused with the scales that are not positive.
  return typeof xScale === "string" ? xScale : names.map((name) => xScale[name] ?? NaN);
}

/** Parameters by name and how certain they are. */
function uncertainty<P>(
  fit: LeastSquaresResult,
  { names, y }: CurveData,
  absoluteSigma: boolean,
  accuracy: number | undefined,
): Pick<CurveFitResult<P>, "popt" | "stderr" | "pcov" | "names" | "warnings"> {
  const m = y.length;
  const n = names.length;
  const inverse = inverseNormalMatrix(fit.jac, m, n, accuracy);
  const warnings: string[] = [];
  if (!fit.success) warnings.push(`The fit did not converge: ${fit.message}`);
  if (inverse === undefined) {
    warnings.push(
      "The data do not determine all parameters (the Jacobian is rank-deficient): variances are infinite.",
    );
  } else if (!absoluteSigma && m === n) {
    warnings.push(
      "There are as many parameters as observations, so the noise is unknown: variances are infinite.",
    );
  }
  const variance = absoluteSigma ? 1 : m > n ? (2 * fit.cost) / (m - n) : Infinity;
  const covariance = (i: number, j: number): number =>
    inverse === undefined || variance === Infinity ? Infinity : entry(inverse, i * n + j) * variance;
  const pcov = names.map((_, i) => names.map((__, j) => covariance(i, j)));
  return {
    popt: byName<P>(names, fit.x),
    stderr: byName<P>(
      names,
      Float64Array.from(names, (_, j) => Math.sqrt(covariance(j, j))),
    ),
    pcov,
    names,
    warnings,
  };
}
