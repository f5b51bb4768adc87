/**
 * Many objectives as one function: their residuals concatenated, their Jacobian blocks in one matrix, each objective on
 * the rank that holds it.
 */
import type { NDArray } from "../arrays/index.js";
import { requireKnownOptions } from "../base/options.js";
import { coreOf } from "../executor/cores.js";
import { defaultPool, defaultPoolNow } from "../executor/defaultPool.js";
import type { Pool } from "../executor/pool.js";
import type { ArrayTree } from "./arrayTree.js";
import type { CallOptions, Engine, Linearization, OutOptions } from "./engine.js";
import type { Entry } from "./entry.js";
import { makeEntries } from "./entry.js";
import type { GradientOf } from "./functionCalls.js";
import { evaluate, FunctionCalls } from "./functionCalls.js";
import type { Layout } from "./layout.js";
import { layoutOf } from "./layout.js";
import { flatVector } from "./methods.js";
import type { Objective } from "./objective.js";
import { definitionOf, requireObjectives } from "./objective.js";
import type { Parameters } from "./parameters.js";
import { coefficientsOf } from "./parameters.js";
import { PoolEngine } from "./poolEngine.js";
import type { FunctionReport } from "./report.js";
import { SyncFunction } from "./syncFunction.js";

/** One objective of an objective function. */
export interface ObjectiveRows {
  readonly name: string;
  /** Its rows of the residual and the Jacobian: from `start` to before `end`. */
  readonly rows: readonly [start: number, end: number];
}

/**
 * Objectives as one function of the coefficients. Results are f64, in the order in which the objectives were given, and
 * the same to the last bit on any number of ranks.
 */
export class ObjectiveFunction<X = unknown> {
  /** The number of residuals. */
  readonly dimF: number;
  /** The number of coefficients. */
  readonly dimX: number;
  /** The same methods for code that cannot await: they block the calling thread until the ranks are done. */
  readonly sync: SyncFunction<X>;
  readonly #calls: FunctionCalls<X>;
  readonly #engine: Engine;

