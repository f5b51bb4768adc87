/**
 * Sums of products by index notation. Operands are taken from the left, two at a time; each step is one contraction.
 */
import { at } from "../../base/at.js";
import { ArgumentError, ShapeError } from "../../base/errors.js";
import { formatShape } from "../../base/shape.js";
import { formatSignature } from "../../primitives/signature.js";
import { bind } from "../bind.js";
import type { ArrayInput } from "../input.js";
import { reshapeTo } from "../input.js";
import type { NDArray } from "../ndarray.js";
import { unify } from "../promote.js";
import { sliceAxis, transpose } from "./layout.js";

/** An array with a name for each axis. */
export interface Labelled {
  readonly x: NDArray;
  readonly names: readonly string[];
}

/** Takes the diagonal of axes that share a name. */
function uniteRepeated({ x, names }: Labelled): Labelled {
  const second = names.findIndex((name, axis) => names.indexOf(name) < axis);
  if (second < 0) return { x, names };
  const name = at(names, second);
  const first = names.indexOf(name);
  const rest = names.map((_, axis) => axis).filter((axis) => axis !== first && axis !== second);
  const [n, m] = [at(x.shape, first), at(x.shape, second)];
  if (n !== m) {
    throw new ShapeError({
      operation: "einsum",
      found: `the repeated index ${name} is ${n} and ${m} in ${formatShape(x.shape)}`,
      expected: "equal extents",
    });
  }
  const front = transpose(x, [...rest, first, second]);
  const lead = rest.map((axis) => at(x.shape, axis));
  const flat = reshapeTo(front, [...lead, n * n]);
  const diagonal = sliceAxis(flat, lead.length, 0, n * n, n + 1);
  return uniteRepeated({
    x: n === 0 ? reshapeTo(flat, [...lead, 0]) : diagonal,
    names: [...rest.map((axis) => at(names, axis)), name],
  });
}

/** Sums over the axes whose name is not kept. */
function sumOut({ x, names }: Labelled, kept: ReadonlySet<string>): Labelled {
  const axes = names.map((_, axis) => axis).filter((axis) => !kept.has(at(names, axis)));
  if (axes.length === 0) return { x, names };
  return { x: bind("reduceSum", [x], { axes }), names: names.filter((name) => kept.has(name)) };
}

/** Drops axes of extent 1 whose name has a larger extent in the other operand. */
function dropOnes(one: Labelled, other: Labelled): Labelled {
  const dropped = one.names.filter((name, axis) => {
    const twin = other.names.indexOf(name);
    return twin >= 0 && one.x.shape[axis] === 1 && other.x.shape[twin] !== 1;
  });
  if (dropped.length === 0) return one;
  const keep = one.names.map((name) => !dropped.includes(name));
  return {
    x: reshapeTo(
      one.x,
      one.x.shape.filter((_, axis) => keep[axis]),
    ),
    names: one.names.filter((_, axis) => keep[axis]),
  };
}

/** A signature with plain letters (i, j, k, ...) in the order in which the names come. */
function signatureOf(a: readonly string[], b: readonly string[], out: readonly string[]): string {
  const order = [...new Set([...a, ...b])];
  const letter = (name: string): string => {
    const position = order.indexOf(name);
    return position < 18 ? String.fromCharCode(105 + position) : `i${position}`;
  };
  return formatSignature(a.map(letter), b.map(letter), out.map(letter));
}

/** Contracts two arrays; the result has the axes whose names are wanted, in that order. */
export function contractPair(
  operation: string,
  left: Labelled,
  right: Labelled,
  wanted: readonly string[],
): Labelled {
  left.names.forEach((name, axis) => {
    const twin = right.names.indexOf(name);
    const [n, m] = [at(left.x.shape, axis), twin < 0 ? 0 : at(right.x.shape, twin)];
    if (twin >= 0 && n !== m && n !== 1 && m !== 1) {
      throw new ShapeError({
        operation,
        found: `contracted axis is ${n} in a ${formatShape(left.x.shape)} but ${m} in b ${formatShape(right.x.shape)}`,
        expected: "equal extents",
        remedy: "transpose or reshape one of them",
      });
    }
  });
  const keep = new Set(wanted);
  const [a, b] = [dropOnes(left, right), dropOnes(right, left)];
  const first = sumOut(a, new Set([...keep, ...b.names]));
  const second = sumOut(b, new Set([...keep, ...a.names]));
  const names = wanted.filter((name) => first.names.includes(name) || second.names.includes(name));
  const signature = signatureOf(first.names, second.names, names);
  return { x: bind("contract", [first.x, second.x], { signature }), names };
}

