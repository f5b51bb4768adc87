/**
 * Loop fusion: nests that run over the same outer indices share those loops if every value that passes between them is
 * read where it was just written. A row of a matrix is then still in cache for its next reader, and a value that never
 * leaves its iteration needs no memory at all.
 */
import { at } from "../../base/at.js";
import type { ValueId } from "../../ir/graph.js";
import type { Scalar } from "../../ir/kernel.js";
import type { IndexAlgebra } from "./polynomial.js";
import type { Loop, Statement } from "./program.js";
import { forEachScalar, forEachStatement, valuesOf } from "./program.js";
import { reductionForm } from "./reduction.js";
import { isHeavy } from "./weight.js";

/** A read of a value in memory. */
export interface NestLoad {
  readonly buffer: number;
  /** The position per axis of more than one element, as keys of normal forms. */
  readonly position: readonly string[];
  /** The offset, likewise. */
  readonly flat: string;
}

/** The loops that compute one value. */
export interface Nest {
  readonly value: ValueId;
  readonly loops: readonly Loop[];
  readonly body: readonly Statement[];
  readonly loads: readonly NestLoad[];
  readonly writes: ReadonlySet<number>;
  /** True if all axes were merged into one loop. */
  readonly flat: boolean;
}

/** A loop with everything that was fused into it, or the body of one nest. */
type Tree =
  { readonly loop: Loop; readonly depth: number; readonly children: Tree[] } | { readonly leaf: Nest };

/** A kernel before it has a name. */
export interface FusedKernel {
  readonly body: readonly Statement[];
  readonly values: readonly ValueId[];
}

function nestsOf(tree: Tree): Nest[] {
  return "leaf" in tree ? [tree.leaf] : tree.children.flatMap(nestsOf);
}

function treeOf(nest: Nest, from: number): Tree {
  const loop = nest.loops[from];
  return loop === undefined ? { leaf: nest } : { loop, depth: from + 1, children: [treeOf(nest, from + 1)] };
}

function dependsOn(nest: Nest, others: readonly Nest[]): boolean {
  return nest.loads.some((load) => others.some((other) => other.writes.has(load.buffer)));
}

/** Nests above this number in one loop would crowd registers and caches. */
const crowd = 12;

class Fuser {
  readonly #algebra: IndexAlgebra;

  constructor(algebra: IndexAlgebra) {
    this.#algebra = algebra;
  }

  #runsAlone(nest: Nest): boolean {
    const [first] = nest.body;
    return (
      nest.loops.length === 0 ||
      (first?.kind === "reduce" && reductionForm(this.#algebra, first, nest.loops).kind === "tile")
    );
  }

  /** True if `nest` may join loops of `depth` levels that already hold `members`. */
  #fits(nest: Nest, tree: Tree, depth: number): boolean {
    if ("leaf" in tree || nest.loops[depth - 1]?.index !== tree.loop.index) return false;
    const members = nestsOf(tree);
    if (members.length >= crowd) return false;
    const shared = members.some(
      (member) =>
        [...nest.writes].some((buffer) => member.writes.has(buffer)) ||
        nest.loads.some(
          ({ buffer }) => member.writes.has(buffer) || member.loads.some((load) => load.buffer === buffer),
        ),
    );
    if (!shared) return false;
    if (nest.loops.length === depth && tree.children.every((child) => "leaf" in child)) {
      // Calls keep a loop from being vectorized, so that light and heavy leaves stay apart.
      const leaves = [nest, ...members];
      const plain = leaves.every(({ body }) => body.every((statement) => statement.kind === "store"));
      if (plain && new Set(leaves.map(({ body }) => isHeavy(body))).size > 1) return false;
    }
    return members.every((member) =>
      nest.loads.every((load) => {
        if (!member.writes.has(load.buffer)) return true;
        const position = member.flat ? [load.flat] : load.position;
        return (
          position.length >= depth &&
          position.slice(0, depth).every((key, level) => key === nest.loops[level]?.index)
        );
      }),
    );
  }

  /** Puts a nest as deep as it may go into the last tree that it may join, or behind all. */
  #insert(trees: Tree[], nest: Nest, depth: number): void {
    for (let position = trees.length - 1; position >= 0; position--) {
      const tree = at(trees, position);
      const alone = "leaf" in tree || nestsOf(tree).some((member) => this.#runsAlone(member));
      if (!alone && !("leaf" in tree) && this.#fits(nest, tree, depth)) {
        this.#insert(tree.children, nest, depth + 1);
        return;
      }
      if (dependsOn(nest, nestsOf(tree))) break;
    }
    trees.push(treeOf(nest, depth - 1));
  }

  fuse(nests: readonly Nest[]): Tree[] {
    const trees: Tree[] = [];
    for (const nest of nests) {
      if (this.#runsAlone(nest)) trees.push(treeOf(nest, 0));
      else this.#insert(trees, nest, 1);
    }
    return trees;
  }
}

function statementsOf(tree: Tree): readonly Statement[] {
  if ("leaf" in tree) return tree.leaf.body;
  return [{ kind: "for", loop: tree.loop, body: tree.children.flatMap(statementsOf) }];
}

/** Replaces loads of what was stored in the same iteration by the stored value. */
class Forwarder {
  readonly #algebra: IndexAlgebra;

