/**
 * Reductions over axes, and the positions of extremes.
 */
import { at } from "../base/at.js";
import type { DType } from "../base/dtype.js";
import { itemSize, requireDType } from "../base/dtype.js";
import { ArgumentError, ShapeError } from "../base/errors.js";
import type { Shape } from "../base/shape.js";
import { formatShape, sizeOf, stridesOf } from "../base/shape.js";
import type { Aval, OpParams, ValueId } from "../ir/graph.js";
import type { Index } from "../ir/kernel.js";
import type { Emitter } from "./emitter.js";
import type { Cost, HostArray, JvpRule, PrimitiveRow, TransposeRule } from "./row.js";
import { notLinear, zeroDerivative } from "./row.js";
import { scalarMeaning } from "./scalar.js";
import { cutAlike } from "./sharding.js";

interface Axes {
  readonly axes: readonly number[];
}

const kept = (rank: number, axes: readonly number[]): number[] =>
  Array.from({ length: rank }, (_, axis) => axis).filter((axis) => !axes.includes(axis));

/** Repeats a reduced value along the axes that were reduced. */
function spread(b: Emitter, id: ValueId, shape: Shape, axes: readonly number[]): ValueId {
  return b.broadcast(id, shape, kept(shape.length, axes));
}

function cost(inputs: readonly Aval[], output: Aval): Cost {
  const x = at(inputs, 0);
  return {
    flops: sizeOf(x.shape),
    bytes: sizeOf(x.shape) * itemSize(x.dtype) + sizeOf(output.shape) * itemSize(output.dtype),
  };
}

/** Calls `visit` with the offset of each element of x and of the result element that it belongs to. */
function forEachReduced(
  shape: Shape,
  axes: readonly number[],
  visit: (from: number, to: number) => void,
): void {
  const strides = stridesOf(shape);
  const remaining = kept(shape.length, axes);
  const outStrides = stridesOf(remaining.map((axis) => at(shape, axis)));
  for (let from = 0; from < sizeOf(shape); from++) {
    let to = 0;
    remaining.forEach((axis, position) => {
      to += (Math.floor(from / at(strides, axis)) % at(shape, axis)) * at(outStrides, position);
    });
    visit(from, to);
  }
}

/** The operand's position that belongs to a position of the result and one along the reduced extents. */
function mergeIndex(
  rank: number,
  axes: readonly number[],
  index: readonly Index[],
  reduction: readonly Index[],
): Index[] {
  const remaining = kept(rank, axes);
  return Array.from({ length: rank }, (_, axis) => {
    const position = axes.indexOf(axis);
    return position >= 0 ? at(reduction, position) : at(index, remaining.indexOf(axis));
  });
}

interface ReductionOptions {
  readonly combine: "add" | "mul" | "max" | "min";
  readonly dtypes: readonly DType[];
  /** The value of an empty reduction, by dtype; where there is none, an empty reduction is refused. */
  readonly identity: (dtype: DType) => number | undefined;
  readonly jvp: JvpRule<Axes>;
  readonly transpose?: TransposeRule<Axes>;
}

type ReductionOp = "reduceSum" | "reduceProd" | "reduceMax" | "reduceMin";

function reduction(op: ReductionOp, options: ReductionOptions): PrimitiveRow<Axes> {
  return {
    arity: 1,
    shape: (inputs, { axes }) => {
      const { dtype, shape } = at(inputs, 0);
      requireDType(op, "operand", dtype, options.dtypes);
      const ordered = axes.every(
        (axis, i) => axis >= 0 && axis < shape.length && (i === 0 || axis > at(axes, i - 1)),
      );
      if (!ordered) {
        throw new ArgumentError({
          operation: op,
          argument: "axes",
          found: formatShape(axes),
          expected: `distinct sorted axes of ${formatShape(shape)}`,
        });
      }
      if (options.identity(dtype) === undefined && axes.some((axis) => shape[axis] === 0)) {
        throw new ShapeError({
          operation: op,
          argument: "operand",
          found: formatShape(shape),
          expected: "at least one element along the reduced axes, since an empty extreme has no value",
        });
      }
      return { dtype, shape: kept(shape.length, axes).map((axis) => at(shape, axis)) };
    },
    jvp: options.jvp,
    transpose: options.transpose ?? notLinear,
    batch: (b, { params, inputs }) => b.emit(op, inputs, { axes: params.axes.map((axis) => axis + 1) }),
    sharding: ({ params, inputs, axis }) =>
      cutAlike([at(kept(at(inputs, 0).shape.length, params.axes), axis)], (b, _block, parts) =>
        b.emit(op, parts, params),
      ),
    cost,
    reference: (inputs, out, { axes }) => {
      const x = at(inputs, 0);
      const combine = scalarMeaning(options.combine, x.dtype);
      if (combine === undefined) throw new ArgumentError({ operation: op, found: x.dtype });
      // f32 accumulates in f64, so that a long sum keeps counting.
      const total = x.dtype === "float32" ? new Float64Array(out.data.length) : out.data;
      const seen = new Uint8Array(out.data.length);
      total.fill(options.identity(x.dtype) ?? 0);
      forEachReduced(x.shape, axes, (from, to) => {
        total[to] = seen[to] === 1 ? combine(at(total, to), at(x.data, from)) : at(x.data, from);
        seen[to] = 1;
      });
      if (total !== out.data) out.data.set(total);
    },
    lowering: {
      kind: "reduce",
      combine: options.combine,
      extents: ({ params, extents }) => params.axes.map((axis) => at(extents(0), axis)),
      element: ({ params, inputs, index, reduction: inner, read }) =>
        read(0, mergeIndex(at(inputs, 0).shape.length, params.axes, index, inner)),
    },
  };
}

