/**
 * Reading and accumulating at positions that are data: gather and its transpose.
 */
import { at } from "../base/at.js";
import { itemSize, requireDType } from "../base/dtype.js";
import { ShapeError } from "../base/errors.js";
import { formatShape, invertPermutation, sizeOf } from "../base/shape.js";
import type { Aval, OpParams, ValueId } from "../ir/graph.js";
import { constIndex, maxIndex, minIndex, subIndex } from "../ir/kernel.js";
import type { Emitter } from "./emitter.js";
import type { Cost, PrimitiveRow } from "./row.js";
import { cutAlike, whole } from "./sharding.js";

function cost(inputs: readonly Aval[], output: Aval): Cost {
  const bytes = [...inputs, output].reduce((sum, aval) => sum + sizeOf(aval.shape) * itemSize(aval.dtype), 0);
  return { flops: 0, bytes };
}

/** The shape of what `indices` reads along `axis` of x. */
function gatheredShape(operation: string, inputs: readonly Aval[], axis: number): number[] {
  const [x, indices] = [at(inputs, 0), at(inputs, 1)];
  requireDType(operation, "indices", indices.dtype, ["int32"]);
  const extent = x.shape[axis];
  if (extent === undefined || (extent === 0 && sizeOf(indices.shape) > 0)) {
    throw new ShapeError({
      operation,
      argument: "x",
      found: formatShape(x.shape),
      expected: `at least one element along axis ${axis}`,
    });
  }
  return [...x.shape.slice(0, axis), ...indices.shape, ...x.shape.slice(axis + 1)];
}

const count = (from: number, length: number): number[] => Array.from({ length }, (_, i) => from + i);

/** Repeats a value along a new leading axis. */
function repeat(b: Emitter, id: ValueId, size: number): ValueId {
  const shape = b.shape(id);
  return b.broadcast(
    id,
    [size, ...shape],
    shape.map((_, axis) => axis + 1),
  );
}

/**
 * Both x and the indices carry a batch axis: merges it with the gathered axis, so that one gather along axis 0 serves.
 * Returns x as [size·extent, rest], the shifted indices, and a way to bring a result [size, ...indices, rest] back.
 */
function mergeBatch(b: Emitter, x: ValueId, indices: ValueId, axis: number, outside: "clamp" | "drop") {
  const shape = b.shape(x);
  const [size, extent] = [at(shape, 0), at(shape, axis + 1)];
  const others = count(1, shape.length - 1).filter((position) => position !== axis + 1);
  const front = [0, axis + 1, ...others];
  const rest = others.map((position) => at(shape, position));
  const merged = b.reshape(b.transpose(x, front), [size * extent, ...rest]);
  const aval = b.aval(indices);
  const offset = b.apply("mul", b.emit("iota", [], { ...aval, axis: 0 }), b.fill(extent, aval));
  const last = b.fill(extent - 1, aval);
  const zero = b.fill(0, aval);
  const clamped = b.apply("max", b.apply("min", indices, last), zero);
  const shifted = b.apply("add", clamped, offset);
  const inside = b.apply("equal", clamped, indices);
  const positions = outside === "clamp" ? shifted : b.apply("select", inside, shifted, b.fill(-1, aval));
  // [size, ...indices, before, after] -> [size, before, ...indices, after]
  const inner = aval.shape.length - 1;
  const back = [
    0,
    ...count(1 + inner, axis),
    ...count(1, inner),
    ...count(1 + inner + axis, rest.length - axis),
  ];
  return { merged, positions, back, front, full: [size, extent, ...rest] };
}

export const gather: PrimitiveRow<OpParams["gather"]> = {
  arity: 2,
  shape: (inputs, { axis }) => ({ dtype: at(inputs, 0).dtype, shape: gatheredShape("gather", inputs, axis) }),
  jvp: (b, { params, primals, tangents }) => {
    const tangent = tangents[0] ?? null;
    return tangent === null ? null : b.emit("gather", [tangent, at(primals, 1)], params);
  },
  transpose: (b, { params, cotangent, inputs, avals }) => {
    // A clamped read of the transpose must add where the read was: clamp before adding.
    const aval = at(avals, 0);
    const indices = at(inputs, 1);
    const extent = at(aval.shape, params.axis);
    const clamped = b.apply("max", b.apply("min", indices, b.like(indices, extent - 1)), b.like(indices, 0));
    return [b.emit("scatterAdd", [b.fill(0, aval), clamped, cotangent], params), null];
  },
  batch: (b, { params, inputs, batched }) => {
    const [x, indices] = [at(inputs, 0), at(inputs, 1)];
    const { axis } = params;
    if (batched[1] !== true) return b.emit("gather", [x, indices], { axis: axis + 1 });
    if (batched[0] !== true) {
      const result = b.emit("gather", [x, indices], { axis });
      const rank = b.shape(result).length;
      return b.transpose(result, [axis, ...count(0, axis), ...count(axis + 1, rank - axis - 1)]);
    }
    const { merged, positions, back } = mergeBatch(b, x, indices, axis, "clamp");
    return b.transpose(b.emit("gather", [merged, positions], { axis: 0 }), back);
  },
  sharding: ({ params, inputs, axis }) => {
    const inner = at(inputs, 1).shape.length;
    const beyond = axis - params.axis;
    const axes =
      beyond < 0
        ? ([axis, whole] as const)
        : beyond < inner
          ? ([whole, beyond] as const)
          : ([axis - inner + 1, whole] as const);
    return cutAlike(axes, (b, _block, parts) => b.emit("gather", parts, params));
  },
  cost,
  reference: (inputs, out, { axis }) => {
    const [x, indices] = [at(inputs, 0), at(inputs, 1)];
    const inner = sizeOf(x.shape.slice(axis + 1));
    const extent = at(x.shape, axis);
    const reads = indices.data.length;
    for (let to = 0; to < out.data.length; to++) {
      const outer = Math.floor(to / (inner * reads));
      const position = at(indices.data, Math.floor(to / inner) % reads);
      const clamped = Math.max(0, Math.min(extent - 1, position));
      out.data[to] = at(x.data, (outer * extent + clamped) * inner + (to % inner));
    }
  },
  lowering: {
    kind: "element",
    element: ({ params, inputs, index, extents, read }) => {
      const inner = at(inputs, 1).shape.length;
      const position = read(1, index.slice(params.axis, params.axis + inner));
      const last = subIndex(at(extents(0), params.axis), constIndex(1));
      const clamped = maxIndex(minIndex({ kind: "scalar", value: position }, last), constIndex(0));
      return read(0, [...index.slice(0, params.axis), clamped, ...index.slice(params.axis + inner)]);
    },
  },
};

