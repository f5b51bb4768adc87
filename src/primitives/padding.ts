/**
 * A part of an array, and an array within zeros: slice and pad, which are each other's transposes.
 */
import { at } from "../base/at.js";
import { ShapeError } from "../base/errors.js";
import { formatShape, stridesOf } from "../base/shape.js";
import type { Aval, OpParams } from "../ir/graph.js";
import type { Index, Scalar } from "../ir/kernel.js";
import { addIndex, constIndex, constScalar, divIndex, modIndex, mulIndex, subIndex } from "../ir/kernel.js";
import { dot, mapTangent, moveCost, rearrange } from "./rearrange.js";
import type { PrimitiveRow } from "./row.js";
import type { Run } from "./sharding.js";
import { alike, withEntry } from "./sharding.js";

const sliceExtent = (start: number, limit: number, step: number): number =>
  Math.max(0, Math.ceil((limit - start) / step));

export const slice: PrimitiveRow<OpParams["slice"]> = {
  arity: 1,
  shape: (inputs, { start, limit, step }) => {
    const x = at(inputs, 0);
    const fits = x.shape.every((extent, axis) => {
      const [from, to, by] = [start[axis] ?? -1, limit[axis] ?? -1, step[axis] ?? 0];
      return from >= 0 && from <= to && to <= extent && by >= 1;
    });
    if (!fits || [start, limit, step].some((list) => list.length !== x.shape.length)) {
      throw new ShapeError({
        operation: "slice",
        argument: "bounds",
        found: `${formatShape(start)} to ${formatShape(limit)} by ${formatShape(step)}`,
        expected: `0 ≤ start ≤ limit ≤ extent and step ≥ 1 for each axis of ${formatShape(x.shape)}`,
      });
    }
    return {
      dtype: x.dtype,
      shape: start.map((from, axis) => sliceExtent(from, at(limit, axis), at(step, axis))),
    };
  },
  jvp: mapTangent((b, id, params) => b.emit("slice", [id], params)),
  transpose: (b, { params, cotangent, avals }) => {
    const extents = b.shape(cotangent);
    const covered = params.start.map((from, axis) => {
      const extent = at(extents, axis);
      return extent === 0 ? from : from + (extent - 1) * at(params.step, axis) + 1;
    });
    return [
      b.emit("pad", [cotangent], {
        low: params.start,
        high: covered.map((end, axis) => at(at(avals, 0).shape, axis) - end),
        interior: params.step.map((step) => step - 1),
      }),
    ];
  },
  batch: (b, { params, inputs, size }) =>
    b.emit("slice", inputs, {
      start: [0, ...params.start],
      limit: [size, ...params.limit],
      step: [1, ...params.step],
    }),
  sharding: ({ params, axis }) => {
    const step = at(params.step, axis);
    const covered = (extent: number): number => (extent === 0 ? 0 : (extent - 1) * step + 1);
    return {
      axes: [axis],
      grain: alike,
      reads: (_operand, { start, extent }) => ({
        start: at(params.start, axis) + start * step,
        extent: covered(extent),
      }),
      emit: (b, { extent }, parts) => {
        return b.emit("slice", parts, {
          ...params,
          start: withEntry(params.start, axis, 0),
          limit: withEntry(params.limit, axis, covered(extent)),
        });
      },
    };
  },
  cost: moveCost,
  reference: (inputs, out, { start, step }) => {
    const x = at(inputs, 0);
    const strides = stridesOf(x.shape);
    rearrange(x, out, (position) =>
      dot(
        position.map((value, axis) => at(start, axis) + value * at(step, axis)),
        strides,
      ),
    );
  },
  lowering: {
    kind: "element",
    element: ({ params, index, read }) =>
      read(
        0,
        index.map((position, axis) =>
          addIndex(mulIndex(position, constIndex(at(params.step, axis))), constIndex(at(params.start, axis))),
        ),
      ),
  },
};

const paddedExtent = (extent: number, low: number, high: number, interior: number): number =>
  low + high + extent + Math.max(0, extent - 1) * interior;

