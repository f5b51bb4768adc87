/**
 * Vectorization: a function of single items becomes a function of stacks of them.
 */
import { at } from "../base/at.js";
import { ArgumentError, ShapeError } from "../base/errors.js";
import { formatShape, normalizeAxis } from "../base/shape.js";
import type { TreeStructure } from "../base/tree.js";
import { formatStructure, leafCount } from "../base/tree.js";
import { dependents } from "../transform/linearize.js";
import { simplify } from "../transform/simplify.js";
import { vmapGraph } from "../transform/vmap.js";
import type { StackedArguments, Traced } from "./argument.js";
import { evaluate } from "./bind.js";
import type { AnyFunction } from "./differentiate.js";
import { call, treeOf } from "./differentiate.js";
import type { NDArray } from "./ndarray.js";
import { slice } from "./np/indexing.js";
import { moveaxis } from "./np/layout.js";
import { flattenArguments, requireTraceable, traceFunction } from "./trace-function.js";

/** One axis for all leaves below, `null` for none, or a tree of such. */
export type AxisTree = number | null | readonly AxisTree[] | { readonly [key: string]: AxisTree };

type InAxes = number | readonly AxisTree[];

/** Where the stacked axes are. */
export interface VmapOptions<X extends InAxes = InAxes> {
  /**
   * One axis for all arguments (0 unless given), or a list with an axis, `null` or a tree of them for each argument. An
   * argument whose axis is `null` is passed as it is.
   */
  readonly inAxes?: X;
  /** Where the new axis goes in each result: 0 unless given, `null` for results that do not depend on the stack. */
  readonly outAxes?: AxisTree;
}

/** The axis of each leaf of a structure. */
function axesOf(argument: string, axes: AxisTree, structure: TreeStructure): (number | null)[] {
  if (axes === null || typeof axes === "number") {
    return new Array<number | null>(leafCount(structure)).fill(axes);
  }
  const refuse = (): never => {
    throw new ArgumentError({
      operation: "vmap",
      argument,
      found: JSON.stringify(axes),
      expected: `an axis, null, or a tree of them like ${formatStructure(structure)}`,
    });
  };
  if (structure.kind === "list" && Array.isArray(axes) && axes.length === structure.children.length) {
    const list: readonly AxisTree[] = axes;
    return structure.children.flatMap((child, i) => axesOf(argument, at(list, i), child));
  }
  if (structure.kind === "object" && !Array.isArray(axes)) {
    const byKey = axes as { readonly [key: string]: AxisTree };
    return structure.children.flatMap((child, i) => {
      const own = byKey[at(structure.keys, i)];
      return own === undefined ? refuse() : axesOf(argument, own, child);
    });
  }
  return refuse();
}

const isUnmapped = (axes: AxisTree): boolean =>
  axes === null || (typeof axes === "object" && Object.values(axes).every(isUnmapped));

/** The common extent of the stacked axes. */
function sizeOfStack(leaves: readonly NDArray[], axes: readonly (number | null)[]): number {
  const extents = leaves.map((leaf, i): number | null => {
    const axis = axes[i] ?? null;
    if (axis === null) return null;
    if (leaf.ndim > 0) return at(leaf.shape, normalizeAxis("vmap", axis, leaf.ndim));
    throw new ShapeError({
      operation: "vmap",
      argument: `leaf ${i}`,
      found: "a scalar",
      expected: `an array with an axis ${axis}`,
      remedy: "set inAxes to null for what is not stacked",
    });
  });
  const size = extents.find((extent) => extent !== null) ?? null;
  if (size === null) {
    throw new ArgumentError({
      operation: "vmap",
      argument: "inAxes",
      found: "null for every argument",
      expected: "at least one stacked axis",
    });
  }
  extents.forEach((extent, i) => {
    if (extent === null || extent === size) return;
    throw new ShapeError({
      operation: "vmap",
      argument: `leaf ${i}`,
      found: `of extent ${extent} along axis ${axes[i]} in ${formatShape(at(leaves, i).shape)}`,
      expected: `${size}, as the leaves before`,
    });
  });
  return size;
}

/**
 * `f` applied to every item of a stack at once: each argument gains an axis (the first unless `inAxes` says otherwise), and
 * so does each result (`outAxes`). It is one batched program, not a loop. Throws `ShapeError` where stacks differ in size.
 *
 * @example
 * ```ts
 * import { np, vmap } from "heddle";
 *
 * const norms = vmap((x) => np.sqrt(x.dot(x)));
 * console.log(norms([[3, 4], [5, 12]]).toArray()); // [ 5, 13 ]
 * ```
 */
export function vmap<P extends readonly NDArray[], R, const X extends InAxes = 0>(
  f: (...args: P) => R,
  options?: VmapOptions<X>,
): (...args: StackedArguments<P, X>) => Traced<R>;
export function vmap<P extends readonly unknown[], R, const X extends InAxes = 0>(
  f: (...args: P) => R,
  options?: VmapOptions<X>,
): (...args: StackedArguments<P, X>) => Traced<R>;
export function vmap(f: AnyFunction, { inAxes = 0, outAxes = 0 }: VmapOptions = {}) {
  requireTraceable("vmap", f);
  return (...args: readonly unknown[]): unknown => {
    const perArgument = typeof inAxes === "number" ? args.map(() => inAxes) : inAxes;
    if (perArgument.length !== args.length) {
      throw new ArgumentError({
        operation: "vmap",
        argument: "inAxes",
        found: `${perArgument.length} entries for ${args.length} arguments`,
        expected: "one for each",
      });
    }
    // Arguments without a stacked axis are passed as they are.
    const positions = args.map((_, i) => i).filter((i) => !isUnmapped(perArgument[i] ?? null));
    const argument = flattenArguments("vmap", args, positions);
    const axes = argument.parts.flatMap(({ structure }, i) =>
      axesOf(`inAxes[${at(positions, i)}]`, perArgument[at(positions, i)] ?? null, structure),
    );
    const size = sizeOfStack(argument.leaves, axes);
    const stacks = argument.leaves.map((leaf, i): NDArray => {
      const axis = axes[i] ?? null;
      return axis === null ? leaf : moveaxis(leaf, axis, 0);
    });
    const items = stacks.map((stack, i) => ({
      dtype: stack.dtype,
      shape: axes[i] == null ? stack.shape : stack.shape.slice(1),
    }));
    const traced = traceFunction("vmap", (leaves) => call(f, argument.rebuild(leaves)), items);
    const batched = [...stacks.map((_, i) => axes[i] != null), ...traced.captures.map(() => false)];
    const graph = simplify(vmapGraph(traced.graph, batched, size));
    const results = evaluate(graph, [...stacks, ...traced.captures]);
    const places = axesOf("outAxes", outAxes, traced.structure);
    const sources = traced.graph.inputs.filter((_, i) => batched[i]);
    const moving = dependents(traced.graph, sources);
    const placed = results.map((result, i): NDArray => {
      const place = places[i] ?? null;
      if (place !== null) return moveaxis(result, 0, place);
      if (moving.has(at(traced.graph.outputs, i))) {
        throw new ArgumentError({
          operation: "vmap",
          argument: "outAxes",
          found: `null for result ${i}, which depends on the stack`,
          expected: "an axis",
        });
      }
      return slice(result, 0);
    });
    return treeOf(traced.structure, placed);
  };
}