interface Notation {
  readonly operands: readonly (readonly string[])[];
  readonly output: readonly string[];
}

/** Splits one operand's letters; `...` becomes names for the axes that have none. */
function namesOf(text: string, rank: number | null, broadcastRank: number, whole: string): string[] {
  const match = /^([A-Za-z]*)(\.\.\.)?([A-Za-z]*)$/.exec(text);
  if (match === null) {
    throw new ArgumentError({
      operation: "einsum",
      argument: "subscripts",
      found: JSON.stringify(whole),
      expected: 'letters, commas, "..." and one "->"',
    });
  }
  const [before, after] = [Array.from(match[1] ?? ""), Array.from(match[3] ?? "")];
  if (match[2] === undefined) return [...before, ...after];
  const width = rank === null ? broadcastRank : rank - before.length - after.length;
  const names = Array.from({ length: Math.max(0, width) }, (_, i) => `_${broadcastRank - width + i}`);
  return [...before, ...names, ...after];
}

function parse(subscripts: string, arrays: readonly NDArray[]): Notation {
  const [inputs = "", output, ...more] = subscripts.replaceAll(" ", "").split("->");
  const parts = inputs.split(",");
  if (parts.length !== arrays.length || more.length > 0) {
    throw new ArgumentError({
      operation: "einsum",
      argument: "subscripts",
      found: `${JSON.stringify(subscripts)} for ${arrays.length} operands`,
      expected: "one list of indices for each operand",
    });
  }
  const widths = parts.map((part, i) =>
    part.includes("...") ? at(arrays, i).ndim - part.replace("...", "").length : 0,
  );
  const broadcastRank = Math.max(0, ...widths);
  const operands = parts.map((part, i) => {
    const x = at(arrays, i);
    const names = namesOf(part, x.ndim, broadcastRank, subscripts);
    if (names.length !== x.ndim) {
      throw new ShapeError({
        operation: "einsum",
        argument: `operand ${i}`,
        found: `of shape ${formatShape(x.shape)} for the indices "${part}"`,
        expected: `${names.length} axes`,
      });
    }
    return names;
  });
  const all = operands.flat();
  if (output === undefined) {
    const ellipsis = Array.from({ length: broadcastRank }, (_, i) => `_${i}`);
    const once = [...new Set(all)].filter(
      (name) => !name.startsWith("_") && all.indexOf(name) === all.lastIndexOf(name),
    );
    return { operands, output: [...ellipsis, ...once.sort()] };
  }
  const wanted = namesOf(output, null, broadcastRank, subscripts);
  wanted.forEach((name, i) => {
    if (!all.includes(name) || wanted.indexOf(name) !== i) {
      throw new ArgumentError({
        operation: "einsum",
        argument: "subscripts",
        found: `the output index ${name} in ${JSON.stringify(subscripts)}`,
        expected: "indices of the operands, each once",
      });
    }
  });
  return { operands, output: wanted };
}

/**
 * Sums of products by index notation, as in NumPy: `"ij,jk->ik"` is a matrix product, `"ii->i"` a diagonal, `"ij->"` a
 * sum, `"...i,...i"` a batch of scalar products. Without `->` the output has the indices that occur once, sorted. Operands
 * are contracted from left to right.
 *
 * @example
 * ```ts
 * import { np } from "heddle";
 *
 * const a = np.arange(6).reshape(2, 3);
 * console.log(np.einsum("ij,kj->ik", a, a).toArray()); // [ [ 5, 14 ], [ 14, 50 ] ]
 * ```
 */
export function einsum(subscripts: string, ...operands: readonly ArrayInput[]): NDArray {
  if (operands.length === 0) {
    throw new ArgumentError({ operation: "einsum", found: "no operands", expected: "at least one" });
  }
  const names = operands.map((_, i) => `operand ${i}`);
  const arrays = unify("einsum", names, operands, "number");
  const notation = parse(subscripts, arrays);
  const labelled = arrays.map((x, i) => uniteRepeated({ x, names: at(notation.operands, i) }));
  let result = at(labelled, 0);
  labelled.slice(1).forEach((next, i) => {
    const later = labelled.slice(i + 2).flatMap((each) => each.names);
    const wanted = new Set([...result.names, ...next.names]);
    const rest = i + 2 < labelled.length ? new Set([...notation.output, ...later]) : null;
    const names = rest === null ? notation.output : [...wanted].filter((name) => rest.has(name));
    result = contractPair("einsum", result, next, names);
  });
  const summed = sumOut(result, new Set(notation.output));
  return transpose(
    summed.x,
    notation.output.map((name) => summed.names.indexOf(name)),
  );
}
