/**
 * The local rewrites: each looks at one equation and the definitions of its operands, and returns an equal value that
 * exists already or is cheaper, or `null`.
 */
import { at } from "../base/at.js";
import { sameShape } from "../base/shape.js";
import { sameAval } from "../ir/graph.js";
import type { ScalarOp } from "../ir/kernel.js";
import { convertScalar, scalarMeaning } from "../primitives/scalar.js";
import { rowOf } from "../primitives/table.js";
import type { RewriteRule } from "./rewriter.js";
import { definedBy, fillOf } from "./rewriter.js";
import { structureRules } from "./structure.js";

/** An element-wise operation of known values is a known value. */
const foldConstants: RewriteRule = (r, { op, inputs, params }) => {
  if (inputs.length === 0) return null;
  const values = inputs.map((id) => fillOf(r, id));
  if (values.includes(undefined)) return null;
  const [first = 0, second = first] = values;
  const { dtype } = r.aval(at(inputs, 0));
  if (op === "convert") {
    const { shape } = r.aval(at(inputs, 0));
    return r.emit("fill", [], {
      value: convertScalar(first, dtype, params.dtype),
      dtype: params.dtype,
      shape,
    });
  }
  const row = rowOf(op);
  if (row.lowering.kind !== "element" || inputs.length > 2) return null;
  const meaning = scalarMeaning(op as ScalarOp, dtype);
  if (meaning === undefined) return null;
  const aval = row.shape(
    inputs.map((id) => r.aval(id)),
    params,
  );
  return r.emit("fill", [], { value: convertScalar(meaning(first, second), dtype, aval.dtype), ...aval });
};

/** Neutral operands. x + (−0), x − 0, x · 1, x / 1 and x¹ are x for every x; x + 0 is not, for x = −0. */
const dropNeutral: RewriteRule = (r, { op, inputs }) => {
  if (inputs.length !== 2) return null;
  const [x, y] = [at(inputs, 0), at(inputs, 1)];
  const [a, b] = [fillOf(r, x), fillOf(r, y)];
  switch (op) {
    case "add":
      if (Object.is(b, -0)) return x;
      return Object.is(a, -0) ? y : null;
    case "sub":
      return Object.is(b, 0) ? x : null;
    case "mul":
      if (b === 1) return x;
      if (a === 1) return y;
      return b === -1 ? r.emit("neg", [x], {}) : a === -1 ? r.emit("neg", [y], {}) : null;
    case "div":
    case "pow":
      return b === 1 ? x : null;
    default:
      return null;
  }
};

const dropInverse: RewriteRule = (r, { op, inputs }) => {
  if (op !== "neg" && op !== "not") return null;
  return definedBy(r, at(inputs, 0), op)?.inputs[0] ?? null;
};

const chooseKnown: RewriteRule = (r, { op, inputs }) => {
  if (op !== "select") return null;
  const [condition, yes, no] = [fillOf(r, at(inputs, 0)), at(inputs, 1), at(inputs, 2)];
  if (yes === no) return yes;
  return condition === undefined ? null : condition !== 0 ? yes : no;
};

