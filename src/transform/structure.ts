/**
 * Rewrites that carry structure through a linear map: identities, diagonals and padding. They are why the Jacobian of
 * `dot(A, c)` is `A`, that of a pointwise function a diagonal, and that of a function of a part zero elsewhere.
 */
import { at } from "../base/at.js";
import { sizeOf } from "../base/shape.js";
import type { OpParams, ValueId } from "../ir/graph.js";
import { formatSignature, parseSignature } from "../primitives/signature.js";
import { rowOf } from "../primitives/table.js";
import type { RewriteRule, Rewriter } from "./rewriter.js";
import { definedBy, fillOf } from "./rewriter.js";

const ones = (length: number): number[] => new Array<number>(length).fill(1);
const zeros = (length: number): number[] => new Array<number>(length).fill(0);

/** The vector on the diagonal of a value that is zero elsewhere; `"ones"` for the identity. */
function diagonalOf(r: Rewriter, id: ValueId | undefined): ValueId | null {
  if (id === undefined) return null;
  const diag = definedBy(r, id, "diag");
  if (diag !== null) return at(diag.inputs, 0);
  const eye = definedBy(r, id, "eye");
  if (eye?.params.offset !== 0 || eye.params.rows !== eye.params.columns) return null;
  return r.emit("fill", [], { value: 1, dtype: eye.params.dtype, shape: [eye.params.rows] });
}

/** A shifted or rectangular identity is a square one with zeros around it. */
const squareEye: RewriteRule = (r, { op, params }) => {
  if (op !== "eye") return null;
  const { dtype, rows, columns, offset } = params;
  const [top, left] = [Math.max(0, -offset), Math.max(0, offset)];
  const size = Math.max(0, Math.min(rows - top, columns - left));
  if (size === rows && size === columns) return null;
  if (size === 0) return r.emit("fill", [], { value: 0, dtype, shape: [rows, columns] });
  return r.emit("pad", [r.emit("eye", [], { dtype, rows: size, columns: size, offset: 0 })], {
    low: [top, left],
    high: [rows - top - size, columns - left - size],
    interior: [0, 0],
  });
};

/** A block of an identity is a shifted identity. */
const sliceEye: RewriteRule = (r, { op, inputs, params }) => {
  if (op !== "slice" || params.step.some((step) => step !== 1)) return null;
  const eye = definedBy(r, at(inputs, 0), "eye");
  if (eye === null) return null;
  const [row, column] = [at(params.start, 0), at(params.start, 1)];
  return r.emit("eye", [], {
    dtype: eye.params.dtype,
    rows: at(params.limit, 0) - row,
    columns: at(params.limit, 1) - column,
    offset: eye.params.offset + row - column,
  });
};

/** Operations on a diagonal matrix that leave it diagonal. */
const diagonalAlgebra: RewriteRule = (r, { op, inputs, params }) => {
  const first = diagonalOf(r, inputs[0]);
  const second = diagonalOf(r, inputs[1]);
  const diag = (id: ValueId): ValueId => r.emit("diag", [id], {});
  switch (op) {
    case "neg":
      // −0 off the diagonal would be lost for the identity's zeros: structural zeros have no sign.
      return first === null ? null : diag(r.emit("neg", [first], {}));
    case "convert":
      return first === null ? null : diag(r.emit("convert", [first], params));
    case "transpose":
      return first === null ? null : at(inputs, 0);
    case "add":
    case "sub":
      return first === null || second === null ? null : diag(r.emit(op, [first, second], {}));
    case "mul":
      if (first !== null) return diag(r.emit("mul", [first, second ?? readDiagonal(r, at(inputs, 1))], {}));
      return second === null ? null : diag(r.emit("mul", [readDiagonal(r, at(inputs, 0)), second], {}));
    case "div":
      return first === null ? null : diag(r.emit("div", [first, readDiagonal(r, at(inputs, 1))], {}));
    case "reduceSum":
      return first === null || params.axes.length !== 1 ? null : first;
    default:
      return null;
  }
};

/** A choice between diagonals, or a diagonal and zeros, is a diagonal of choices. */
const selectDiagonal: RewriteRule = (r, { op, inputs }) => {
  if (op !== "select") return null;
  const [condition, yes, no] = [at(inputs, 0), at(inputs, 1), at(inputs, 2)];
  const [first, second] = [diagonalOf(r, yes), diagonalOf(r, no)];
  const known = first ?? second;
  if (known === null) return null;
  const side = (diagonal: ValueId | null, id: ValueId): ValueId | null =>
    diagonal ?? (fillOf(r, id) === 0 ? r.emit("fill", [], { value: 0, ...r.aval(known) }) : null);
  const [then, otherwise] = [side(first, yes), side(second, no)];
  if (then === null || otherwise === null) return null;
  return r.emit("diag", [r.emit("select", [readDiagonal(r, condition), then, otherwise], {})], {});
};

