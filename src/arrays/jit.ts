/**
 * Compilation of users' functions: traced once per types of arguments, then run as one program.
 */
import type { Storage } from "../base/dtype.js";
import { structureKey, unflatten } from "../base/tree.js";
import type { TreeStructure } from "../base/tree.js";
import type { Aval, Graph } from "../ir/graph.js";
import { formatAval } from "../ir/graph.js";
import { simplify } from "../transform/simplify.js";
import type { Arguments, Traced } from "./argument.js";
import { evaluate } from "./bind.js";
import type { AnyFunction } from "./differentiate.js";
import { avalOf, call } from "./differentiate.js";
import type { NDArray } from "./ndarray.js";
import { elementsNow, fromOwn } from "./ndarray.js";
import { Program } from "./program.js";
import { flattenArguments, flattenArrays, requireTraceable, traceFunction } from "./trace-function.js";

/** Types of arguments that one compiled function remembers. */
const mostSignatures = 64;

interface Compiled {
  readonly program: Program;
  readonly outputs: readonly Aval[];
  readonly structure: TreeStructure;
}

function compile(graph: Graph, structure: TreeStructure): Compiled {
  return {
    program: new Program(graph),
    outputs: graph.outputs.map((id) => avalOf(graph, id)),
    structure,
  };
}

/**
 * Compiles `f` for the calling thread: the first call with arguments of certain types (tree structure, shapes, dtypes)
 * traces it and compiles one program; later calls only run that. Arrays that `f` refers to become constants of the program, so it
 * must not depend on anything else that changes. Every argument is traced; numbers are f64 scalars. Inside another
 * transformation, `f` becomes part of what is traced.
 *
 * Throws `ConcretizationError` where `f` needs a number from a traced value.
 *
 * @example
 * ```ts
 * import { jit, np } from "heddle";
 *
 * const norm = jit((x) => np.sqrt(x.mul(x).sum()));
 * console.log(norm([3, 4]).item()); // 5
 * ```
 */
export function jit<P extends readonly NDArray[], R>(
  f: (...args: P) => R,
): (...args: Arguments<P>) => Traced<R>;
export function jit<P extends readonly unknown[], R>(
  f: (...args: P) => R,
): (...args: Arguments<P>) => Traced<R>;
export function jit(f: AnyFunction) {
  requireTraceable("jit", f);
  const cache = new Map<string, Compiled>();
  return (...args: readonly unknown[]): unknown => {
    const argument = flattenArguments(
      "jit",
      args,
      args.map((_, i) => i),
    );
    const { leaves, rebuild, parts } = argument;
    if (leaves.some((leaf) => leaf.traced)) {
      const inner = flattenArrays("jit", "the result of f", call(f, rebuild(leaves)));
      return unflatten(inner.structure, inner.leaves);
    }
    const structures = parts.map(({ structure }) => structureKey(structure));
    const key = `${structures.join()}|${leaves.map(formatAval).join()}`;
    let compiled = cache.get(key);
    if (compiled === undefined) {
      const traced = traceFunction("jit", (inner) => call(f, rebuild(inner)), leaves);
      const graph = simplify(traced.graph);
      // What depends on an enclosing trace is part of that, and must not be remembered.
      if (traced.captures.length > 0) {
        return unflatten(traced.structure, evaluate(graph, [...leaves, ...traced.captures]));
      }
      compiled = compile(graph, traced.structure);
    }
    // The most recently used one is the last.
    cache.delete(key);
    cache.set(key, compiled);
    if (cache.size > mostSignatures) {
      for (const [oldest, { program }] of cache) {
        program.release();
        cache.delete(oldest);
        break;
      }
    }
    const { program, outputs, structure } = compiled;
    const results = program.run(leaves.map(elementsNow));
    return unflatten(
      structure,
      results.map((data, i) => wrap(outputs, i, data)),
    );
  };
}

function wrap(outputs: readonly Aval[], position: number, data: Storage): NDArray {
  const aval = outputs[position];
  if (aval === undefined) throw new RangeError(`result ${position} has no type`);
  return fromOwn(aval.dtype, aval.shape, data);
}
