/**
 * Primitives that rearrange elements without computing: each is an index map, so that a fused kernel pays nothing for it.
 */
import { at } from "../base/at.js";
import { ArgumentError, DTypeError, ShapeError } from "../base/errors.js";
import type { Shape } from "../base/shape.js";
import { formatShape, invertPermutation, requireShape, sameShape, sizeOf, stridesOf } from "../base/shape.js";
import type { NoParams, OpParams } from "../ir/graph.js";
import type { Index, Scalar } from "../ir/kernel.js";
import { addIndex, constIndex, constScalar, flattenIndex, subIndex, unflattenIndex } from "../ir/kernel.js";
import type { Emitter } from "./emitter.js";
import { dot, mapTangent, moveCost, rearrange } from "./rearrange.js";
import type { PrimitiveRow, Tangent } from "./row.js";
import type { Run, Sharding } from "./sharding.js";
import { alike, cutAlike, diagonalMask, notCuttable, sliceAlong, whole, withEntry } from "./sharding.js";

export const broadcast: PrimitiveRow<OpParams["broadcast"]> = {
  arity: 1,
  shape: (inputs, { shape, axes }) => {
    const x = at(inputs, 0);
    requireShape("broadcast", "shape", shape);
    const fits =
      axes.length === x.shape.length &&
      axes.every(
        (axis, i) =>
          axis >= 0 &&
          axis < shape.length &&
          (i === 0 || axis > at(axes, i - 1)) &&
          shape[axis] === x.shape[i],
      );
    if (!fits) {
      throw new ShapeError({
        operation: "broadcast",
        argument: "operand",
        found: `${formatShape(x.shape)} at axes ${formatShape(axes)} of ${formatShape(shape)}`,
        expected: "increasing axes with the operand's extents",
      });
    }
    return { dtype: x.dtype, shape };
  },
  jvp: mapTangent((b, id, params) => b.emit("broadcast", [id], params)),
  transpose: (b, { params, cotangent }) => {
    const added = params.shape.map((_, axis) => axis).filter((axis) => !params.axes.includes(axis));
    return [b.sum(cotangent, added)];
  },
  batch: (b, { params, inputs, size }) =>
    b.emit("broadcast", inputs, {
      shape: [size, ...params.shape],
      axes: [0, ...params.axes.map((axis) => axis + 1)],
    }),
  sharding: ({ params, axis }) => {
    const own = params.axes.indexOf(axis);
    return cutAlike([own < 0 ? whole : own], (b, { extent }, parts) =>
      b.emit("broadcast", parts, { ...params, shape: withEntry(params.shape, axis, extent) }),
    );
  },
  cost: moveCost,
  reference: (inputs, out, { axes }) => {
    const x = at(inputs, 0);
    const strides = stridesOf(x.shape);
    rearrange(x, out, (position) =>
      axes.reduce((sum, axis, i) => sum + at(position, axis) * at(strides, i), 0),
    );
  },
  lowering: {
    kind: "element",
    element: ({ params, index, read }) =>
      read(
        0,
        params.axes.map((axis) => at(index, axis)),
      ),
  },
};

/** The greatest common divisor. */
function divisor(a: number, b: number): number {
  return b === 0 ? a : divisor(b, a % b);
}

/**
 * An axis can be cut if some axis of the operand has as many elements before it: positions of the one are then a run of
 * positions of the other, whole ones if the block starts and ends at a multiple of the grain.
 */
function reshapeSharding(from: Shape, to: Shape, axis: number): Sharding | typeof notCuttable {
  const before = sizeOf(to.slice(0, axis));
  const own = from.findLastIndex((_, position) => sizeOf(from.slice(0, position)) === before);
  if (own < 0 || sizeOf(to) === 0) return notCuttable;
  const [inner, target] = [sizeOf(from.slice(own + 1)), sizeOf(to.slice(axis + 1))];
  const reads = ({ start, extent }: Run): Run => {
    const first = Math.floor((start * target) / inner);
    return { start: first, extent: Math.ceil(((start + extent) * target) / inner) - first };
  };
  return {
    axes: [own],
    grain: (of) => (inner * of) / divisor(target, inner * of),
    reads: (_operand, block) => reads(block),
    emit: (b, block, parts) => {
      const read = reads(block);
      const flat = b.reshape(at(parts, 0), [...to.slice(0, axis), read.extent * inner]);
      const start = block.start * target - read.start * inner;
      const cut = sliceAlong(b, flat, axis, { start, extent: block.extent * target });
      return b.reshape(cut, withEntry(to, axis, block.extent));
    },
  };
}

