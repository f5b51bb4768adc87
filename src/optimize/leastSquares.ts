/**
 * `leastSquares`: nonlinear least squares with SciPy's options and result, over whatever adapts to a
 * `LeastSquaresProblem`. A method is a pair of a descent and a search; this file lists them and checks the options.
 */
import { ArgumentError, ShapeError } from "../base/errors.js";
import { requireKnownOptions } from "../base/options.js";
import type { Pool } from "../executor/pool.js";
import { Objective } from "../objectives/objective.js";
import type { ArrayTree } from "../objectives/arrayTree.js";
import type { CoefficientsOf } from "../objectives/objectiveFunction.js";
import { ObjectiveFunction, objectiveFunction } from "../objectives/objectiveFunction.js";
import { dampedGaussNewton } from "./descent.js";
import type { Descent, VariableScale } from "./descent.js";
import { entry } from "./entry.js";
import { reporterOf, standardLog } from "./iterationTable.js";
import type { Log, Verbosity } from "./iterationTable.js";
import { lossOf } from "./loss.js";
import type { LossFunction, LossName } from "./loss.js";
import { blockingProblem, objectiveProblem } from "./objectiveProblem.js";
import type { ObjectiveLeastSquaresResult } from "./objectiveProblem.js";
import { copyVector, plainProblem, requireJacobianOption } from "./plainProblem.js";
import type { NumericVector, PlainJacobianOption, PlainResidual } from "./plainProblem.js";
import type { LeastSquaresProblem } from "./problem.js";
import type { IterationState, LeastSquaresResult } from "./result.js";
import { trustRegionSearch } from "./search.js";
import type { Search } from "./search.js";
import { solve } from "./solve.js";
import { tolerancesOf } from "./termination.js";
import type { ToleranceOptions } from "./termination.js";
import type { Work } from "./work.js";
import { awaitWork, finishWork } from "./work.js";

