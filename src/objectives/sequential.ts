/**
 * The same function without a pool: objectives one after the other in the calling thread. It is the loop that heddle
 * replaces, the reference in tests, and what to debug with.
 */
import type { NDArray } from "../arrays/index.js";
import { Lease } from "../arrays/index.js";
import { at } from "../base/at.js";
import type { Engine, FunctionResult, Linearization } from "./engine.js";
import { costFrom, gradientOf, jacobianOf, productOf, residualOf } from "./engine.js";
import type { Entry } from "./entry.js";
import type { Layout } from "./layout.js";
import { flattenInto } from "./layout.js";
import { LocalEngine } from "./localEngine.js";
import { flatVector } from "./methods.js";
import type { ArrayTree } from "./arrayTree.js";
import type { Objective } from "./objective.js";
import type { CoefficientsOf, GradientOf } from "./objectiveFunction.js";
import { buildEntries, ObjectiveFunction } from "./objectiveFunction.js";
import { coefficientsOf } from "./parameters.js";
import type { Method } from "./programs.js";
import { localReport } from "./report.js";

type Evaluate = (method: Method, x: Float64Array, extra: Float64Array | null) => FunctionResult;

/** Evaluates entries in turn and joins what they give. */
function evaluateInTurn(local: LocalEngine, entries: readonly Entry[], dimX: number): Evaluate {
  const dimF = entries.reduce((sum, entry) => sum + entry.dimF, 0);
  return (method, x, extra) => {
    const results = entries.map(({ start, dimF: rows }, objective) => {
      const own = method === "vjp" && extra !== null ? extra.subarray(start, start + rows) : extra;
      return local.evaluate(objective, method, x, own);
    });
    const join = (key: "residual" | "jacobian" | "product", columns: number): Float64Array => {
      const only = results.length === 1 ? results[0]?.[key] : undefined;
      if (only !== undefined) return only;
      const joined = new Float64Array(dimF * columns);
      results.forEach((result, objective) => {
        joined.set(result[key] ?? [], at(entries, objective).start * columns);
      });
      return joined;
    };
    const lease = (key: "residual" | "jacobian", columns: number): Lease => new Lease(join(key, columns));
    switch (method) {
      case "residual":
        return { residual: lease("residual", 1) };
      case "jacobian":
        return { jacobian: lease("jacobian", dimX) };
      case "linearize":
        return { residual: lease("residual", 1), jacobian: lease("jacobian", dimX) };
      case "jvp":
        return { product: join("product", 1) };
      case "vjp":
      case "gradient":
        return { gradients: results.map(({ gradient }) => gradient ?? new Float64Array(dimX)) };
    }
  };
}

/** The methods of an objective function that answer at once, for optimizers that expect plain functions. */
export class SyncFunction<X = unknown> {
  readonly #layout: Layout;
  readonly #dimF: number;
  readonly #evaluate: Evaluate;

  /** @internal */
  constructor(layout: Layout, dimF: number, evaluate: Evaluate) {
    this.#layout = layout;
    this.#dimF = dimF;
    this.#evaluate = evaluate;
  }

  #at(operation: string, x: unknown): Float64Array {
    return flattenInto(operation, "x", this.#layout, coefficientsOf(x));
  }

  /** The residuals of all objectives, [dimF]. */
  residual(x: ArrayTree): NDArray<"float64"> {
    return residualOf(this.#evaluate("residual", this.#at("residual", x), null));
  }

  /** The Jacobian, [dimF, dimX]. */
  jacobian(x: ArrayTree): NDArray<"float64"> {
    return jacobianOf(this.#evaluate("jacobian", this.#at("jacobian", x), null), this.#layout.size);
  }

  /** Residual and Jacobian together. */
  linearize(x: ArrayTree): Linearization {
    const result = this.#evaluate("linearize", this.#at("linearize", x), null);
    return { residual: residualOf(result), jacobian: jacobianOf(result, this.#layout.size) };
  }

  /** Half the sum of squares of the residual. */
  cost(x: ArrayTree): number {
    return costFrom(this.#evaluate("residual", this.#at("cost", x), null));
  }

  /** The gradient of the cost, in the form of the coefficients. */
  gradient(x: ArrayTree): GradientOf<X> {
    // `gradientOf` follows the form of the coefficients at build, as GradientOf says.
    return gradientOf(
      this.#layout,
      this.#evaluate("gradient", this.#at("gradient", x), null),
    ) as GradientOf<X>;
  }

  /** J·v, [dimF]. */
  jvp(x: ArrayTree, v: ArrayTree): NDArray<"float64"> {
    const tangent = flattenInto("jvp", "v", this.#layout, coefficientsOf(v));
    return productOf(this.#evaluate("jvp", this.#at("jvp", x), tangent));
  }

  /** Jᵀw, in the form of the coefficients. */
  vjp(x: ArrayTree, w: ArrayTree): GradientOf<X> {
    const cotangent = flatVector("vjp", "w", this.#dimF, w);
    // As in `gradient`.
    return gradientOf(this.#layout, this.#evaluate("vjp", this.#at("vjp", x), cotangent)) as GradientOf<X>;
  }
}

/** An objective function that needs no pool; `sync` answers at once. */
export type SequentialFunction<X = unknown> = ObjectiveFunction<X> & { readonly sync: SyncFunction<X> };

/**
 * Joins objectives into one function that the calling thread evaluates, one objective after the other.
 *
 * @throws as `objectiveFunction` does
 *
 * @example
 * ```ts
 * import { np, objective, sequential } from "heddle";
 *
 * const fun = sequential([objective((c) => np.sin(c))], { x: [0, 0] });
 * console.log(fun.sync.jacobian([0, 0]).toArray()); // [ [ 1, 0 ], [ 0, 1 ] ]
 * ```
 */
export function sequential<const X extends ArrayTree>(
  objectives: readonly Objective[],
  options: { readonly x: X },
): SequentialFunction<CoefficientsOf<X>> {
  const { layout, entries } = buildEntries("sequential", objectives, options.x);
  const local = new LocalEngine(entries, layout.size);
  const evaluate = evaluateInTurn(local, entries, layout.size);
  const engine: Engine = {
    evaluate: async (method, x, extra, { signal }) => {
      signal?.throwIfAborted();
      return Promise.resolve(evaluate(method, x, extra));
    },
    write: async (objective, leaf, data) => {
      local.write(objective, leaf, data);
      return Promise.resolve();
    },
    report: () => localReport(entries, local.times),
    dispose: async () => {
      local.free();
      return Promise.resolve();
    },
  };
  const fun = new ObjectiveFunction<CoefficientsOf<X>>(layout, entries, engine);
  return Object.assign(fun, { sync: new SyncFunction<CoefficientsOf<X>>(layout, fun.dimF, evaluate) });
}