export const reshape: PrimitiveRow<OpParams["reshape"]> = {
  arity: 1,
  shape: (inputs, { shape }) => {
    const x = at(inputs, 0);
    requireShape("reshape", "shape", shape);
    if (sizeOf(shape) !== sizeOf(x.shape)) {
      throw new ShapeError({
        operation: "reshape",
        argument: "shape",
        found: `${formatShape(shape)} with ${sizeOf(shape)} elements`,
        expected: `${sizeOf(x.shape)} elements, as in ${formatShape(x.shape)}`,
      });
    }
    return { dtype: x.dtype, shape };
  },
  jvp: mapTangent((b, id, params) => b.emit("reshape", [id], params)),
  transpose: (b, { cotangent, avals }) => [b.reshape(cotangent, at(avals, 0).shape)],
  batch: (b, { params, inputs, size }) => b.emit("reshape", inputs, { shape: [size, ...params.shape] }),
  sharding: ({ params, inputs, axis }) => reshapeSharding(at(inputs, 0).shape, params.shape, axis),
  cost: moveCost,
  reference: (inputs, out) => out.data.set(at(inputs, 0).data),
  lowering: {
    kind: "element",
    element: ({ index, outputExtents, extents, read }) =>
      read(0, unflattenIndex(flattenIndex(index, outputExtents), extents(0))),
  },
};

export const transpose: PrimitiveRow<OpParams["transpose"]> = {
  arity: 1,
  shape: (inputs, { permutation }) => {
    const x = at(inputs, 0);
    const sorted = [...permutation].sort((a, b) => a - b);
    if (permutation.length !== x.shape.length || sorted.some((axis, i) => axis !== i)) {
      throw new ArgumentError({
        operation: "transpose",
        argument: "axes",
        found: formatShape(permutation),
        expected: `a permutation of the ${x.shape.length} axes of ${formatShape(x.shape)}`,
      });
    }
    return { dtype: x.dtype, shape: permutation.map((axis) => at(x.shape, axis)) };
  },
  jvp: mapTangent((b, id, { permutation }) => b.transpose(id, permutation)),
  transpose: (b, { params, cotangent }) => [b.transpose(cotangent, invertPermutation(params.permutation))],
  batch: (b, { params, inputs }) =>
    b.emit("transpose", inputs, { permutation: [0, ...params.permutation.map((axis) => axis + 1)] }),
  sharding: ({ params, axis }) =>
    cutAlike([at(params.permutation, axis)], (b, _block, parts) => b.emit("transpose", parts, params)),
  cost: moveCost,
  reference: (inputs, out, { permutation }) => {
    const x = at(inputs, 0);
    const strides = permutation.map((axis) => at(stridesOf(x.shape), axis));
    rearrange(x, out, (position) => dot(position, strides));
  },
  lowering: {
    kind: "element",
    element: ({ params, index, read }) =>
      read(
        0,
        invertPermutation(params.permutation).map((position) => at(index, position)),
      ),
  },
};

