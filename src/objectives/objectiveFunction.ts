/**
 * Many objectives as one function: their residuals concatenated, their Jacobian blocks in one matrix, each objective on
 * the rank that holds it.
 */
import type { ArrayInput, Lease, NDArray } from "../arrays/index.js";
import { ArgumentError } from "../base/errors.js";
import { at } from "../base/at.js";
import { defaultPool } from "../executor/defaultPool.js";
import type { Pool } from "../executor/pool.js";
import type { CallOptions, Engine, FunctionResult, Linearization, OutOptions } from "./engine.js";
import { costFrom, gradientOf, jacobianOf, leaseOf, productOf, residualOf, shapedAs } from "./engine.js";
import type { Entry } from "./entry.js";
import { checkData, makeEntries } from "./entry.js";
import type { Layout } from "./layout.js";
import { flattenInto, layoutOf } from "./layout.js";
import { flatVector } from "./methods.js";
import type { ArrayTree } from "./arrayTree.js";
import type { Objective } from "./objective.js";
import { definitionOf, requireObjectives } from "./objective.js";
import type { Parameters } from "./parameters.js";
import { coefficientsOf } from "./parameters.js";
import { PoolEngine } from "./poolEngine.js";
import type { Method } from "./programs.js";
import type { FunctionReport } from "./report.js";

/** One objective of an objective function. */
export interface ObjectiveRows {
  readonly name: string;
  /** Its rows of the residual and the Jacobian: from `start` to before `end`. */
  readonly rows: readonly [start: number, end: number];
}

/** The type of a gradient or a solution: coefficients as one array give one, trees give trees. */
export type GradientOf<X> = X extends ArrayInput
  ? NDArray<"float64">
  : X extends readonly unknown[] | Readonly<Record<string, unknown>>
    ? { readonly [K in keyof X]: GradientOf<X[K]> }
    : X;

/**
 * Objectives as one function of the coefficients. Results are f64, in the order in which the objectives were given, and
 * the same to the last bit on any number of ranks.
 */
export class ObjectiveFunction<X = unknown> {
  /** The number of residuals. */
  readonly dimF: number;
  /** The number of coefficients. */
  readonly dimX: number;
  readonly #layout: Layout;
  readonly #entries: readonly Entry[];
  readonly #engine: Engine;
  #disposed = false;

  /** @internal */
  constructor(layout: Layout, entries: readonly Entry[], engine: Engine) {
    this.#layout = layout;
    this.#entries = entries;
    this.#engine = engine;
    this.dimX = layout.size;
    this.dimF = entries.reduce((sum, entry) => sum + entry.dimF, 0);
  }

  /** The objectives and their rows. */
  get objectives(): readonly ObjectiveRows[] {
    return this.#entries.map(({ name, start, dimF }) => ({ name, rows: [start, start + dimF] as const }));
  }

