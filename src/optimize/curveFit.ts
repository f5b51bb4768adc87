/**
 * `curveFit`: the parameters of a curve from noisy observations, by name and with standard errors.
 */
import { curveData, byName } from "./curveData.js";
import type { CurveData, Parameters, PerParameter } from "./curveData.js";
import { inverseNormalMatrix } from "./covariance.js";
import { entry } from "./entry.js";
import { differenceAccuracy } from "./finiteDifference.js";
import type { DifferenceScheme } from "./finiteDifference.js";
import { solveProblem } from "./leastSquares.js";
import type { LeastSquaresOptions } from "./leastSquares.js";
import { plainCurveProblem } from "./plainCurve.js";
import type { PlainCurve, PlainCurveJacobian } from "./plainCurve.js";
import type { NumericVector } from "./plainProblem.js";
import type { LeastSquaresResult } from "./result.js";

/** The options of every curve fit. Tolerances are 1e-12 and `maxNfev` is `200·(n + 1)` unless given. */
export interface CurveFitOptions<P extends PerParameter<P>> extends Omit<LeastSquaresOptions, "xScale"> {
  /** The parameters by name, with the values to start from. */
  readonly p0: P;
  /** The standard deviation of each observation; all alike by default. */
  readonly sigma?: NumericVector | undefined;
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

const standardTolerance = 1e-12;

/**
 * Fits `f(x, parameters)` to `ydata` at `xdata` by least squares.
 *
 * @throws ArgumentError, ShapeError, NonFiniteError as `leastSquares` does.
 */
export async function curveFit<X, P extends PerParameter<P>>(
  f: PlainCurve<X, P>,
  xdata: X,
  ydata: NumericVector,
  options: PlainCurveFitOptions<X, P>,
): Promise<CurveFitResult<P>> {
  const operation = "curveFit";
  const data = curveData(operation, ydata, options.p0, options.sigma);
  const problem = plainCurveProblem(operation, f, options.jac, xdata, data);
  const { xScale = "jac", maxNfev = 200 * (data.names.length + 1) } = options;
  const fit = await solveProblem(
    operation,
    problem,
    data.start,
    { ...options, maxNfev, xScale: scaleInOrder(xScale, data.names) },
    standardTolerance,
  );
  const accuracy = typeof options.jac === "string" ? differenceAccuracy[options.jac] : undefined;
  return { ...fit, ...uncertainty<P>(fit, data, options.absoluteSigma ?? false, accuracy) };
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