export const reverse: PrimitiveRow<OpParams["reverse"]> = {
  arity: 1,
  shape: (inputs, { axes }) => {
    const x = at(inputs, 0);
    if (axes.some((axis) => !(axis >= 0 && axis < x.shape.length))) {
      throw new ArgumentError({
        operation: "reverse",
        argument: "axes",
        found: formatShape(axes),
        expected: `axes of ${formatShape(x.shape)}`,
      });
    }
    return x;
  },
  jvp: mapTangent((b, id, params) => b.emit("reverse", [id], params)),
  transpose: (b, { params, cotangent }) => [b.emit("reverse", [cotangent], params)],
  batch: (b, { params, inputs }) => b.emit("reverse", inputs, { axes: params.axes.map((axis) => axis + 1) }),
  sharding: ({ params, output, axis }) => {
    const total = at(output.shape, axis);
    return {
      axes: [axis],
      grain: alike,
      reads: (_operand, { start, extent }) =>
        params.axes.includes(axis) ? { start: total - start - extent, extent } : { start, extent },
      emit: (b, _block, parts) => b.emit("reverse", parts, params),
    };
  },
  cost: moveCost,
  reference: (inputs, out, { axes }) => {
    const x = at(inputs, 0);
    const strides = stridesOf(x.shape);
    const flip = (value: number, axis: number): number =>
      axes.includes(axis) ? at(x.shape, axis) - 1 - value : value;
    rearrange(x, out, (position) => dot(position.map(flip), strides));
  },
  lowering: {
    kind: "element",
    element: ({ params, index, extents, read }) =>
      read(
        0,
        index.map((position, axis) =>
          params.axes.includes(axis)
            ? subIndex(subIndex(at(extents(0), axis), constIndex(1)), position)
            : position,
        ),
      ),
  },
};

export const concatenate: PrimitiveRow<OpParams["concatenate"]> = {
  arity: null,
  shape: (inputs, { axis }) => {
    const first = at(inputs, 0);
    let extent = 0;
    inputs.forEach((aval, position) => {
      const own = aval.shape[axis];
      const fits =
        aval.shape.length === first.shape.length &&
        aval.shape.every((e, i) => i === axis || e === first.shape[i]);
      if (own === undefined || !fits) {
        throw new ShapeError({
          operation: "concatenate",
          argument: `array ${position}`,
          found: formatShape(aval.shape),
          expected: `the extents of ${formatShape(first.shape)}, except along axis ${axis}`,
        });
      }
      if (aval.dtype !== first.dtype) {
        throw new DTypeError({
          operation: "concatenate",
          argument: `array ${position}`,
          found: aval.dtype,
          expected: first.dtype,
          remedy: "convert it with .astype(...)",
        });
      }
      extent += own;
    });
    return { dtype: first.dtype, shape: first.shape.map((e, i) => (i === axis ? extent : e)) };
  },
  jvp: (b, { params, primals, tangents }) => {
    if (tangents.every((tangent) => tangent === null)) return null;
    const parts = primals.map((id, position) => tangents[position] ?? b.like(id, 0));
    return b.emit("concatenate", parts, params);
  },
  transpose: (b, { params, cotangent, linear, avals }) => {
    const shape = b.shape(cotangent);
    let start = 0;
    return avals.map((aval, position): Tangent => {
      const extent = at(aval.shape, params.axis);
      const from = start;
      start += extent;
      if (linear[position] !== true) return null;
      return b.emit("slice", [cotangent], {
        start: shape.map((_, axis) => (axis === params.axis ? from : 0)),
        limit: shape.map((full, axis) => (axis === params.axis ? from + extent : full)),
        step: shape.map(() => 1),
      });
    });
  },
  batch: (b, { params, inputs, batched, size }) => {
    const parts = inputs.map((id, position) => {
      const shape: Shape = b.shape(id);
      return batched[position] === true
        ? id
        : b.broadcast(
            id,
            [size, ...shape],
            shape.map((_, axis) => axis + 1),
          );
    });
    return b.emit("concatenate", parts, { axis: params.axis + 1 });
  },
  sharding: ({ params, inputs, axis }) => {
    const axes = inputs.map(() => axis);
    if (axis !== params.axis)
      return cutAlike(axes, (b, _block, parts) => b.emit("concatenate", parts, params));
    const starts: number[] = [0];
    for (const { shape } of inputs) starts.push(at(starts, starts.length - 1) + at(shape, axis));
    const reads = (operand: number, { start, extent }: Run): Run => {
      const [first, end] = [at(starts, operand), at(starts, operand + 1)];
      const from = Math.max(first, Math.min(end, start));
      return { start: from - first, extent: Math.max(from, Math.min(end, start + extent)) - from };
    };
    return {
      axes,
      grain: alike,
      reads,
      emit: (b, block, parts) => {
        const present = parts.filter((_, operand) => reads(operand, block).extent > 0);
        return present.length === 1 ? at(present, 0) : b.emit("concatenate", present, params);
      },
    };
  },
  cost: moveCost,
  reference: (inputs, out, { axis }) => {
    const outer = sizeOf(out.shape.slice(0, axis));
    const width = sizeOf(out.shape.slice(axis));
    let column = 0;
    for (const x of inputs) {
      const own = sizeOf(x.shape.slice(axis));
      for (let row = 0; row < outer; row++) {
        out.data.set(x.data.subarray(row * own, (row + 1) * own), row * width + column);
      }
      column += own;
    }
  },
  lowering: {
    kind: "element",
    element: ({ params, inputs, output, index, extents, read }) => {
      const place = at(index, params.axis);
      const moved = (start: Index): Index[] =>
        index.map((p, axis) => (axis === params.axis ? subIndex(p, start) : p));
      const part = (operand: number, start: Index): Scalar => {
        const value = read(operand, moved(start));
        if (operand === inputs.length - 1) return value;
        const end = addIndex(start, at(extents(operand), params.axis));
        return {
          kind: "choose",
          dtype: output.dtype,
          when: { kind: "indexLess", dtype: "bool", a: place, b: end },
          then: value,
          otherwise: part(operand + 1, end),
        };
      };
      return part(0, constIndex(0));
    },
  },
};

