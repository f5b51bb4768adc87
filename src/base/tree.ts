/**
 * Trees: arrays inside arrays, plain objects and registered classes. Transformations take and return trees by flattening
 * them to a list of leaves and back, so that no other part of heddle needs to know how a user groups parameters.
 *
 * A list of numbers is one leaf, a vector, never a tree, and so are nested lists of nothing but numbers. Other lists, plain objects (by sorted keys) and instances of
 * registered classes are nodes. `null` is a node without leaves. Everything else, `undefined` included, is a leaf; who
 * computes with leaves refuses those that are not arrays.
 */
import { at } from "./at.js";
import { ArgumentError } from "./errors.js";

/** How instances of a class are taken apart and put together. */
export interface TreeRule<T> {
  /** The parts as a tree (a list or an object), and what is not an array and must be kept beside them. */
  readonly flatten: (value: T) => readonly [parts: unknown, rest?: unknown];
  /** Builds an instance from parts of the same structure and the kept rest. */
  readonly unflatten: (parts: never, rest: never) => T;
}

type Constructor<T> = abstract new (...args: never[]) => T;

/** The shape of a tree without its leaves. */
export type TreeStructure =
  | { readonly kind: "leaf" }
  | { readonly kind: "null" }
  | { readonly kind: "list"; readonly children: readonly TreeStructure[] }
  | { readonly kind: "object"; readonly keys: readonly string[]; readonly children: readonly TreeStructure[] }
  | { readonly kind: "class"; readonly type: object; readonly rest: unknown; readonly child: TreeStructure };

const rules = new Map<object, TreeRule<unknown>>();
const leafStructure: TreeStructure = { kind: "leaf" };
const nullStructure: TreeStructure = { kind: "null" };

/**
 * Makes instances of a class trees, so that they can be arguments and results of `jit`, `grad`, `vmap` and their kin.
 * Throws `ArgumentError` if the class is registered already.
 *
 * @example
 * ```ts
 * import { tree } from "heddle";
 *
 * class Line {
 *   slope: number[];
 *   name: string;
 *   constructor(slope: number[], name: string) {
 *     this.slope = slope;
 *     this.name = name;
 *   }
 * }
 * tree.register(Line, {
 *   flatten: (line) => [[line.slope], line.name],
 *   unflatten: ([slope]: [number[]], name: string) => new Line(slope, name),
 * });
 * console.log(tree.leaves({ b: new Line([2], "first"), a: [[1, 0], null] })); // [ [ 1, 0 ], [ 2 ] ]
 * ```
 */
export function register<T>(type: Constructor<T>, rule: TreeRule<T>): void {
  if (typeof type !== "function" || rules.has(type)) {
    throw new ArgumentError({
      operation: "tree.register",
      argument: "type",
      found: typeof type === "function" ? `${type.name}, which is registered already` : typeof type,
      expected: "a class, once",
    });
  }
  // Rules are looked up by an instance's own class, so each meets only instances of its T.
  rules.set(type, rule as unknown as TreeRule<unknown>);
}

const classOf = (value: object): object | undefined => {
  const { constructor } = value;
  return typeof constructor === "function" ? constructor : undefined;
};

/** Numbers, or lists of nothing else, to any depth: an array written as lists. */
const isNumeric = (value: unknown): boolean =>
  typeof value === "number" || (Array.isArray(value) && value.length > 0 && value.every(isNumeric));

function isPlain(value: object): value is Readonly<Record<string, unknown>> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** A leaf and where it stands in its tree: `.wall[0]`. */
export interface LeafWithPath {
  readonly leaf: unknown;
  readonly path: string;
}

function visit(
  value: unknown,
  path: string,
  leaves: LeafWithPath[],
  above: readonly object[],
): TreeStructure {
  if (value === null) return nullStructure;
  if (typeof value === "object") {
    if (above.includes(value)) {
      throw new ArgumentError({
        operation: "tree.flatten",
        argument: path === "" ? "value" : path,
        found: "an object that contains itself",
        expected: "a tree",
      });
    }
    const inside = [...above, value];
    const type = classOf(value);
    const rule = type === undefined ? undefined : rules.get(type);
    if (type !== undefined && rule !== undefined) {
      const [parts, rest] = rule.flatten(value);
      return { kind: "class", type, rest, child: visit(parts, path, leaves, inside) };
    }
    if (Array.isArray(value) && !isNumeric(value)) {
      const items: readonly unknown[] = value;
      return { kind: "list", children: items.map((item, i) => visit(item, `${path}[${i}]`, leaves, inside)) };
    }
    if (isPlain(value)) {
      const keys = Object.keys(value).sort();
      return {
        kind: "object",
        keys,
        children: keys.map((key) => visit(value[key], `${path}.${key}`, leaves, inside)),
      };
    }
  }
  leaves.push({ leaf: value, path });
  return leafStructure;
}

