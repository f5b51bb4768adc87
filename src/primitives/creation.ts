/**
 * Primitives without operands. Their results stay symbolic until something reads them, which is how the identity seed of
 * a Jacobian never becomes a matrix of zeros and ones.
 */
import { sizeOf, stridesOf } from "../base/shape.js";
import { at } from "../base/at.js";
import { coerce, itemSize } from "../base/dtype.js";
import { ArgumentError } from "../base/errors.js";
import { requireShape } from "../base/shape.js";
import type { Aval, OpParams } from "../ir/graph.js";
import { addIndex, constIndex, constScalar } from "../ir/kernel.js";
import type { BatchRule, Cost, PrimitiveRow } from "./row.js";
import { notLinear, zeroDerivative } from "./row.js";
import { cutAlike, positionsFrom, withEntry } from "./sharding.js";

const unbatched: BatchRule<unknown> = () => {
  throw new ArgumentError({ operation: "vmap", found: "a batched operand of a primitive without operands" });
};

function writeOnly(_inputs: readonly Aval[], output: Aval): Cost {
  return { flops: 0, bytes: sizeOf(output.shape) * itemSize(output.dtype) };
}

const common = {
  arity: 0,
  jvp: zeroDerivative,
  transpose: notLinear,
  batch: unbatched,
  cost: writeOnly,
} as const;

export const fill: PrimitiveRow<OpParams["fill"]> = {
  ...common,
  shape: (_inputs, { dtype, shape }) => ({ dtype, shape: requireShape("fill", "shape", shape) }),
  sharding: ({ params, axis }) =>
    cutAlike([], (b, { extent }) =>
      b.emit("fill", [], { ...params, shape: withEntry(params.shape, axis, extent) }),
    ),
  reference: (_inputs, out, { value, dtype }) => void out.data.fill(coerce(dtype, value)),
  lowering: { kind: "element", element: ({ params }) => constScalar(params.dtype, params.value) },
};

export const iota: PrimitiveRow<OpParams["iota"]> = {
  ...common,
  shape: (_inputs, { dtype, shape, axis }) => {
    requireShape("iota", "shape", shape);
    if (!(axis >= 0 && axis < shape.length)) {
      throw new ArgumentError({
        operation: "iota",
        argument: "axis",
        found: String(axis),
        expected: `an axis of a shape with ${shape.length}`,
      });
    }
    return { dtype, shape };
  },
  sharding: ({ params, axis }) =>
    cutAlike([], (b, { extent }, _inputs, origin) => {
      const shape = withEntry(params.shape, axis, extent);
      if (axis !== params.axis) return b.emit("iota", [], { ...params, shape });
      const positions = positionsFrom(b, shape, axis, origin());
      return params.dtype === "int32" ? positions : b.emit("convert", [positions], { dtype: params.dtype });
    }),
  reference: (_inputs, out, { dtype, shape, axis }) => {
    const stride = at(stridesOf(shape), axis);
    for (let i = 0; i < out.data.length; i++) {
      out.data[i] = coerce(dtype, Math.floor(i / stride) % at(shape, axis));
    }
  },
  lowering: {
    kind: "element",
    element: ({ params, index }) => ({
      kind: "fromIndex",
      dtype: params.dtype,
      index: at(index, params.axis),
    }),
  },
};

export const eye: PrimitiveRow<OpParams["eye"]> = {
  ...common,
  shape: (_inputs, { dtype, rows, columns }) => ({
    dtype,
    shape: requireShape("eye", "shape", [rows, columns]),
  }),
  sharding: ({ params: { dtype, rows, columns, offset }, axis }) =>
    cutAlike([], (b, { extent }, _inputs, origin) => {
      const shape = withEntry([rows, columns], axis, extent);
      const counted = (along: number): number =>
        along === axis
          ? positionsFrom(b, shape, along, origin())
          : b.emit("iota", [], { dtype: "int32", shape, axis: along });
      const shifted = b.apply("add", counted(0), b.fill(offset, { dtype: "int32", shape }));
      const ones = b.apply("equal", shifted, counted(1));
      return dtype === "bool" ? ones : b.emit("convert", [ones], { dtype });
    }),
  reference: (_inputs, out, { rows, columns, offset }) => {
    for (let row = Math.max(0, -offset); row < rows && row + offset < columns; row++) {
      out.data[row * columns + row + offset] = 1;
    }
  },
  lowering: {
    kind: "element",
    element: ({ params, index }) => {
      const row = addIndex(at(index, 0), constIndex(Math.max(0, params.offset)));
      const column = addIndex(at(index, 1), constIndex(Math.max(0, -params.offset)));
      return {
        kind: "choose",
        dtype: params.dtype,
        when: { kind: "indexEqual", dtype: "bool", a: row, b: column },
        then: constScalar(params.dtype, 1),
        otherwise: constScalar(params.dtype, 0),
      };
    },
  },
};