  /** Coefficients as the flat vector that an optimizer moves. Throws `ShapeError` or `ArgumentError` if they do not fit. */
  flatten(x: ArrayTree): Float64Array {
    return flattenInto("flatten", "x", this.#layout, coefficientsOf(x));
  }

  /** A flat vector in the form in which the coefficients were given at build. */
  unflatten(x: Float64Array): GradientOf<X> {
    // `shapedAs` follows the form of the coefficients at build, as GradientOf says.
    return shapedAs(this.#layout, flatVector("unflatten", "x", this.dimX, x)) as GradientOf<X>;
  }

  async #evaluate(
    operation: string,
    method: Method,
    x: unknown,
    extra: Float64Array | null,
    { signal }: CallOptions,
    out: readonly Lease[] = [],
  ): Promise<FunctionResult> {
    this.#requireLive(operation);
    const flat = flattenInto(operation, "x", this.#layout, coefficientsOf(x));
    signal?.throwIfAborted();
    // From here on the memory of what was passed as `out` belongs to the call.
    for (const lease of out) lease.end();
    const options = { inPlace: out.length > 0, ...(signal === undefined ? {} : { signal }) };
    return this.#engine.evaluate(method, flat, extra, options);
  }

  #requireLive(operation: string): void {
    if (this.#disposed) {
      throw new ArgumentError({
        operation,
        found: "an objective function that was disposed of",
        remedy: "build a new one with objectiveFunction(...)",
      });
    }
  }

  /** The residuals of all objectives, [dimF]. */
  async residual(x: ArrayTree, options: CallOptions = {}): Promise<NDArray<"float64">> {
    return residualOf(await this.#evaluate("residual", "residual", x, null, options));
  }

  /** The Jacobian, [dimF, dimX]: a block of rows per objective, written in place by the ranks. */
  async jacobian(x: ArrayTree, options: OutOptions<NDArray> = {}): Promise<NDArray<"float64">> {
    const { out } = options;
    const shape = [this.dimF, this.dimX];
    const given = out === undefined ? [] : [leaseOf("jacobian", "out", out, shape)];
    return jacobianOf(await this.#evaluate("jacobian", "jacobian", x, null, options, given), this.dimX);
  }

  /** Residual and Jacobian in one round trip. */
  async linearize(x: ArrayTree, options: OutOptions<Linearization> = {}): Promise<Linearization> {
    const { out } = options;
    const given =
      out === undefined
        ? []
        : [
            leaseOf("linearize", "out.residual", out.residual, [this.dimF]),
            leaseOf("linearize", "out.jacobian", out.jacobian, [this.dimF, this.dimX]),
          ];
    const result = await this.#evaluate("linearize", "linearize", x, null, options, given);
    return { residual: residualOf(result), jacobian: jacobianOf(result, this.dimX) };
  }

  /** Half the sum of squares of the residual. */
  async cost(x: ArrayTree, options: CallOptions = {}): Promise<number> {
    return costFrom(await this.#evaluate("cost", "residual", x, null, options));
  }

  /** The gradient of the cost, Jᵀr, in the form of the coefficients. */
  async gradient(x: ArrayTree, options: CallOptions = {}): Promise<GradientOf<X>> {
    const result = await this.#evaluate("gradient", "gradient", x, null, options);
    // `gradientOf` follows the form of the coefficients at build, as GradientOf says.
    return gradientOf(this.#layout, result) as GradientOf<X>;
  }

  /** J·v for a tangent v of the coefficients, [dimF]. */
  async jvp(x: ArrayTree, v: ArrayTree, options: CallOptions = {}): Promise<NDArray<"float64">> {
    const tangent = flattenInto("jvp", "v", this.#layout, coefficientsOf(v));
    return productOf(await this.#evaluate("jvp", "jvp", x, tangent, options));
  }

  /** Jᵀw for a cotangent w of the residual, in the form of the coefficients. */
  async vjp(x: ArrayTree, w: ArrayTree, options: CallOptions = {}): Promise<GradientOf<X>> {
    const cotangent = flatVector("vjp", "w", this.dimF, w);
    const result = await this.#evaluate("vjp", "vjp", x, cotangent, options);
    // As in `gradient`.
    return gradientOf(this.#layout, result) as GradientOf<X>;
  }

  /**
   * Changes arrays of an objective's data, for the calls that follow; shapes and dtypes stay. Nothing is traced again.
   * Throws `ArgumentError`, `ShapeError` or `DTypeError` before anything has changed.
   */
  async setData(name: string, data: ArrayTree): Promise<void> {
    this.#requireLive("setData");
    const objective = this.#entries.findIndex((entry) => entry.name === name);
    if (objective < 0) {
      throw new ArgumentError({
        operation: "setData",
        argument: "name",
        found: JSON.stringify(name),
        expected: `one of ${this.#entries.map((entry) => entry.name).join(", ")}`,
      });
    }
    const entry = at(this.#entries, objective);
    for (const { leaf, data: fresh } of checkData("setData", entry, data)) {
      await this.#engine.write(objective, entry.data.indexOf(leaf), fresh);
    }
  }

  /** Where each objective runs, how it is differentiated, and where time went. */
  report(): FunctionReport {
    return this.#engine.report();
  }

  /** Gives its memory back; a pool that was passed in stays open. */
  async dispose(): Promise<void> {
    if (this.#disposed) return;
    this.#disposed = true;
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
 * console.log((await fun.jacobian([1, 2])).toArray()); // [ [ 2, 0 ], [ 0, 4 ], [ 1, 1 ] ]
 * ```
 */
export async function objectiveFunction<const X extends ArrayTree>(
  objectives: readonly Objective[],
  options: ObjectiveFunctionOptions<X>,
): Promise<ObjectiveFunction<CoefficientsOf<X>>> {
  const { layout, entries } = buildEntries("objectiveFunction", objectives, options.x);
  const pool = options.pool ?? (await defaultPool());
  return new ObjectiveFunction(layout, entries, new PoolEngine(pool, entries, layout, objectives));
}
