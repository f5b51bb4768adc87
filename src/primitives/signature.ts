/**
 * Index signatures of contractions: `"m k, k n -> m n"`. Batching, transposes, costs and lowering of a contraction are
 * all read off its signature.
 */
import { at } from "../base/at.js";
import { ArgumentError, ShapeError } from "../base/errors.js";
import { formatShape } from "../base/shape.js";
import type { Shape } from "../base/shape.js";

/** A parsed signature. Each index stands once in an operand, and in at least two of the three lists. */
export interface Signature {
  readonly a: readonly string[];
  readonly b: readonly string[];
  readonly out: readonly string[];
  /** The indices that are summed over, in the order in which they stand in `a`. */
  readonly summed: readonly string[];
}

const cache = new Map<string, Signature>();

/** Parses a signature and checks its form. */
export function parseSignature(text: string): Signature {
  const known = cache.get(text);
  if (known !== undefined) return known;
  const match = /^([^,>]*),([^,>]*)->([^,>]*)$/.exec(text);
  if (match === null) {
    throw new ArgumentError({
      operation: "contract",
      argument: "signature",
      found: JSON.stringify(text),
      expected: 'the form "m k, k n -> m n"',
    });
  }
  const lists = match.slice(1).map((part) =>
    part
      .trim()
      .split(/\s+/)
      .filter((name) => name !== ""),
  );
  const [a, b, out] = [at(lists, 0), at(lists, 1), at(lists, 2)];
  for (const name of new Set([...a, ...b, ...out])) {
    const counts = [a, b, out].map((list) => list.filter((other) => other === name).length);
    if (counts.some((count) => count > 1) || counts.filter((count) => count === 1).length < 2) {
      throw new ArgumentError({
        operation: "contract",
        argument: "signature",
        found: `"${text}" with index ${name} ${counts.join(", ")} times in its three lists`,
        expected: "each index at most once in a list, and in at least two of them",
      });
    }
  }
  const signature = { a, b, out, summed: a.filter((name) => !out.includes(name)) };
  cache.set(text, signature);
  return signature;
}

/** The text of a signature. */
export function formatSignature(a: readonly string[], b: readonly string[], out: readonly string[]): string {
  return `${a.join(" ")}, ${b.join(" ")} -> ${out.join(" ")}`;
}

/** An index name that the signature does not use. */
export function freshIndex(signature: Signature): string {
  for (let count = 0; ; count++) {
    const name = count === 0 ? "z" : `z${count}`;
    if (!signature.a.includes(name) && !signature.b.includes(name) && !signature.out.includes(name))
      return name;
  }
}

/** The extent of each index. Throws `ShapeError` where operands do not fit the signature or each other. */
export function indexExtents(text: string, a: Shape, b: Shape): Map<string, number> {
  const signature = parseSignature(text);
  const extents = new Map<string, number>();
  const operands = [
    { name: "a", names: signature.a, shape: a },
    { name: "b", names: signature.b, shape: b },
  ];
  for (const { name, names, shape } of operands) {
    if (names.length !== shape.length) {
      throw new ShapeError({
        operation: "contract",
        argument: name,
        found: `${formatShape(shape)} for the indices "${names.join(" ")}"`,
        expected: `${names.length} axes`,
      });
    }
    names.forEach((index, axis) => {
      const extent = at(shape, axis);
      const known = extents.get(index);
      if (known !== undefined && known !== extent) {
        throw new ShapeError({
          operation: "contract",
          found: `the index ${index} of "${text}" is ${known} in a ${formatShape(a)} but ${extent} in b ${formatShape(b)}`,
          expected: "equal extents",
          remedy: "transpose or reshape one of them",
        });
      }
      extents.set(index, extent);
    });
  }
  return extents;
}
