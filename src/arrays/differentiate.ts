/**
 * What all derivatives of users' functions share: choosing the arguments, tracing the function over their leaves, and
 * refusing early what has no derivative.
 */
import { isFloating } from "../base/dtype.js";
import { ArgumentError, DerivativeError } from "../base/errors.js";
import type { TreeStructure } from "../base/tree.js";
import { unflatten } from "../base/tree.js";
import type { Graph, ValueId } from "../ir/graph.js";
import { formatAval } from "../ir/graph.js";
import { GraphBuilder } from "../primitives/builder.js";
import { simplify } from "../transform/simplify.js";
import type { Argnums } from "./argument.js";
import type { NDArray } from "./ndarray.js";
import type { ArgumentLeaves } from "./trace-function.js";
import { flattenArguments, requireTraceable, splitLeaves, traceFunction } from "./trace-function.js";

/** A user's function of a list of arguments, its types erased. */
export type AnyFunction = (...args: never[]) => unknown;

/** A function traced over the leaves of the arguments to differentiate in. */
export interface Differentiable {
  readonly graph: Graph;
  /** Values for the graph's inputs: the leaves, then values of enclosing traces, which count as constants. */
  readonly inputs: readonly NDArray[];
  /** True for the leaves. */
  readonly active: readonly boolean[];
  readonly argument: ArgumentLeaves;
  readonly structure: TreeStructure;
  /** Whether the positions were given as a list. */
  readonly several: boolean;
}

function positionsOf(operation: string, argnums: Argnums, count: number): number[] {
  const list = typeof argnums === "number" ? [argnums] : argnums;
  const positions = list.map((position) => (position < 0 ? position + count : position));
  const valid = positions.every(
    (position) => Number.isInteger(position) && position >= 0 && position < count,
  );
  if (!valid || positions.length === 0 || new Set(positions).size !== positions.length) {
    throw new ArgumentError({
      operation,
      argument: "argnums",
      found: JSON.stringify(argnums),
      expected:
        count === 0
          ? "a function that is called with arguments"
          : `distinct positions from 0 to ${count - 1}`,
    });
  }
  return positions;
}

/** Calls a function whose parameter types were checked where it was passed in. */
export function call(f: AnyFunction, args: readonly unknown[]): unknown {
  return (f as unknown as (...args: readonly unknown[]) => unknown)(...args);
}

/** Traces `f` over the chosen arguments; the others are passed as they are. */
export function differentiable(
  operation: string,
  f: AnyFunction,
  args: readonly unknown[],
  argnums: Argnums,
): Differentiable {
  requireTraceable(operation, f);
  const positions = positionsOf(operation, argnums, args.length);
  const argument = flattenArguments(operation, args, positions);
  argument.leaves.forEach((leaf, i) => {
    if (isFloating(leaf.dtype)) return;
    throw new DerivativeError({
      operation,
      argument: `leaf ${i} of the arguments ${JSON.stringify(positions)}`,
      found: formatAval(leaf),
      expected: "float64 or float32, since integers and booleans have no derivative",
      remedy: 'convert it with .astype("float64"), or choose other arguments with argnums',
    });
  });
  const traced = traceFunction(operation, (leaves) => call(f, argument.rebuild(leaves)), argument.leaves);
  return {
    graph: traced.graph,
    inputs: [...argument.leaves, ...traced.captures],
    active: [...argument.leaves.map(() => true), ...traced.captures.map(() => false)],
    argument,
    structure: traced.structure,
    several: typeof argnums !== "number",
  };
}

/** Derivatives per leaf as trees of the arguments. */
export function asArguments({ argument, several }: Differentiable, leaves: readonly NDArray[]): unknown {
  const trees = splitLeaves(argument.parts, leaves);
  return several ? trees : trees[0];
}

/** The structures of the value and of what goes beside it, for a function that returns `[value, aux]`. */
export function splitAux(
  operation: string,
  structure: TreeStructure,
  hasAux: boolean,
): { readonly value: TreeStructure; readonly aux: TreeStructure | null } {
  if (!hasAux) return { value: structure, aux: null };
  const [value, aux] = structure.kind === "list" ? structure.children : [];
  if (
    value === undefined ||
    aux === undefined ||
    (structure.kind === "list" && structure.children.length !== 2)
  ) {
    throw new ArgumentError({
      operation,
      argument: "the result of f",
      found: "not a pair",
      expected: "[value, aux], because of hasAux",
    });
  }
  return { value, aux };
}

/** A graph with the inputs of another one, simplified. */
export function compose(
  like: Graph,
  build: (b: GraphBuilder, inputs: readonly ValueId[]) => readonly ValueId[],
): Graph {
  const b = new GraphBuilder();
  const inputs = like.inputs.map((id) => b.input(avalOf(like, id)));
  return simplify(b.build(build(b, inputs)));
}

/** The type of a graph's value. */
export function avalOf(graph: Graph, id: ValueId): NonNullable<Graph["avals"][number]> {
  const aval = graph.avals[id];
  if (aval === undefined) throw new RangeError(`value ${id} has no type`);
  return aval;
}

/** Puts leaves into a structure. */
export function treeOf(structure: TreeStructure, leaves: readonly NDArray[]): unknown {
  return unflatten(structure, leaves);
}