/** Layout operations that do nothing, or that follow one of their own kind. */
const composeLayout: RewriteRule = (r, equation) => {
  const { op, inputs, params } = equation;
  const [x] = inputs;
  if (x === undefined) return null;
  const aval = r.aval(x);
  switch (op) {
    case "convert":
      return params.dtype === aval.dtype ? x : null;
    case "reshape": {
      if (sameShape(params.shape, aval.shape)) return x;
      const inner = definedBy(r, x, "reshape");
      return inner === null ? null : r.emit("reshape", inner.inputs, params);
    }
    case "broadcast": {
      if (sameShape(params.shape, aval.shape)) return x;
      const inner = definedBy(r, x, "broadcast");
      if (inner === null) return null;
      return r.emit("broadcast", inner.inputs, {
        shape: params.shape,
        axes: inner.params.axes.map((axis) => at(params.axes, axis)),
      });
    }
    case "transpose": {
      if (params.permutation.every((axis, position) => axis === position)) return x;
      const inner = definedBy(r, x, "transpose");
      if (inner === null) return null;
      return r.emit("transpose", inner.inputs, {
        permutation: params.permutation.map((axis) => at(inner.params.permutation, axis)),
      });
    }
    case "slice": {
      const whole = aval.shape.every(
        (extent, axis) => params.start[axis] === 0 && params.limit[axis] === extent,
      );
      if (whole && params.step.every((step) => step === 1)) return x;
      const inner = definedBy(r, x, "slice");
      if (inner === null) return null;
      const start = params.start.map(
        (from, axis) => at(inner.params.start, axis) + from * at(inner.params.step, axis),
      );
      const step = params.step.map((by, axis) => by * at(inner.params.step, axis));
      const { shape } = r.aval(x);
      // One past the last element that is read.
      const limit = params.start.map((from, axis) => {
        const count = Math.ceil((at(params.limit, axis) - from) / at(params.step, axis));
        return count <= 0 || shape[axis] === 0
          ? at(start, axis)
          : at(start, axis) + (count - 1) * at(step, axis) + 1;
      });
      return r.emit("slice", inner.inputs, { start, limit, step });
    }
    case "pad":
      return [params.low, params.high, params.interior].every((list) => list.every((width) => width === 0))
        ? x
        : null;
    case "reverse":
      return params.axes.length === 0 ? x : null;
    case "concatenate":
      return inputs.length === 1 ? x : null;
    case "reduceSum":
    case "reduceProd":
    case "reduceMax":
    case "reduceMin":
      return params.axes.length === 0 ? x : null;
    default:
      return null;
  }
};

/** Rearranging one value everywhere leaves one value everywhere. */
const rearrangeFill: RewriteRule = (r, equation) => {
  const { op, inputs, params } = equation;
  const [x] = inputs;
  if (x === undefined) return null;
  const value = fillOf(r, x);
  if (value === undefined) return null;
  const moves =
    op === "reshape" || op === "broadcast" || op === "transpose" || op === "slice" || op === "reverse";
  const zeros = (op === "pad" || op === "reduceSum") && Object.is(value, 0);
  if (!moves && !zeros) return null;
  const { dtype, shape } = rowOf(op).shape([r.aval(x)], params);
  return r.emit("fill", [], { value, dtype, shape });
};

/** Reads through a broadcast: a slice of repeated elements repeats a slice. */
const sliceBroadcast: RewriteRule = (r, { op, inputs, params }) => {
  if (op !== "slice") return null;
  const inner = definedBy(r, at(inputs, 0), "broadcast");
  if (inner === null) return null;
  const { axes } = inner.params;
  const own = r.emit("slice", inner.inputs, {
    start: axes.map((axis) => at(params.start, axis)),
    limit: axes.map((axis) => at(params.limit, axis)),
    step: axes.map((axis) => at(params.step, axis)),
  });
  const { shape } = rowOf("slice").shape([r.aval(at(inputs, 0))], params);
  return r.emit("broadcast", [own], { shape, axes });
};

/** A slice that lies inside one part of a concatenation reads that part. */
const sliceConcatenation: RewriteRule = (r, { op, inputs, params }) => {
  if (op !== "slice") return null;
  const inner = definedBy(r, at(inputs, 0), "concatenate");
  if (inner === null) return null;
  const { axis } = inner.params;
  let start = 0;
  for (const part of inner.inputs) {
    const extent = at(r.aval(part).shape, axis);
    if (at(params.start, axis) >= start && at(params.limit, axis) <= start + extent) {
      const shift = (list: readonly number[]): number[] => list.map((v, i) => (i === axis ? v - start : v));
      return r.emit("slice", [part], {
        start: shift(params.start),
        limit: shift(params.limit),
        step: params.step,
      });
    }
    start += extent;
  }
  return null;
};

/** max(x, x), min(x, x), x and x, x or x. */
const dropIdempotent: RewriteRule = (r, { op, inputs }) => {
  const [x, y] = inputs;
  const idempotent = op === "max" || op === "min" || op === "and" || op === "or";
  return idempotent && x !== undefined && x === y && sameAval(r.aval(x), r.aval(y)) ? x : null;
};

/** All rules, in the order in which they are tried. */
export const rewriteRules: readonly RewriteRule[] = [
  composeLayout,
  rearrangeFill,
  foldConstants,
  dropNeutral,
  dropInverse,
  chooseKnown,
  dropIdempotent,
  sliceBroadcast,
  sliceConcatenation,
  ...structureRules,
];
