/**
 * A user's function as a graph: it is called once with traced arrays, and what it does to them is recorded.
 */
import { ArgumentError } from "../base/errors.js";
import type { TreeStructure } from "../base/tree.js";
import { flattenWithPaths, unflatten } from "../base/tree.js";
import type { Aval, Graph } from "../ir/graph.js";
import { lift } from "./bind.js";
import type { ArrayInput } from "./input.js";
import { isArrayInput, toArray } from "./input.js";
import type { NDArray } from "./ndarray.js";
import { fromTrace } from "./ndarray.js";
import { withTrace } from "./trace.js";

/** A tree of arrays, flat. */
export interface FlatTree {
  readonly leaves: readonly NDArray[];
  readonly structure: TreeStructure;
}

function describe(value: unknown): string {
  if (value === undefined) return "undefined";
  if (typeof value === "string") return `the string ${JSON.stringify(value)}`;
  if (typeof value === "function") return "a function";
  if (typeof value === "object" && value !== null)
    return `an instance of ${value.constructor.name || "a class"}`;
  return `a ${typeof value}`;
}

function remedyFor(leaf: unknown): string {
  if (typeof leaf === "object") return "make its class a tree with tree.register";
  if (leaf === undefined) return "is a return or an argument missing? null is an empty tree";
  return "let the function refer to such a value from outside";
}

/**
 * Flattens a tree whose leaves are arrays or can become some. Throws `ArgumentError` naming the leaf that cannot.
 */
export function flattenArrays(operation: string, argument: string, value: unknown): FlatTree {
  const { leaves, structure } = flattenWithPaths(value);
  const arrays = leaves.map(({ leaf, path }): NDArray => {
    const where = `${argument}${path}`;
    if (isArrayInput(leaf) || ArrayBuffer.isView(leaf)) return toArray(operation, where, leaf as ArrayInput);
    throw new ArgumentError({
      operation,
      argument: where,
      found: describe(leaf),
      expected: "an array, a number, or a tree of them",
      remedy: remedyFor(leaf),
    });
  });
  return { leaves: arrays, structure };
}

/** A traced function. */
export interface TracedFunction {
  /** Inputs are the function's, then one for each captured value; outputs are the leaves of its result. */
  readonly graph: Graph;
  /** Values of enclosing traces that the function referred to. */
  readonly captures: readonly NDArray[];
  /** The structure of the result. */
  readonly structure: TreeStructure;
}

function refuseAsync(operation: string): never {
  throw new ArgumentError({
    operation,
    argument: "f",
    found: "an async function",
    expected: "a function that returns arrays at once",
    remedy: "await what it needs before, and let it refer to the results",
  });
}

const AsyncFunction = Object.getPrototypeOf(async () => {}) as object;
const isAsync = (f: object): boolean => Object.getPrototypeOf(f) === AsyncFunction;

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

/**
 * Calls `f` with traced arrays of the given types and records what it does. Throws `ArgumentError` if `f` is async or
 * returns what is not a tree of arrays.
 */
export function traceFunction(
  operation: string,
  f: (leaves: readonly NDArray[]) => unknown,
  inputs: readonly Aval[],
): TracedFunction {
  return withTrace(operation, (trace) => {
    const result = f(inputs.map((aval) => fromTrace(trace, trace.builder.input(aval))));
    if (isThenable(result)) {
      result.then(undefined, () => {});
      return refuseAsync(operation);
    }
    const { leaves, structure } = flattenArrays(operation, "the result of f", result);
    const outputs = leaves.map((leaf) => lift(trace, leaf));
    const captures = trace.captures.map((capture) => fromTrace(capture.trace, capture.id));
    return { graph: trace.finish(outputs), captures, structure };
  });
}

/** Refuses what is not a function that can be traced. */
export function requireTraceable(operation: string, f: unknown): void {
  if (typeof f !== "function") {
    throw new ArgumentError({
      operation,
      argument: "f",
      found: describe(f),
      expected: "a function of arrays",
    });
  }
  if (isAsync(f)) refuseAsync(operation);
}

/** A user's function over some of its arguments, as a function of their leaves; the other arguments are fixed. */
export interface ArgumentLeaves {
  /** The leaves of the chosen arguments, in order. */
  readonly leaves: readonly NDArray[];
  /** Builds the whole argument list from new leaves. */
  readonly rebuild: (leaves: readonly NDArray[]) => unknown[];
  /** The structure of each chosen argument and the number of its leaves. */
  readonly parts: readonly { readonly structure: TreeStructure; readonly count: number }[];
}

/** Flattens the arguments at the given positions. */
export function flattenArguments(
  operation: string,
  args: readonly unknown[],
  positions: readonly number[],
): ArgumentLeaves {
  const trees = positions.map((position) => flattenArrays(operation, `argument ${position}`, args[position]));
  const parts = trees.map(({ structure, leaves }) => ({ structure, count: leaves.length }));
  return {
    leaves: trees.flatMap(({ leaves }) => leaves),
    parts,
    rebuild: (leaves) => {
      const list = [...args];
      splitLeaves(parts, leaves).forEach((tree, i) => {
        const position = positions[i];
        if (position !== undefined) list[position] = tree;
      });
      return list;
    },
  };
}

/** Divides leaves among several structures, and puts each part together. */
export function splitLeaves(
  parts: readonly { readonly structure: TreeStructure; readonly count: number }[],
  leaves: readonly unknown[],
): unknown[] {
  let start = 0;
  return parts.map(({ structure, count }) => unflatten(structure, leaves.slice(start, (start += count))));
}