/** Position p lies on an element if p − low is in range and a multiple of interior + 1. */
function padElement(
  params: OpParams["pad"],
  dtype: Aval["dtype"],
  index: readonly Index[],
  extents: readonly Index[],
  read: (index: readonly Index[]) => Scalar,
): Scalar {
  const zero = constScalar(dtype, 0);
  const guards: Scalar[] = [];
  const inner = index.map((position, axis) => {
    const [low, high, interior] = [at(params.low, axis), at(params.high, axis), at(params.interior, axis)];
    const step = constIndex(interior + 1);
    const shifted = subIndex(position, constIndex(low));
    const source = interior === 0 ? shifted : divIndex(shifted, step);
    if (low > 0) {
      guards.push({
        kind: "choose",
        dtype: "bool",
        when: less(position, constIndex(low)),
        then: no,
        otherwise: yes,
      });
    }
    if (high > 0) guards.push(less(source, at(extents, axis)));
    if (interior > 0)
      guards.push({ kind: "indexEqual", dtype: "bool", a: modIndex(shifted, step), b: constIndex(0) });
    return source;
  });
  return guards.reduceRight<Scalar>(
    (then, when) => ({ kind: "choose", dtype, when, then, otherwise: zero }),
    read(inner),
  );
}
const yes = constScalar("bool", 1);
const no = constScalar("bool", 0);
const less = (a: Index, b: Index): Scalar => ({ kind: "indexLess", dtype: "bool", a, b });

export const pad: PrimitiveRow<OpParams["pad"]> = {
  arity: 1,
  shape: (inputs, { low, high, interior }) => {
    const x = at(inputs, 0);
    const lists = [low, high, interior];
    if (lists.some((list) => list.length !== x.shape.length || list.some((width) => !(width >= 0)))) {
      throw new ShapeError({
        operation: "pad",
        argument: "widths",
        found: lists.map(formatShape).join(" "),
        expected: `widths that are not negative for each axis of ${formatShape(x.shape)}`,
      });
    }
    const shape = x.shape.map((extent, axis) =>
      paddedExtent(extent, at(low, axis), at(high, axis), at(interior, axis)),
    );
    return { dtype: x.dtype, shape };
  },
  jvp: mapTangent((b, id, params) => b.emit("pad", [id], params)),
  transpose: (b, { params, cotangent, avals }) => {
    const shape = at(avals, 0).shape;
    return [
      b.emit("slice", [cotangent], {
        start: params.low,
        limit: shape.map((extent, axis) =>
          paddedExtent(extent, at(params.low, axis), 0, at(params.interior, axis)),
        ),
        step: params.interior.map((interior) => interior + 1),
      }),
    ];
  },
  batch: (b, { params, inputs }) =>
    b.emit("pad", inputs, {
      low: [0, ...params.low],
      high: [0, ...params.high],
      interior: [0, ...params.interior],
    }),
  sharding: ({ params, inputs, output, axis }) => {
    const step = at(params.interior, axis) + 1;
    const low = at(params.low, axis);
    const total = at(at(inputs, 0).shape, axis);
    const reads = ({ start, extent }: Run): Run => {
      const limit = (position: number): number =>
        Math.max(0, Math.min(total, Math.ceil((position - low) / step)));
      return { start: limit(start), extent: limit(start + extent) - limit(start) };
    };
    return {
      axes: [axis],
      grain: alike,
      reads: (_operand, block) => reads(block),
      emit: (b, block, parts) => {
        const read = reads(block);
        const { dtype } = output;
        if (read.extent === 0)
          return b.fill(0, { dtype, shape: withEntry(output.shape, axis, block.extent) });
        const before = low + read.start * step - block.start;
        const covered = (read.extent - 1) * step + 1;
        return b.emit("pad", parts, {
          ...params,
          low: withEntry(params.low, axis, before),
          high: withEntry(params.high, axis, block.extent - before - covered),
        });
      },
    };
  },
  cost: moveCost,
  reference: (inputs, out, { low, interior }) => {
    const x = at(inputs, 0);
    const [strides, outStrides] = [stridesOf(x.shape), stridesOf(out.shape)];
    out.data.fill(0);
    for (let i = 0; i < x.data.length; i++) {
      const to = strides.map((stride, axis) => {
        const position = Math.floor(i / stride) % at(x.shape, axis);
        return at(low, axis) + position * (at(interior, axis) + 1);
      });
      out.data[dot(to, outStrides)] = at(x.data, i);
    }
  },
  lowering: {
    kind: "element",
    element: ({ params, output, index, extents, read }) =>
      padElement(params, output.dtype, index, extents(0), (inner) => read(0, inner)),
  },
};
