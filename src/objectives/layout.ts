/**
 * Where each array of the coefficients lies in the flat vector that optimizers move. A tree is flattened by sorted keys;
 * columns of a Jacobian follow the same order.
 */
import type { NDArray } from "../arrays/index.js";
import type { ArrayInput } from "../arrays/index.js";
import { toArray } from "../arrays/index.js";
import { at } from "../base/at.js";
import { ArgumentError, ShapeError } from "../base/errors.js";
import type { Shape } from "../base/shape.js";
import { formatShape, sameShape, sizeOf } from "../base/shape.js";
import type { TreeStructure } from "../base/tree.js";
import { flattenWithPaths, formatStructure, leafCount, structureKey } from "../base/tree.js";

/** One array of the coefficients. */
export interface Leaf {
  /** Where it stands in the tree: `.wall[0]`; empty if the coefficients are one array. */
  readonly path: string;
  readonly shape: Shape;
  /** Its first element in the flat vector. */
  readonly start: number;
  readonly size: number;
}

/** The arrangement of the coefficients. */
export interface Layout {
  readonly structure: TreeStructure;
  readonly leaves: readonly Leaf[];
  /** The length of the flat vector. */
  readonly size: number;
}

const isVector = (layout: Layout): boolean => layout.structure.kind === "leaf";

/** An element of a tree as an array of floats; `argument` names it in errors. */
function leafArray(operation: string, argument: string, leaf: unknown): NDArray {
  // `toArray` refuses, with a typed error, whatever is not an array.
  const array = toArray(operation, argument, leaf as ArrayInput);
  if (array.dtype === "bool") {
    throw new ArgumentError({
      operation,
      argument,
      found: "booleans",
      expected: "numbers, since coefficients are differentiated",
    });
  }
  return array;
}

/** The arrangement of coefficients that are given as an array or a tree of arrays. */
export function layoutOf(operation: string, x: unknown): Layout {
  const { leaves, structure } = flattenWithPaths(x);
  let start = 0;
  const placed = leaves.map(({ leaf, path }) => {
    const { shape } = leafArray(operation, `x${path}`, leaf);
    const own = { path, shape, start, size: sizeOf(shape) };
    start += own.size;
    return own;
  });
  if (start === 0) {
    throw new ArgumentError({
      operation,
      argument: "x",
      found: placed.length === 0 ? "a tree without arrays" : "no elements",
      expected: "at least one coefficient",
    });
  }
  return { structure, leaves: placed, size: start };
}

/**
 * Coefficients as a flat vector: a tree of the layout's structure, or the flat vector itself. Throws `ShapeError` where
 * lengths or shapes differ from the layout's.
 */
export function flattenInto(operation: string, argument: string, layout: Layout, x: unknown): Float64Array {
  const { leaves, structure } = flattenWithPaths(x);
  const flat = new Float64Array(layout.size);
  if (structure.kind === "leaf") {
    const array = leafArray(operation, argument, at(leaves, 0).leaf);
    const own = isVector(layout) && sameShape(array.shape, at(layout.leaves, 0).shape);
    if (own || (array.ndim === 1 && array.size === layout.size)) {
      flat.set(array.data);
      return flat;
    }
    throw new ShapeError({
      operation,
      argument,
      found: formatShape(array.shape),
      expected: `${formatShape(isVector(layout) ? at(layout.leaves, 0).shape : [layout.size])}, as the objectives were built for`,
    });
  }
  if (structureKey(structure) !== structureKey(layout.structure)) {
    throw new ArgumentError({
      operation,
      argument,
      found: `a tree ${formatStructure(structure)}`,
      expected: `${formatStructure(layout.structure)}, as the objectives were built for, or a vector of ${layout.size}`,
    });
  }
  layout.leaves.forEach(({ path, shape, start }, position) => {
    const array = leafArray(operation, `${argument}${path}`, at(leaves, position).leaf);
    if (!sameShape(array.shape, shape)) {
      throw new ShapeError({
        operation,
        argument: `${argument}${path}`,
        found: formatShape(array.shape),
        expected: `${formatShape(shape)}, as the objectives were built for`,
      });
    }
    flat.set(array.data, start);
  });
  return flat;
}

/** A part of the coefficients that an objective sees: leaves, and how they stand in what its function is given. */
export interface LayoutPart {
  readonly leaves: readonly Leaf[];
  readonly structure: TreeStructure;
  /** The number of coefficients seen. */
  readonly size: number;
}

/** The parts of a tree by the names of its keys; everything, if no names are given. */
export function selectParts(
  operation: string,
  layout: Layout,
  names: readonly string[] | undefined,
): LayoutPart {
  if (names === undefined) return { leaves: layout.leaves, structure: layout.structure, size: layout.size };
  const { structure } = layout;
  if (structure.kind !== "object") {
    throw new ArgumentError({
      operation,
      argument: "parts",
      found: names.join(", "),
      expected: "coefficients with named parts, made by parameters({ ... })",
    });
  }
  const leaves: Leaf[] = [];
  const children: TreeStructure[] = [];
  const keys = [...names].sort();
  let next = 0;
  structure.keys.forEach((key, position) => {
    const child = at(structure.children, position);
    const count = leafCount(child);
    if (keys.includes(key)) {
      leaves.push(...layout.leaves.slice(next, next + count));
      children.push(child);
    }
    next += count;
  });
  const unknown = keys.find((key) => !structure.keys.includes(key));
  if (unknown !== undefined || children.length === 0) {
    throw new ArgumentError({
      operation,
      argument: "parts",
      found: unknown === undefined ? "no names" : `"${unknown}"`,
      expected: `names out of ${structure.keys.join(", ")}`,
    });
  }
  return {
    leaves,
    structure: { kind: "object", keys, children },
    size: leaves.reduce((sum, leaf) => sum + leaf.size, 0),
  };
}
