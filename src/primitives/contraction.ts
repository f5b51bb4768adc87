/**
 * The contraction of two arrays. Everything about it follows from its index signature.
 */
import { at } from "../base/at.js";
import { itemSize, requireDType } from "../base/dtype.js";
import { DTypeError } from "../base/errors.js";
import { sizeOf, stridesOf } from "../base/shape.js";
import type { Aval, OpParams } from "../ir/graph.js";
import type { Index } from "../ir/kernel.js";
import { applyScalar } from "../ir/kernel.js";
import { contractionOrder, tileExtent } from "./order.js";
import { addTangents } from "./tangent.js";
import type { Cost, ElementContext, HostArray, PrimitiveRow } from "./row.js";
import type { Run, Sharding } from "./sharding.js";
import { alike, sliceAlong, whole, withEntry } from "./sharding.js";
import { formatSignature, freshIndex, indexExtents, parseSignature } from "./signature.js";

type Params = OpParams["contract"];

function cost(inputs: readonly Aval[], output: Aval, { signature }: Params): Cost {
  const [a, b] = [at(inputs, 0), at(inputs, 1)];
  const extents = indexExtents(signature, a.shape, b.shape);
  let products = 1;
  for (const extent of extents.values()) products *= extent;
  return {
    flops: 2 * products,
    bytes: (sizeOf(a.shape) + sizeOf(b.shape) + sizeOf(output.shape)) * itemSize(output.dtype),
  };
}

function reference(inputs: readonly HostArray[], out: HostArray, { signature }: Params): void {
  const [a, b] = [at(inputs, 0), at(inputs, 1)];
  const parsed = parseSignature(signature);
  const extents = indexExtents(signature, a.shape, b.shape);
  const names = [...parsed.out, ...parsed.summed];
  const shape = names.map((name) => extents.get(name) ?? 1);
  const stepsOf = (list: readonly string[], of: readonly number[]): number[] => {
    const strides = stridesOf(of);
    return names.map((name) => (list.includes(name) ? at(strides, list.indexOf(name)) : 0));
  };
  const [stepsA, stepsB] = [stepsOf(parsed.a, a.shape), stepsOf(parsed.b, b.shape)];
  const strides = stridesOf(shape);
  const terms = sizeOf(shape.slice(parsed.out.length));
  for (let to = 0; to < out.data.length; to++) {
    // Integers are exact modulo 2^32 only if each product is; f32 accumulates in f64.
    let total = 0;
    for (let term = 0; term < terms; term++) {
      let [fromA, fromB] = [0, 0];
      const flat = to * terms + term;
      names.forEach((_, axis) => {
        const position = Math.floor(flat / at(strides, axis)) % at(shape, axis);
        fromA += position * at(stepsA, axis);
        fromB += position * at(stepsB, axis);
      });
      const [x, y] = [at(a.data, fromA), at(b.data, fromB)];
      total = out.dtype === "int32" || out.dtype === "uint32" ? (total + Math.imul(x, y)) | 0 : total + x * y;
    }
    out.data[to] = total;
  }
}

function operandIndex(list: readonly string[], context: ElementContext<Params>): Index[] {
  const { out, summed } = parseSignature(context.params.signature);
  return list.map((name) =>
    out.includes(name) ? at(context.index, out.indexOf(name)) : at(context.reduction, summed.indexOf(name)),
  );
}

/**
 * The operands that have the cut index are cut along it. A block with so few positions that its sums would add in another
 * order than the whole's is computed with some of its neighbours.
 */
function sharding(signature: string, inputs: readonly Aval[], axis: number): Sharding {
  const { a, b: second, out } = parseSignature(signature);
  const index = at(out, axis);
  const shapes = [at(inputs, 0).shape, at(inputs, 1).shape];
  const axes = [a, second].map((names) => (names.includes(index) ? names.indexOf(index) : whole));
  const total = indexExtents(signature, at(shapes, 0), at(shapes, 1)).get(index) ?? 1;
  const orderOf = (extent: number): string => {
    const [left, right] = shapes.map((shape, i) => {
      const cut = at(axes, i);
      return cut === whole ? shape : withEntry(shape, cut, extent);
    });
    return contractionOrder(signature, left ?? [], right ?? []);
  };
  const computed = (block: Run): Run =>
    orderOf(block.extent) === orderOf(total)
      ? block
      : { start: Math.min(block.start, total - tileExtent), extent: tileExtent };
  return {
    axes,
    grain: alike,
    reads: (_operand, block) => computed(block),
    emit: (b, block, parts) => {
      const { start } = computed(block);
      const value = b.emit("contract", parts, { signature });
      return sliceAlong(b, value, axis, { start: block.start - start, extent: block.extent });
    },
  };
}

export const contract: PrimitiveRow<Params> = {
  arity: 2,
  shape: (inputs, { signature }) => {
    const [a, b] = [at(inputs, 0), at(inputs, 1)];
    requireDType("contract", "a", a.dtype, ["float64", "float32", "int32", "uint32"]);
    if (a.dtype !== b.dtype) {
      throw new DTypeError({
        operation: "contract",
        argument: "b",
        found: b.dtype,
        expected: `${a.dtype}, the dtype of a`,
        remedy: "convert one of them with .astype(...)",
      });
    }
    const extents = indexExtents(signature, a.shape, b.shape);
    return { dtype: a.dtype, shape: parseSignature(signature).out.map((name) => extents.get(name) ?? 1) };
  },
  jvp: (b, { params, primals, tangents }) => {
    const [first = null, second = null] = tangents;
    return addTangents(
      b,
      first === null ? null : b.emit("contract", [first, at(primals, 1)], params),
      second === null ? null : b.emit("contract", [at(primals, 0), second], params),
    );
  },
  transpose: (b, { params, cotangent, inputs, linear }) => {
    const { a: left, b: right, out } = parseSignature(params.signature);
    return [
      linear[0] === true
        ? b.emit("contract", [cotangent, at(inputs, 1)], { signature: formatSignature(out, right, left) })
        : null,
      linear[1] === true
        ? b.emit("contract", [at(inputs, 0), cotangent], { signature: formatSignature(left, out, right) })
        : null,
    ];
  },
  batch: (b, { params, inputs, batched }) => {
    const signature = parseSignature(params.signature);
    const index = freshIndex(signature);
    const left = batched[0] === true ? [index, ...signature.a] : signature.a;
    const right = batched[1] === true ? [index, ...signature.b] : signature.b;
    return b.emit("contract", inputs, { signature: formatSignature(left, right, [index, ...signature.out]) });
  },
  sharding: ({ params, inputs, axis }) => sharding(params.signature, inputs, axis),
  cost,
  reference,
  lowering: {
    kind: "reduce",
    combine: "add",
    extents: ({ params, extents }) => {
      const { a, summed } = parseSignature(params.signature);
      return summed.map((name) => at(extents(0), a.indexOf(name)));
    },
    element: (context) => {
      const { a, b } = parseSignature(context.params.signature);
      return applyScalar(
        "mul",
        context.read(0, operandIndex(a, context)),
        context.read(1, operandIndex(b, context)),
      );
    },
  },
};