/** The diagonal of a square matrix; of a repeated vector it is that vector. */
function readDiagonal(r: Rewriter, id: ValueId): ValueId {
  const broadcast = definedBy(r, id, "broadcast");
  if (broadcast?.params.axes.length === 1) return at(broadcast.inputs, 0);
  const n = at(r.aval(id).shape, 0);
  if (broadcast?.params.axes.length === 0)
    return r.emit("broadcast", broadcast.inputs, { shape: [n], axes: [] });
  const flat = r.emit("reshape", [id], { shape: [n * n] });
  return r.emit("slice", [flat], { start: [0], limit: [n * n], step: [n + 1] });
}

/** A contraction with an identity renames an index; with a diagonal it also scales along it. */
const contractDiagonal: RewriteRule = (r, { op, inputs, params }) => {
  if (op !== "contract") return null;
  const { a, b, out } = parseSignature(params.signature);
  for (const [side, names, others] of [[0, a, b] as const, [1, b, a] as const]) {
    const scale = diagonalOf(r, inputs[side]);
    const other = at(inputs, 1 - side);
    if (scale === null) continue;
    const [p, q] = [at(names, 0), at(names, 1)];
    const [summed, free] = out.includes(p) ? [q, p] : [p, q];
    if (out.includes(summed) || !out.includes(free) || others.includes(free)) continue;
    const renamed = others.map((name) => (name === summed ? free : name));
    if (renamed.some((name) => !out.includes(name))) continue;
    const moved = r.emit("transpose", [other], { permutation: out.map((name) => renamed.indexOf(name)) });
    const { shape } = r.aval(moved);
    const factor = r.emit("broadcast", [scale], { shape, axes: [out.indexOf(free)] });
    return side === 0 ? r.emit("mul", [factor, moved], {}) : r.emit("mul", [moved, factor], {});
  }
  return null;
};

/** Padding without interior zeros, as the operand inside and its bounds. */
function paddingOf(r: Rewriter, id: ValueId | undefined) {
  const pad = id === undefined ? null : definedBy(r, id, "pad");
  if (pad === null || pad.params.interior.some((width) => width !== 0)) return null;
  const inner = at(pad.inputs, 0);
  const { low, high } = pad.params;
  const { shape } = r.aval(inner);
  const limit = shape.map((extent, axis) => at(low, axis) + extent);
  const padAround = (value: ValueId): ValueId =>
    r.emit("pad", [value], { low, high, interior: zeros(low.length) });
  const inside = (value: ValueId): ValueId =>
    r.emit("slice", [value], { start: low, limit, step: ones(low.length) });
  return { inner, low, high, limit, padAround, inside };
}

/** Operations that keep zeros zero happen inside the padding. */
const withinPadding: RewriteRule = (r, { op, inputs, params }) => {
  const first = paddingOf(r, inputs[0]);
  const second = paddingOf(r, inputs[1]);
  switch (op) {
    case "neg":
      return first === null ? null : first.padAround(r.emit("neg", [first.inner], {}));
    case "convert":
      return first === null ? null : first.padAround(r.emit("convert", [first.inner], params));
    case "mul":
      if (first !== null)
        return first.padAround(r.emit("mul", [first.inner, first.inside(at(inputs, 1))], {}));
      return second === null
        ? null
        : second.padAround(r.emit("mul", [second.inside(at(inputs, 0)), second.inner], {}));
    case "div":
      return first === null
        ? null
        : first.padAround(r.emit("div", [first.inner, first.inside(at(inputs, 1))], {}));
    case "transpose": {
      if (first === null) return null;
      const permute = (list: readonly number[]): number[] => params.permutation.map((axis) => at(list, axis));
      return r.emit("pad", [r.emit("transpose", [first.inner], params)], {
        low: permute(first.low),
        high: permute(first.high),
        interior: zeros(first.low.length),
      });
    }
    case "broadcast": {
      if (first === null) return null;
      const widths = (list: readonly number[]): number[] => {
        const result = zeros(params.shape.length);
        params.axes.forEach((axis, position) => (result[axis] = at(list, position)));
        return result;
      };
      const [low, high] = [widths(first.low), widths(first.high)];
      const shape = params.shape.map((extent, axis) => extent - at(low, axis) - at(high, axis));
      return r.emit("pad", [r.emit("broadcast", [first.inner], { shape, axes: params.axes })], {
        low,
        high,
        interior: zeros(low.length),
      });
    }
    case "reduceSum": {
      if (first === null) return null;
      const keep = (list: readonly number[]): number[] =>
        list.filter((_, axis) => !params.axes.includes(axis));
      const low = keep(first.low);
      return r.emit("pad", [r.emit("reduceSum", [first.inner], params)], {
        low,
        high: keep(first.high),
        interior: zeros(low.length),
      });
    }
    case "reshape":
      return first === null ? null : reshapePadding(r, first, params.shape);
    case "slice":
      return first === null ? null : slicePadding(r, first, params, at(inputs, 0));
    default:
      return null;
  }
};