export const diag: PrimitiveRow<NoParams> = {
  arity: 1,
  shape: (inputs) => {
    const x = at(inputs, 0);
    if (x.shape.length !== 1) {
      throw new ShapeError({
        operation: "diag",
        argument: "operand",
        found: formatShape(x.shape),
        expected: "a vector",
      });
    }
    return { dtype: x.dtype, shape: [at(x.shape, 0), at(x.shape, 0)] };
  },
  jvp: mapTangent((b, id) => b.apply("diag", id)),
  transpose: (b, { cotangent }) => [diagonalOf(b, cotangent)],
  batch: (b, { inputs, size }) => {
    const id = at(inputs, 0);
    const n = at(b.shape(id), 1);
    const wide = b.broadcast(id, [size, n, n], [0, 1]);
    const mask = b.broadcast(b.eye("bool", n, n), [size, n, n], [1, 2]);
    return b.apply("select", mask, wide, b.like(wide, 0));
  },
  sharding: ({ output, axis }) =>
    cutAlike([0], (b, { extent }, parts, origin) => {
      const shape = withEntry(output.shape, axis, extent);
      const wide = b.broadcast(at(parts, 0), shape, [axis]);
      return b.apply("select", diagonalMask(b, shape, axis, origin()), wide, b.like(wide, 0));
    }),
  cost: moveCost,
  reference: (inputs, out) => {
    const x = at(inputs, 0);
    const n = x.data.length;
    out.data.fill(0);
    for (let i = 0; i < n; i++) out.data[i * n + i] = at(x.data, i);
  },
  lowering: {
    kind: "element",
    element: ({ output, index, read }) => ({
      kind: "choose",
      dtype: output.dtype,
      when: { kind: "indexEqual", dtype: "bool", a: at(index, 0), b: at(index, 1) },
      then: read(0, [at(index, 0)]),
      otherwise: constScalar(output.dtype, 0),
    }),
  },
};

/** The diagonal of a square matrix: its elements at every (n + 1)-th place. */
function diagonalOf(b: Emitter, matrix: number): number {
  const n = at(b.shape(matrix), 0);
  if (sameShape(b.shape(matrix), [0, 0])) return b.reshape(matrix, [0]);
  const flat = b.reshape(matrix, [n * n]);
  return b.emit("slice", [flat], { start: [0], limit: [n * n], step: [n + 1] });
}
