/**
 * The same function without a pool: objectives one after the other in the calling thread. It is the loop that heddle
 * replaces, the reference in tests, and what to debug with.
 */
import { Lease } from "../arrays/index.js";
import { at } from "../base/at.js";
import { requireKnownOptions } from "../base/options.js";
import type { ArrayTree } from "./arrayTree.js";
import type { Engine, FunctionResult } from "./engine.js";
import type { Entry } from "./entry.js";
import { LocalEngine } from "./localEngine.js";
import type { Objective } from "./objective.js";
import type { CoefficientsOf } from "./objectiveFunction.js";
import { buildEntries, ObjectiveFunction } from "./objectiveFunction.js";
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
    const lease = (key: "residual" | "jacobian", columns: number): Lease =>
      new Lease(join(key, columns), "own");
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
): ObjectiveFunction<CoefficientsOf<X>> {
  requireKnownOptions("sequential", options, ["x"]);
  const { layout, entries } = buildEntries("sequential", objectives, options.x);
  const local = new LocalEngine(entries, layout.size);
  const evaluateNow = evaluateInTurn(local, entries, layout.size);
  const engine: Engine = {
    evaluateNow,
    evaluate: async (method, x, extra, { signal }) => {
      signal?.throwIfAborted();
      return Promise.resolve(evaluateNow(method, x, extra));
    },
    writeNow: (objective, leaf, data) => local.write(objective, leaf, data),
    write: async (objective, leaf, data) => {
      local.write(objective, leaf, data);
      return Promise.resolve();
    },
    report: () => localReport(entries, local.times),
    disposeNow: () => local.free(),
    dispose: async () => {
      local.free();
      return Promise.resolve();
    },
  };
  return new ObjectiveFunction<CoefficientsOf<X>>(layout, entries, engine);
}