type Padding = NonNullable<ReturnType<typeof paddingOf>>;

/** Reshapes inside padding that lies along the leading axis only, or that merely gains or loses axes of extent 1. */
function reshapePadding(
  r: Rewriter,
  { inner, low, high }: Padding,
  shape: readonly number[],
): ValueId | null {
  const own = r.aval(inner).shape;
  const outer = own.map((extent, axis) => extent + at(low, axis) + at(high, axis));
  const padded = own.flatMap((_, axis) => (at(low, axis) > 0 || at(high, axis) > 0 ? [axis] : []));
  if (sizeOf(own) === 0 || sizeOf(shape) === 0) return null;
  // Each padded axis must survive as an axis of the result with the same elements before it.
  const target = padded.map((axis) => {
    const before = sizeOf(outer.slice(0, axis));
    return shape.findIndex((extent, i) => extent === outer[axis] && sizeOf(shape.slice(0, i)) === before);
  });
  if (target.includes(-1) || new Set(target).size !== target.length) return null;
  const widths = (list: readonly number[]): number[] => {
    const result = zeros(shape.length);
    padded.forEach((axis, i) => (result[at(target, i)] = at(list, axis)));
    return result;
  };
  const [newLow, newHigh] = [widths(low), widths(high)];
  const inside = shape.map((extent, axis) => extent - at(newLow, axis) - at(newHigh, axis));
  const value = r.emit("reshape", [inner], { shape: inside });
  return r.emit("pad", [value], { low: newLow, high: newHigh, interior: zeros(shape.length) });
}

/** A unit-step slice of padding reads what is inside, with what padding remains. */
function slicePadding(
  r: Rewriter,
  { inner, low, limit }: Padding,
  params: OpParams["slice"],
  whole: ValueId,
): ValueId | null {
  if (params.step.some((step) => step !== 1)) return null;
  const aval = r.aval(inner);
  const from = params.start.map((start, axis) => Math.max(start, at(low, axis)));
  const to = params.limit.map((end, axis) => Math.min(end, at(limit, axis)));
  if (from.some((start, axis) => start >= at(to, axis))) {
    const { shape } = rowOf("slice").shape([r.aval(whole)], params);
    return r.emit("fill", [], { value: 0, dtype: aval.dtype, shape });
  }
  const part = r.emit("slice", [inner], {
    start: from.map((start, axis) => start - at(low, axis)),
    limit: to.map((end, axis) => end - at(low, axis)),
    step: params.step,
  });
  return r.emit("pad", [part], {
    low: from.map((start, axis) => start - at(params.start, axis)),
    high: to.map((end, axis) => at(params.limit, axis) - end),
    interior: zeros(low.length),
  });
}

/** A contraction with padding: zeros along a free index stay outside, along a summed one they select a part. */
const contractPadding: RewriteRule = (r, { op, inputs, params }) => {
  if (op !== "contract") return null;
  const { a, b, out } = parseSignature(params.signature);
  for (const [side, names, others] of [[0, a, b] as const, [1, b, a] as const]) {
    const padding = paddingOf(r, inputs[side]);
    if (padding === null) continue;
    const other = at(inputs, 1 - side);
    const { shape } = r.aval(other);
    const rangeOf = (name: string): [number, number] | null => {
      const axis = names.indexOf(name);
      return axis < 0 ? null : [at(padding.low, axis), at(padding.limit, axis)];
    };
    const part = r.emit("slice", [other], {
      start: others.map((name) => rangeOf(name)?.[0] ?? 0),
      limit: others.map((name, axis) => rangeOf(name)?.[1] ?? at(shape, axis)),
      step: ones(others.length),
    });
    const operands = side === 0 ? [padding.inner, part] : [part, padding.inner];
    const value = r.emit("contract", operands, { signature: formatSignature(a, b, out) });
    const widths = (list: readonly number[]): number[] =>
      out.map((name) => (names.includes(name) ? at(list, names.indexOf(name)) : 0));
    return r.emit("pad", [value], {
      low: widths(padding.low),
      high: widths(padding.high),
      interior: zeros(out.length),
    });
  }
  return null;
};

/** All rules about structure. */
export const structureRules: readonly RewriteRule[] = [
  squareEye,
  sliceEye,
  diagonalAlgebra,
  selectDiagonal,
  contractDiagonal,
  withinPadding,
  contractPadding,
];