/** The options of every least-squares problem. */
export interface LeastSquaresOptions extends ToleranceOptions {
  /** `"lm"` (Levenberg-Marquardt), the default and so far the only one. */
  readonly method?: string | undefined;
  /** Not yet taken by any method. */
  readonly bounds?: unknown;
  /** The size of each variable, or `"jac"` (the default) to take it from the columns of the Jacobian. */
  readonly xScale?: NumericVector | "jac" | undefined;
  /** A robust loss; `"linear"`, plain squares, by default. */
  readonly loss?: LossName | LossFunction | undefined;
  /** The residual size at which a loss begins to treat a row as an outlier; 1 by default. */
  readonly fScale?: number | undefined;
  /** The largest number of residual evaluations, finite differences not counted; `100·n` by default. */
  readonly maxNfev?: number | null | undefined;
  /** Called after each iteration; returning `true`, or a promise of it, stops with status -2. */
  readonly callback?: ((state: IterationState) => unknown) | undefined;
  /** 0: silent (default), 1: a closing sentence, 2: a table of iterations too. */
  readonly verbose?: Verbosity | undefined;
  /** Where `verbose` writes; the standard output by default. */
  readonly log?: Log | undefined;
  /** Aborting it rejects the call with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** The options for a plain function. */
export interface PlainLeastSquaresOptions extends LeastSquaresOptions {
  /** The Jacobian: a function, or finite differences (`"2-point"`, the default, or `"3-point"`). */
  readonly jac?: PlainJacobianOption | undefined;
}

/** A method: what proposes steps and what judges them. */
interface Composition {
  readonly descent: (scale: VariableScale) => Descent;
  readonly search: () => Search;
}

const methods: Readonly<Record<string, Composition>> = {
  lm: { descent: dampedGaussNewton, search: () => trustRegionSearch() },
};

/** The default of `ftol`, `xtol` and `gtol`. */
const standardTolerance = 1e-8;

/** The options for objectives. */
export interface ObjectiveLeastSquaresOptions extends LeastSquaresOptions {
  /** The pool whose ranks evaluate the objectives; the default pool if absent. */
  readonly pool?: Pool | undefined;
}

/** The names of all options, and of those that only one kind of problem has. */
const known = [
  "method",
  "bounds",
  "xScale",
  "loss",
  "fScale",
  "maxNfev",
  "callback",
  "verbose",
  "log",
  "signal",
  "ftol",
  "xtol",
  "gtol",
] as const satisfies readonly (keyof LeastSquaresOptions)[];

/** Refuses options that do not exist; `more` are those of the operation beyond the usual. */
export function requireLeastSquaresOptions(
  operation: string,
  options: unknown,
  more: readonly string[],
): void {
  requireKnownOptions(operation, options, [...known, ...more]);
}

type AnyProblem = PlainResidual | ObjectiveFunction | Objective | readonly Objective[];
type AnyOptions = PlainLeastSquaresOptions & ObjectiveLeastSquaresOptions;

async function fitAwaited(
  fun: AnyProblem,
  x0: NumericVector | ArrayTree,
  options: AnyOptions = {},
): Promise<LeastSquaresResult> {
  requireLeastSquaresOptions("leastSquares", options, typeof fun === "function" ? ["jac"] : ["pool"]);
  if (fun instanceof ObjectiveFunction) {
    const { signal } = options;
    const problem = objectiveProblem(fun, signal === undefined ? {} : { signal });
    return objectiveResult(fun, await awaitWork(objectiveWork(problem, fun, x0, options), signal));
  }
  const list = objectivesIn(fun);
  if (list !== undefined) {
    const built = await objectiveFunction(list, { x: x0, ...(options.pool ? { pool: options.pool } : {}) });
    try {
      return await fitAwaited(built, x0, options);
    } finally {
      await built.dispose();
    }
  }
  // What is left is a plain function over a vector, or is refused there.
  return awaitWork(plainWork(fun as PlainResidual, x0 as NumericVector, options), options.signal);
}

function fitNow(
  fun: AnyProblem,
  x0: NumericVector | ArrayTree,
  options: AnyOptions = {},
): LeastSquaresResult {
  const operation = "leastSquares.sync";
  requireLeastSquaresOptions(operation, options, typeof fun === "function" ? ["jac"] : ["pool"]);
  if (fun instanceof ObjectiveFunction) {
    const work = objectiveWork(blockingProblem(fun), fun, x0, options);
    return objectiveResult(fun, finishWork(operation, work));
  }
  const list = objectivesIn(fun);
  if (list !== undefined) {
    const built = objectiveFunction.sync(list, { x: x0, ...(options.pool ? { pool: options.pool } : {}) });
    try {
      return fitNow(built, x0, options);
    } finally {
      built.sync.dispose();
    }
  }
  // As above.
  return finishWork(operation, plainWork(fun as PlainResidual, x0 as NumericVector, options));
}

/** `leastSquares` in its awaited form, and as `sync` in one that blocks. */
export interface LeastSquares {
  <X>(
    fun: ObjectiveFunction<X>,
    x0: ArrayTree,
    options?: ObjectiveLeastSquaresOptions,
  ): Promise<ObjectiveLeastSquaresResult<X>>;
  <const X extends ArrayTree>(
    fun: Objective | readonly Objective[],
    x0: X,
    options?: ObjectiveLeastSquaresOptions,
  ): Promise<ObjectiveLeastSquaresResult<CoefficientsOf<X>>>;
  (fun: PlainResidual, x0: NumericVector, options?: PlainLeastSquaresOptions): Promise<LeastSquaresResult>;
  /**
   * The same for code that cannot await: it blocks the calling thread while the ranks evaluate objectives. Plain
   * functions and callbacks may not be async; a signal is looked at once, at the start.
   */
  readonly sync: {
    <X>(
      fun: ObjectiveFunction<X>,
      x0: ArrayTree,
      options?: ObjectiveLeastSquaresOptions,
    ): ObjectiveLeastSquaresResult<X>;
    <const X extends ArrayTree>(
      fun: Objective | readonly Objective[],
      x0: X,
      options?: ObjectiveLeastSquaresOptions,
    ): ObjectiveLeastSquaresResult<CoefficientsOf<X>>;
    (fun: PlainResidual, x0: NumericVector, options?: PlainLeastSquaresOptions): LeastSquaresResult;
  };
}

/**
 * Minimises `½‖fun(x)‖²` from `x0` by the method of Levenberg and Marquardt, in the form of Ceres Solver.
 *
 * `fun` is an objective function, an objective, a list of them, or a plain function from `x` (`Float64Array`, `[n]`) to
 * the residual (`Float64Array` or numbers, `[m]`), sync or async. Any m and n are fine, m < n included. The state lives in
 * the calling thread; objectives run on the ranks of a pool.
 *
 * `x0` is where to start: a vector; for objectives also the tree or the `parameters` that they were built for.
 * @throws {ArgumentError} {ShapeError} for bad input
 * @throws {NonFiniteError} for a residual or Jacobian with NaN or infinity where the run cannot step around it; it names
 * the objective. A non-finite residual at a trial point only shortens the step.
 *
 * @example
 * ```ts
 * import { leastSquares, np, objective } from "heddle";
 *
 * const rosenbrock = objective((x) => {
 *   const [a, b] = [x.slice(0), x.slice(1)];
 *   return np.stack([b.sub(a.mul(a)).mul(10), np.subtract(1, a)]);
 * });
 * const fit = await leastSquares(rosenbrock, [-1.2, 1]);
 * console.log(fit.success, fit.cost < 1e-20); // true true
 * ```
 */
// The two functions take and give what the interface says; its overloads cannot be written on an assignment.
export const leastSquares = Object.assign(fitAwaited, { sync: fitNow }) as unknown as LeastSquares;

/** The objectives that were given instead of a function of theirs. */
function objectivesIn(fun: AnyProblem): readonly Objective[] | undefined {
  if (fun instanceof Objective) return [fun];
  // Whatever else a list holds is refused where it is joined.
  return Array.isArray(fun) ? (fun as readonly Objective[]) : undefined;
}

function objectiveWork(
  problem: LeastSquaresProblem,
  fun: ObjectiveFunction,
  x0: ArrayTree,
  options: LeastSquaresOptions & { readonly jac?: unknown },
): Work<LeastSquaresResult> {
  const operation = "leastSquares";
  if (options.jac !== undefined) {
    throw new ArgumentError({
      operation,
      argument: "options.jac",
      found: "given",
      expected: "no Jacobian, because objectives are differentiated by heddle",
    });
  }
  return problemWork(operation, problem, fun.flatten(x0), options);
}

function objectiveResult<X>(
  fun: ObjectiveFunction<X>,
  fit: LeastSquaresResult,
): ObjectiveLeastSquaresResult<X> {
  return { ...fit, solution: fun.unflatten(fit.x) };
}

function plainWork(
  fun: PlainResidual,
  x0: NumericVector,
  options: PlainLeastSquaresOptions,
): Work<LeastSquaresResult> {
  const operation = "leastSquares";
  if (typeof fun !== "function") {
    throw new ArgumentError({
      operation,
      argument: "fun",
      found: typeof fun,
      expected:
        "a function from x to residuals, an objective, a list of objectives, or an objective function",
    });
  }
  const start = requireStart(operation, x0);
  const jac = requireJacobianOption(operation, options.jac ?? "2-point");
  const scale = scaleOf(operation, options.xScale, start.length);
  const typical = scale === "jac" ? start.map((value) => Math.abs(value) || 1) : scale;
  return problemWork(
    operation,
    plainProblem(operation, fun, jac, typical),
    start,
    options,
    standardTolerance,
  );
}

/** Solves any problem that adapts to the interface. `operation` is the public name to use in errors. */
export async function solveProblem(
  operation: string,
  problem: LeastSquaresProblem,
  x0: NumericVector,
  options: LeastSquaresOptions,
  tolerance = standardTolerance,
): Promise<LeastSquaresResult> {
  return awaitWork(problemWork(operation, problem, x0, options, tolerance), options.signal);
}

/** The run over a problem that adapts to the interface. Bad input is refused before it begins. */
function problemWork(
  operation: string,
  problem: LeastSquaresProblem,
  x0: NumericVector,
  options: LeastSquaresOptions,
  tolerance = standardTolerance,
): Work<LeastSquaresResult> {
  const start = requireStart(operation, x0);
  if (start.length !== problem.dimX) {
    throw new ShapeError({
      operation,
      argument: "x0",
      found: `${start.length} entries`,
      expected: `${problem.dimX}, the number of variables of the problem`,
    });
  }
  const { descent, search } = compositionOf(operation, options);
  options.signal?.throwIfAborted();
  return solve(problem, start, {
    operation,
    descent: descent(scaleOf(operation, options.xScale, start.length)),
    search: search(),
    loss: lossOf(operation, options.loss ?? "linear", options.fScale ?? 1),
    tolerances: tolerancesOf(operation, options, tolerance),
    maxNfev: evaluationsOf(operation, options.maxNfev ?? 100 * start.length),
    reporter: reporterOf(options.verbose ?? 0, options.log ?? standardLog),
    callback: options.callback,
  });
}

function compositionOf(operation: string, { method = "lm", bounds }: LeastSquaresOptions): Composition {
  const known = Object.keys(methods)
    .map((name) => `"${name}"`)
    .join(", ");
  const composition = Object.hasOwn(methods, method) ? methods[method] : undefined;
  if (composition === undefined) {
    throw new ArgumentError({
      operation,
      argument: "options.method",
      found: `"${method}"`,
      expected: `a method that exists: ${known}`,
      remedy: `leave it out, or use ${known}`,
    });
  }
  if (bounds != null) {
    throw new ArgumentError({
      operation,
      argument: "options.bounds",
      found: "given",
      expected: `no bounds, because no method that exists takes them (${known})`,
      remedy: "express the variable through one without bounds, for example its logarithm",
    });
  }
  return composition;
}

function requireStart(operation: string, x0: NumericVector): Float64Array {
  const start = copyVector(operation, "x0", x0);
  if (start.length === 0) {
    throw new ShapeError({ operation, argument: "x0", found: "empty", expected: "at least one variable" });
  }
  const index = start.findIndex((value) => !Number.isFinite(value));
  if (index >= 0) {
    throw new ArgumentError({
      operation,
      argument: `x0[${index}]`,
      found: String(entry(start, index)),
      expected: "a finite number",
    });
  }
  return start;
}

function scaleOf(operation: string, xScale: NumericVector | "jac" | undefined, n: number): VariableScale {
  if (xScale === undefined || xScale === "jac") return "jac";
  const argument = "options.xScale";
  const scale = copyVector(operation, argument, xScale);
  if (scale.length !== n) {
    throw new ShapeError({
      operation,
      argument,
      found: `${scale.length} entries`,
      expected: `${n}, one per variable`,
    });
  }
  if (!scale.every((size) => size > 0 && Number.isFinite(size))) {
    throw new ArgumentError({
      operation,
      argument,
      found: `[${scale.join(", ")}]`,
      expected: "positive numbers",
    });
  }
  return scale;
}

function evaluationsOf(operation: string, maxNfev: number): number {
  if (Number.isInteger(maxNfev) && maxNfev > 0) return maxNfev;
  throw new ArgumentError({
    operation,
    argument: "options.maxNfev",
    found: String(maxNfev),
    expected: "a positive integer",
  });
}