  constructor(algebra: IndexAlgebra) {
    this.#algebra = algebra;
  }

  #key(buffer: number, offset: Parameters<IndexAlgebra["normalize"]>[0]): string {
    return `${buffer}@${this.#algebra.normalize(offset).key}`;
  }

  #rewrite(value: Scalar, stored: ReadonlyMap<string, Scalar>, memo: Map<Scalar, Scalar>): Scalar {
    const known = memo.get(value);
    if (known !== undefined) return known;
    const again = (operand: Scalar): Scalar => this.#rewrite(operand, stored, memo);
    let result = value;
    if (value.kind === "load") {
      result = stored.get(this.#key(value.buffer, value.offset)) ?? value;
    } else if (value.kind === "apply") {
      const args = value.args.map(again);
      if (args.some((arg, position) => arg !== value.args[position])) result = { ...value, args };
    } else if (value.kind === "convert") {
      const arg = again(value.arg);
      if (arg !== value.arg) result = { ...value, arg };
    } else if (value.kind === "choose") {
      const [when, then, otherwise] = [again(value.when), again(value.then), again(value.otherwise)];
      if (when !== value.when || then !== value.then || otherwise !== value.otherwise) {
        result = { ...value, when, then, otherwise };
      }
    }
    memo.set(value, result);
    return result;
  }

  run(
    body: readonly Statement[],
    outer: ReadonlyMap<string, Scalar>,
    known: ReadonlyMap<Scalar, Scalar>,
  ): readonly Statement[] {
    const stored = new Map(outer);
    const memo = new Map(known);
    return body.map((statement): Statement => {
      switch (statement.kind) {
        case "for":
          return { ...statement, body: this.run(statement.body, stored, memo) };
        case "reduce":
        case "argReduce":
          return { ...statement, value: this.#rewrite(statement.value, stored, memo) };
        case "store": {
          const value = this.#rewrite(statement.value, stored, memo);
          stored.set(this.#key(statement.buffer, statement.offset), value);
          return { ...statement, value };
        }
        case "accumulate":
          // Gathered offsets keep their own loads, so the condition must too.
          return statement;
      }
    });
  }
}

function withoutStores(body: readonly Statement[], dead: ReadonlySet<number>): readonly Statement[] {
  return body.flatMap((statement): readonly Statement[] => {
    if (statement.kind === "store" && dead.has(statement.buffer)) return [];
    if (statement.kind !== "for") return [statement];
    const inner = withoutStores(statement.body, dead);
    return inner.length === 0 ? [] : [{ ...statement, body: inner }];
  });
}

/** Iterations below which a kernel of its own would cost more in calls than it computes. */
const small = 2048;
/** The nests of one function: longer functions are slow to compile. */
const longest = 48;

function iterationsOf({ loops, body }: Nest): number {
  let inner: readonly Loop[] = [];
  forEachStatement(body, (statement) => {
    if (statement.kind === "reduce") inner = statement.loops;
    if (statement.kind === "for" || statement.kind === "argReduce") inner = [...inner, statement.loop];
  });
  return [...loops, ...inner].reduce(
    (product, { extent }) => product * (extent.kind === "const" ? extent.value : Infinity),
    1,
  );
}

/** Trees that are run by one function: small ones that follow each other, otherwise each alone. */
function gather(trees: readonly Tree[]): Tree[][] {
  const groups: { readonly trees: Tree[]; nests: number; readonly open: boolean }[] = [];
  for (const tree of trees) {
    const nests = nestsOf(tree);
    const open = nests.reduce((sum, nest) => sum + iterationsOf(nest), 0) <= small;
    const previous = groups[groups.length - 1];
    if (open && previous?.open === true && previous.nests + nests.length <= longest) {
      previous.trees.push(tree);
      previous.nests += nests.length;
    } else {
      groups.push({ trees: [tree], nests: nests.length, open });
    }
  }
  return groups.map((group) => group.trees);
}

/** Fuses nests into kernels; stores to temporaries that nothing reads any more are dropped. */
export function fuseNests(
  nests: readonly Nest[],
  temporary: ReadonlySet<number>,
  algebra: IndexAlgebra,
): FusedKernel[] {
  const trees = new Fuser(algebra).fuse(nests);
  const forwarder = new Forwarder(algebra);
  const kernels = gather(trees).map((group) => ({
    body: forwarder.run(group.flatMap(statementsOf), new Map(), new Map()),
    values: [...new Set(group.flatMap(nestsOf).map((nest) => nest.value))],
  }));
  const read = new Set<number>();
  for (const { body } of kernels) {
    forEachStatement(body, (statement) => {
      forEachScalar(valuesOf(statement), (value) => {
        if (value.kind === "load") read.add(value.buffer);
      });
    });
  }
  const dead = new Set([...temporary].filter((buffer) => !read.has(buffer)));
  return kernels
    .map(({ body, values }) => ({ body: withoutStores(body, dead), values }))
    .filter(({ body }) => body.length > 0);
}