const numbers: readonly DType[] = ["float64", "float32", "int32", "uint32"];

export const reduceSum = reduction("reduceSum", {
  combine: "add",
  dtypes: numbers,
  identity: () => 0,
  jvp: (b, { params, tangents }) => {
    const tangent = tangents[0] ?? null;
    return tangent === null ? null : b.sum(tangent, params.axes);
  },
  transpose: (b, { params, cotangent, avals }) => [spread(b, cotangent, at(avals, 0).shape, params.axes)],
});

export const reduceProd = reduction("reduceProd", {
  combine: "mul",
  dtypes: numbers,
  identity: () => 1,
  // The product of the others: total / x without zeros; with one zero only its own position differs from 0.
  jvp: (b, { params, primals, tangents, output }) => {
    const tangent = tangents[0] ?? null;
    if (tangent === null) return null;
    const { axes } = params;
    const x = at(primals, 0);
    const shape = b.shape(x);
    const [zero, one] = [b.like(x, 0), b.like(x, 1)];
    const isZero = b.apply("equal", x, zero);
    const zeros = spread(b, b.sum(b.apply("select", isZero, one, zero), axes), shape, axes);
    const filled = b.apply("select", isZero, one, x);
    const without = spread(b, b.emit("reduceProd", [filled], { axes }), shape, axes);
    const quotient = b.apply("div", spread(b, output, shape, axes), filled);
    const single = b.apply("select", b.apply("and", isZero, b.apply("equal", zeros, one)), without, zero);
    const others = b.apply("select", b.apply("equal", zeros, zero), quotient, single);
    return b.sum(b.apply("mul", tangent, others), axes);
  },
});

/** Elements that tie for the extreme share the derivative equally. */
function extreme(op: "reduceMax" | "reduceMin"): PrimitiveRow<Axes> {
  return reduction(op, {
    combine: op === "reduceMax" ? "max" : "min",
    dtypes: [...numbers, "bool"],
    identity: (dtype) => (dtype === "bool" ? (op === "reduceMax" ? 0 : 1) : undefined),
    jvp: (b, { params, primals, tangents, output }) => {
      const tangent = tangents[0] ?? null;
      if (tangent === null) return null;
      const x = at(primals, 0);
      const reached = b.apply("equal", x, spread(b, output, b.shape(x), params.axes));
      const mask = b.apply("select", reached, b.like(x, 1), b.like(x, 0));
      const count = b.sum(mask, params.axes);
      return b.apply("div", b.sum(b.apply("mul", tangent, mask), params.axes), count);
    },
  });
}
export const reduceMax = extreme("reduceMax");
export const reduceMin = extreme("reduceMin");

function argExtreme(op: "argMax" | "argMin"): PrimitiveRow<OpParams["argMax"]> {
  const better = (value: number, best: number): boolean =>
    !Number.isNaN(best) && (Number.isNaN(value) || (op === "argMax" ? value > best : value < best));
  const reference = (inputs: readonly HostArray[], out: HostArray, { axis }: OpParams["argMax"]): void => {
    const x = at(inputs, 0);
    const stride = at(stridesOf(x.shape), axis);
    const extent = at(x.shape, axis);
    for (let to = 0; to < out.data.length; to++) {
      const start = Math.floor(to / stride) * stride * extent + (to % stride);
      let best = 0;
      for (let k = 1; k < extent; k++) {
        if (better(at(x.data, start + k * stride), at(x.data, start + best * stride))) best = k;
      }
      out.data[to] = best;
    }
  };
  return {
    arity: 1,
    shape: (inputs, { axis }) => {
      const { shape } = at(inputs, 0);
      const extent = shape[axis];
      if (extent === undefined || extent === 0) {
        throw new ShapeError({
          operation: op,
          argument: "operand",
          found: formatShape(shape),
          expected: `at least one element along axis ${axis}`,
        });
      }
      return { dtype: "int32", shape: shape.filter((_, position) => position !== axis) };
    },
    jvp: zeroDerivative,
    transpose: notLinear,
    batch: (b, { params, inputs }) => b.emit(op, inputs, { axis: params.axis + 1 }),
    sharding: ({ params, axis }) =>
      cutAlike([axis < params.axis ? axis : axis + 1], (b, _block, parts) => b.emit(op, parts, params)),
    cost,
    reference,
    lowering: { kind: "argReduce", select: op === "argMax" ? "max" : "min", axis: ({ axis }) => axis },
  };
}
export const argMax = argExtreme("argMax");
export const argMin = argExtreme("argMin");