/** The leaves of a tree with their paths, in order, and its structure. */
export function flattenWithPaths(value: unknown): { leaves: LeafWithPath[]; structure: TreeStructure } {
  const leaves: LeafWithPath[] = [];
  const structure = visit(value, "", leaves, []);
  return { leaves, structure };
}

/** The leaves of a tree in order, and its structure. Objects are visited by sorted keys. */
export function flatten(value: unknown): [leaves: unknown[], structure: TreeStructure] {
  const { leaves, structure } = flattenWithPaths(value);
  return [leaves.map(({ leaf }) => leaf), structure];
}

/** The leaves of a tree, in order. */
export function leaves(value: unknown): unknown[] {
  return flatten(value)[0];
}

/** The structure of a tree. */
export function structure(value: unknown): TreeStructure {
  return flatten(value)[1];
}

/** The number of leaves. */
export function leafCount(of: TreeStructure): number {
  switch (of.kind) {
    case "leaf":
      return 1;
    case "null":
      return 0;
    case "class":
      return leafCount(of.child);
    case "list":
    case "object":
      return of.children.reduce((sum, child) => sum + leafCount(child), 0);
  }
}

function rebuild(of: TreeStructure, next: () => unknown): unknown {
  switch (of.kind) {
    case "leaf":
      return next();
    case "null":
      return null;
    case "list":
      return of.children.map((child) => rebuild(child, next));
    case "object":
      return Object.fromEntries(of.keys.map((key, i) => [key, rebuild(at(of.children, i), next)]));
    case "class": {
      const rule = rules.get(of.type);
      if (rule === undefined) {
        throw new ArgumentError({
          operation: "tree.unflatten",
          argument: "structure",
          found: "a class that is not registered here",
          remedy: "call tree.register first",
        });
      }
      // The rule's own types are erased in the registry; parts have the structure that its flatten gave them.
      return rule.unflatten(rebuild(of.child, next) as never, of.rest as never);
    }
  }
}

/** Puts leaves back into a structure. Throws `ArgumentError` if their number does not fit. */
export function unflatten(of: TreeStructure, items: readonly unknown[]): unknown {
  const expected = leafCount(of);
  if (items.length !== expected) {
    throw new ArgumentError({
      operation: "tree.unflatten",
      argument: "leaves",
      found: `${items.length} leaves`,
      expected: String(expected),
    });
  }
  let position = 0;
  return rebuild(of, () => items[position++]);
}

/** Applies `f` to each leaf of a tree, or to corresponding leaves of several trees of one structure. */
export function map(
  f: (...leaves: unknown[]) => unknown,
  first: unknown,
  ...rest: readonly unknown[]
): unknown {
  const [items, form] = flatten(first);
  const others = rest.map((other, i) => {
    const [otherLeaves, otherForm] = flatten(other);
    if (structureKey(otherForm) !== structureKey(form)) {
      throw new ArgumentError({
        operation: "tree.map",
        argument: `tree ${i + 1}`,
        found: `the structure ${formatStructure(otherForm)}`,
        expected: `${formatStructure(form)}, the structure of tree 0`,
      });
    }
    return otherLeaves;
  });
  return unflatten(
    form,
    items.map((leaf, i) => f(leaf, ...others.map((list) => list[i]))),
  );
}

/** A structure as it is printed: `{wall: *, coils: [*, *]}`. */
export function formatStructure(of: TreeStructure): string {
  switch (of.kind) {
    case "leaf":
      return "*";
    case "null":
      return "null";
    case "list":
      return `[${of.children.map(formatStructure).join(", ")}]`;
    case "object":
      return `{${of.keys.map((key, i) => `${key}: ${formatStructure(at(of.children, i))}`).join(", ")}}`;
    case "class":
      return `${"name" in of.type ? String(of.type.name) : "class"}(${formatStructure(of.child)})`;
  }
}

const identities = new WeakMap<object, number>();
let nextIdentity = 0;

function identityOf(value: object): number {
  const known = identities.get(value);
  if (known !== undefined) return known;
  identities.set(value, nextIdentity);
  return nextIdentity++;
}

/** Plain data is compared by value, other objects by identity. */
function restKey(value: unknown): string {
  if (typeof value === "function") return `#${identityOf(value)}`;
  if (typeof value !== "object" || value === null) return `${typeof value}:${String(value)}`;
  if (Array.isArray(value)) return `[${value.map(restKey).join(",")}]`;
  if (!isPlain(value)) return `#${identityOf(value)}`;
  return `{${Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${restKey(value[key])}`)
    .join(",")}}`;
}

/** Equal for equal structures, and only for them: a key for caches. */
export function structureKey(of: TreeStructure): string {
  switch (of.kind) {
    case "leaf":
      return "*";
    case "null":
      return "0";
    case "list":
      return `[${of.children.map(structureKey).join(",")}]`;
    case "object":
      return `{${of.keys.map((key, i) => `${JSON.stringify(key)}:${structureKey(at(of.children, i))}`).join(",")}}`;
    case "class":
      return `#${identityOf(of.type)}(${restKey(of.rest)})${structureKey(of.child)}`;
  }
}
