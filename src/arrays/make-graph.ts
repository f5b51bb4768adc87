/**
 * The graph of a function, to look at.
 */
import type { Graph } from "../ir/graph.js";
import { printGraph } from "../ir/print.js";
import type { Arguments } from "./argument.js";
import type { NDArray } from "./ndarray.js";
import { flattenArguments, requireTraceable, traceFunction } from "./trace-function.js";

/** A traced function that prints as its graph. */
export class PrintedGraph {
  /** The graph: inputs are the leaves of the arguments, outputs the leaves of the result. */
  readonly graph: Graph;

  constructor(graph: Graph) {
    this.graph = graph;
  }

  toString(): string {
    return printGraph(this.graph);
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return printGraph(this.graph);
  }
}

type GraphMaker<P> = (...args: Arguments<P>) => PrintedGraph;

/**
 * Traces `f` instead of running it: `makeGraph(f)(...args)` gives the graph of what `f` does to arguments of these types. It
 * prints as text, with a type for every value.
 *
 * @example
 * ```ts
 * import { makeGraph, np } from "heddle";
 *
 * const a = np.array([[1, 2], [3, 4], [5, 6]]);
 * console.log(String(makeGraph((c) => np.dot(a, c).tanh())(np.ones(2))));
 * ```
 *
 * <!-- output -->
 *
 * ```text
 * graph(a: f64[2]) {
 *   const k0: f64[3,2]
 *   b: f64[3] = contract["i j, j -> i"] k0 a
 *   c: f64[3] = tanh b
 *   return c
 * }
 * ```
 */
export function makeGraph<P extends readonly NDArray[]>(f: (...args: P) => unknown): GraphMaker<P>;
export function makeGraph<P extends readonly unknown[]>(f: (...args: P) => unknown): GraphMaker<P>;
export function makeGraph<P extends readonly unknown[]>(f: (...args: P) => unknown): GraphMaker<P> {
  requireTraceable("makeGraph", f);
  return (...args: readonly unknown[]) => {
    const { leaves, rebuild } = flattenArguments(
      "makeGraph",
      args,
      args.map((_, i) => i),
    );
    const traced = traceFunction("makeGraph", (inner) => f(...(rebuild(inner) as unknown as P)), leaves);
    return new PrintedGraph(traced.graph);
  };
}