  /** @internal */
  constructor(layout: Layout, entries: readonly Entry[], engine: Engine) {
    this.#calls = new FunctionCalls(layout, entries);
    this.#engine = engine;
    this.dimX = this.#calls.dimX;
    this.dimF = this.#calls.dimF;
    this.sync = new SyncFunction(this.#calls, engine);
  }

  /** The objectives and their rows. */
  get objectives(): readonly ObjectiveRows[] {
    return this.#calls.entries.map(({ name, start, dimF }) => ({
      name,
      rows: [start, start + dimF] as const,
    }));
  }

  /** Coefficients as the flat vector that an optimizer moves. Throws `ShapeError` or `ArgumentError` if they do not fit. */
  flatten(x: ArrayTree): Float64Array {
    return this.#calls.flatten("flatten", "x", x);
  }

  /** A flat vector in the form in which the coefficients were given at build. */
  unflatten(x: Float64Array): GradientOf<X> {
    return this.#calls.shaped(flatVector("unflatten", "x", this.dimX, x));
  }

  /** The residuals of all objectives, [dimF]. */
  async residual(x: ArrayTree, options: CallOptions = {}): Promise<NDArray<"float64">> {
    return evaluate(this.#engine, this.#calls.residual(x), options);
  }

  /** The Jacobian, [dimF, dimX]: a block of rows per objective, written in place by the ranks. */
  async jacobian(x: ArrayTree, options: OutOptions<NDArray> = {}): Promise<NDArray<"float64">> {
    return evaluate(this.#engine, this.#calls.jacobian(x, options), options);
  }

  /** Residual and Jacobian in one round trip. */
  async linearize(x: ArrayTree, options: OutOptions<Linearization> = {}): Promise<Linearization> {
    return evaluate(this.#engine, this.#calls.linearize(x, options), options);
  }

  /** Half the sum of squares of the residual. */
  async cost(x: ArrayTree, options: CallOptions = {}): Promise<number> {
    return evaluate(this.#engine, this.#calls.cost(x), options);
  }

  /** The gradient of the cost, Jᵀr, in the form of the coefficients. */
  async gradient(x: ArrayTree, options: CallOptions = {}): Promise<GradientOf<X>> {
    return evaluate(this.#engine, this.#calls.gradient(x), options);
  }

  /** J·v for a tangent v of the coefficients, [dimF]. */
  async jvp(x: ArrayTree, v: ArrayTree, options: CallOptions = {}): Promise<NDArray<"float64">> {
    return evaluate(this.#engine, this.#calls.jvp(x, v), options);
  }

  /** Jᵀw for a cotangent w of the residual, in the form of the coefficients. */
  async vjp(x: ArrayTree, w: ArrayTree, options: CallOptions = {}): Promise<GradientOf<X>> {
    return evaluate(this.#engine, this.#calls.vjp(x, w), options);
  }

  /**
   * Changes arrays of an objective's data, for the calls that follow; shapes and dtypes stay. Nothing is traced again.
   * Throws `ArgumentError`, `ShapeError` or `DTypeError` before anything has changed.
   */
  async setData(name: string, data: ArrayTree): Promise<void> {
    for (const { objective, leaf, data: fresh } of this.#calls.writes(name, data)) {
      await this.#engine.write(objective, leaf, fresh);
    }
  }

  /** Where each objective runs, how it is differentiated, and where time went. */
  report(): FunctionReport {
    return this.#engine.report();
  }

  /** Gives its memory back; a pool that was passed in stays open. */
  async dispose(): Promise<void> {
    if (this.#calls.disposed) return;
    this.#calls.disposed = true;
    await this.#engine.dispose();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }
}

/** How an objective function is built. */
export interface ObjectiveFunctionOptions<X> {
  /** Coefficients as all calls will give them: one array, a tree of arrays, or `parameters`. Only shapes matter. */
  readonly x: X;
  /** The pool whose ranks hold the objectives; the default pool if absent. */
  readonly pool?: Pool;
}

/** What `x` stands for: `parameters` for their values. */
export type CoefficientsOf<X> = X extends Parameters<infer T> ? T : X;

/** Traces objectives for coefficients. */
export function buildEntries(
  operation: string,
  objectives: readonly Objective[],
  x: unknown,
): { readonly layout: Layout; readonly entries: Entry[] } {
  const list = requireObjectives(operation, objectives);
  const layout = layoutOf(operation, coefficientsOf(x));
  return { layout, entries: makeEntries(operation, list.map(definitionOf), layout) };
}

/** Joins objectives into a function on a pool. */
function join<X extends ArrayTree>(
  objectives: readonly Objective[],
  { layout, entries }: ReturnType<typeof buildEntries>,
  pool: Pool,
): ObjectiveFunction<CoefficientsOf<X>> {
  return new ObjectiveFunction(layout, entries, new PoolEngine(pool, entries, layout, objectives));
}

/** Refuses options that do not exist, and a pool that is closed. */
function checked<O extends ObjectiveFunctionOptions<unknown>>(operation: string, options: O): O {
  requireKnownOptions(operation, options, ["x", "pool"]);
  if (options.pool !== undefined) coreOf(options.pool).queue.requireOpen(operation);
  return options;
}

async function build<const X extends ArrayTree>(
  objectives: readonly Objective[],
  options: ObjectiveFunctionOptions<X>,
): Promise<ObjectiveFunction<CoefficientsOf<X>>> {
  const built = buildEntries("objectiveFunction", objectives, checked("objectiveFunction", options).x);
  return join<X>(objectives, built, options.pool ?? (await defaultPool()));
}

function buildNow<const X extends ArrayTree>(
  objectives: readonly Objective[],
  options: ObjectiveFunctionOptions<X>,
): ObjectiveFunction<CoefficientsOf<X>> {
  const operation = "objectiveFunction.sync";
  const built = buildEntries(operation, objectives, checked(operation, options).x);
  return join<X>(objectives, built, options.pool ?? defaultPoolNow(operation));
}

/** How objectives are joined: awaited, and as `sync` blocking. */
export interface JoinObjectives {
  <const X extends ArrayTree>(
    objectives: readonly Objective[],
    options: ObjectiveFunctionOptions<X>,
  ): Promise<ObjectiveFunction<CoefficientsOf<X>>>;
  /** The same for code that cannot await. */
  sync<const X extends ArrayTree>(
    objectives: readonly Objective[],
    options: ObjectiveFunctionOptions<X>,
  ): ObjectiveFunction<CoefficientsOf<X>>;
}

/**
 * Joins objectives into one function and places them on the ranks of a pool.
 *
 * Objectives may be entirely different functions with results of any shapes. Each is traced, differentiated and compiled
 * for its rank; one call evaluates all at once.
 *
 * @throws {ArgumentError} for an empty list, equal names, or a rank that the pool does not have
 * @throws {ShapeError} if a target, bound or weight does not fit its objective's result
 *
 * @example
 * ```ts
 * import { createPool, np, objective, objectiveFunction } from "heddle";
 *
 * await using pool = await createPool({ ranks: 2 });
 * const squares = objective((c) => c.mul(c), { name: "squares", target: [1, 4] });
 * const sum = objective((c) => np.sum(c), { name: "sum", target: 3 });
 * const fun = await objectiveFunction([squares, sum], { x: [1, 2], pool });
 * console.log((await fun.residual([1, 2])).toArray()); // [ 0, 0, 0 ]
 * console.log(fun.sync.jacobian([1, 2]).toArray()); // [ [ 2, 0 ], [ 0, 4 ], [ 1, 1 ] ]
 * ```
 */
export const objectiveFunction: JoinObjectives = Object.assign(build, { sync: buildNow });