export const scatterAdd: PrimitiveRow<OpParams["scatterAdd"]> = {
  arity: 3,
  shape: (inputs, { axis }) => {
    const [x, updates] = [at(inputs, 0), at(inputs, 2)];
    requireDType("scatterAdd", "x", x.dtype, ["float64", "float32", "int32", "uint32"]);
    requireDType("scatterAdd", "updates", updates.dtype, [x.dtype]);
    const expected = gatheredShape("scatterAdd", inputs, axis);
    if (formatShape(updates.shape) !== formatShape(expected)) {
      throw new ShapeError({
        operation: "scatterAdd",
        argument: "updates",
        found: formatShape(updates.shape),
        expected: formatShape(expected),
      });
    }
    return x;
  },
  jvp: (b, { params, primals, tangents }) => {
    const [x, updates] = [tangents[0] ?? null, tangents[2] ?? null];
    if (x === null && updates === null) return null;
    const [dx, du] = [x ?? b.like(at(primals, 0), 0), updates ?? b.like(at(primals, 2), 0)];
    return b.emit("scatterAdd", [dx, at(primals, 1), du], params);
  },
  transpose: (b, { params, cotangent, inputs, linear }) => {
    if (linear[2] !== true) return [cotangent, null, null];
    // Dropped updates get no cotangent.
    const indices = at(inputs, 1);
    const extent = at(b.shape(cotangent), params.axis);
    const read = b.emit("gather", [cotangent, indices], params);
    const inside = b.apply(
      "and",
      b.apply("greaterEqual", indices, b.like(indices, 0)),
      b.apply("less", indices, b.like(indices, extent)),
    );
    const shape = b.shape(read);
    const mask = b.broadcast(inside, shape, count(params.axis, b.shape(indices).length));
    return [cotangent, null, b.apply("select", mask, read, b.like(read, 0))];
  },
  batch: (b, { params, inputs, batched, size }) => {
    const [x, indices, updates] = inputs.map((id, position) =>
      batched[position] === true || position === 1 ? id : repeat(b, id, size),
    );
    if (x === undefined || indices === undefined || updates === undefined) return at(inputs, 0);
    const { axis } = params;
    if (batched[1] !== true) return b.emit("scatterAdd", [x, indices, updates], { axis: axis + 1 });
    const { merged, positions, back, front, full } = mergeBatch(b, x, indices, axis, "drop");
    const arranged = b.transpose(updates, invertPermutation(back));
    const added = b.emit("scatterAdd", [merged, positions, arranged], { axis: 0 });
    return b.transpose(b.reshape(added, full), invertPermutation(front));
  },
  sharding: ({ params, inputs, axis }) => {
    if (axis !== params.axis) {
      const inner = at(inputs, 1).shape.length;
      const updates = axis < params.axis ? axis : axis - 1 + inner;
      return cutAlike([axis, whole, updates], (b, _block, parts) => b.emit("scatterAdd", parts, params));
    }
    // What falls outside of the block is dropped, the rest is added in the same order.
    return cutAlike([axis, whole, whole], (b, _block, [x, indices, updates], origin) => {
      if (x === undefined || indices === undefined || updates === undefined) return origin();
      const shifted = b.apply("sub", indices, b.broadcast(origin(), b.shape(indices), []));
      return b.emit("scatterAdd", [x, shifted, updates], params);
    });
  },
  cost: (inputs, output) => ({ ...cost(inputs, output), flops: sizeOf(at(inputs, 2).shape) }),
  reference: (inputs, out, { axis }) => {
    const [x, indices, updates] = [at(inputs, 0), at(inputs, 1), at(inputs, 2)];
    const inner = sizeOf(x.shape.slice(axis + 1));
    const extent = at(x.shape, axis);
    const reads = indices.data.length;
    out.data.set(x.data);
    for (let from = 0; from < updates.data.length; from++) {
      const outer = Math.floor(from / (inner * reads));
      const position = at(indices.data, Math.floor(from / inner) % reads);
      if (position < 0 || position >= extent) continue;
      const to = (outer * extent + position) * inner + (from % inner);
      out.data[to] = at(out.data, to) + at(updates.data, from);
    }
  },
  lowering: { kind: "scatterAdd", axis: ({ axis }) => axis },
};
