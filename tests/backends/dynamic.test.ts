// Single primitives through kernels with extents as parameters: the same results as the reference, and few kernels.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { at } from "#heddle/base/at";
import type { DType } from "#heddle/base/dtype";
import { allocate, itemSize, viewOf } from "#heddle/base/dtype";
import { broadcastShapes, sizeOf } from "#heddle/base/shape";
import { applyReference } from "#heddle/backends/reference/interpret";
import type { DenseArray } from "#heddle/backends/wasm/dynamic";
import { DynamicKernels } from "#heddle/backends/wasm/dynamic";
import type { OpName, OpParams } from "#heddle/ir/graph";
import type { HostArray } from "#heddle/primitives/row";
import { outputAval } from "#heddle/primitives/table";
import { differenceOf } from "./harness.js";

const memory = new WebAssembly.Memory({ initial: 64, maximum: 65536, shared: true });

function make(dtype: DType, shape: readonly number[], seed: number): HostArray {
  const data = allocate(dtype, sizeOf(shape));
  for (let i = 0; i < data.length; i++) data[i] = Math.round(Math.sin(i * 3.7 + seed) * 50) / 8;
  if (dtype === "bool") for (let i = 0; i < data.length; i++) data[i] = (i + seed) % 3 === 0 ? 1 : 0;
  return { dtype, shape, data };
}

/** Repeats an array as NumPy broadcasts it. */
function spread(x: HostArray, shape: readonly number[]): HostArray {
  const lead = shape.length - x.shape.length;
  const axes = x.shape.map((_, axis) => axis + lead).filter((axis) => x.shape[axis - lead] === shape[axis]);
  const kept = { ...x, shape: axes.map((axis) => at(shape, axis)) };
  return applyReference("broadcast", [kept], { shape, axes });
}

function apply<K extends OpName>(
  kernels: DynamicKernels,
  op: K,
  params: OpParams[K],
  inputs: readonly HostArray[],
  shape: readonly number[],
  dtype: DType,
): HostArray {
  let top = 64;
  const reserve = (bytes: number): number => {
    const offset = top;
    top = Math.ceil((top + bytes) / 64) * 64;
    return offset;
  };
  const place = (aval: { dtype: DType; shape: readonly number[] }): DenseArray => ({
    dtype: aval.dtype,
    shape: aval.shape,
    offset: reserve(sizeOf(aval.shape) * itemSize(aval.dtype)),
  });
  const places = inputs.map(place);
  const output = place({ dtype, shape });
  inputs.forEach((input, position) => {
    viewOf(input.dtype, memory.buffer, at(places, position).offset, input.data.length).set(input.data);
  });
  kernels.apply(memory, { reserve }, op, params, places, output);
  return { dtype, shape, data: viewOf(dtype, memory.buffer, output.offset, sizeOf(shape)).slice() };
}

const shapes = fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 4 });

describe("element-wise operations of any shape", () => {
  it("broadcast as the reference does, with one kernel per pattern of axes", () => {
    const kernels = new DynamicKernels();
    const seen = new Set<string>();
    fc.assert(
      fc.property(
        shapes,
        fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
        fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
        fc.constantFrom("add", "mul", "max", "less"),
        fc.constantFrom<DType>("float64", "float32", "int32"),
        (shape, first, second, op, dtype) => {
          const [a, b] = [first, second].map((keep) =>
            shape.map((extent, axis) => (keep[axis] === true ? extent : 1)),
          );
          const inputs = [make(dtype, a ?? [], 1), make(dtype, b ?? [], 2)];
          const full = broadcastShapes("test", a ?? [], b ?? []);
          const expected = applyReference(
            op as "add",
            inputs.map((input) => spread(input, full)),
            {},
          );
          const found = apply(kernels, op as "add", {}, inputs, full, expected.dtype);
          seen.add(`${op}${dtype}${full}`);
          expect(differenceOf(found, expected, 0)).toBeNull();
        },
      ),
      { numRuns: 400 },
    );
    expect(seen.size).toBeGreaterThan(200);
    // Three patterns of at most four merged axes, no neighbours alike.
    expect(kernels.size).toBeLessThan(12 * 45);
  });

  it("use one kernel for arrays of every size", () => {
    const kernels = new DynamicKernels();
    for (const shape of [[], [1], [2], [7], [64], [1001], [3, 5], [2, 3, 4]]) {
      const x = make("float64", shape, 3);
      for (const op of ["neg", "tanh"] as const) {
        expect(
          differenceOf(apply(kernels, op, {}, [x], shape, "float64"), applyReference(op, [x], {}), 0),
        ).toBeNull();
      }
    }
    // A scalar's kernel has no loop.
    expect(kernels.size).toBe(4);
  });

  it("convert and select", () => {
    const kernels = new DynamicKernels();
    const [c, x, y] = [make("bool", [40], 1), make("float64", [40], 2), make("float64", [40], 3)];
    const selected = apply(kernels, "select", {}, [c, x, y], [40], "float64");
    expect(differenceOf(selected, applyReference("select", [c, x, y], {}), 0)).toBeNull();
    const converted = apply(kernels, "convert", { dtype: "int32" }, [x], [40], "int32");
    expect(differenceOf(converted, applyReference("convert", [x], { dtype: "int32" }), 0)).toBeNull();
  });
});

describe("reductions and contractions of any shape", () => {
  it("reduce", () => {
    const kernels = new DynamicKernels();
    fc.assert(
      fc.property(
        shapes,
        fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
        fc.constantFrom("reduceSum", "reduceMax"),
        fc.constantFrom<DType>("float64", "int32"),
        fc.integer({ min: 1, max: 40 }),
        (head, mask, op, dtype, last) => {
          const shape = [...head.slice(0, 3), last];
          const axes = shape.flatMap((_, axis) => (mask[axis] === true ? [axis] : []));
          const x = make(dtype, shape, 5);
          const expected = applyReference(op as "reduceSum", [x], { axes });
          const found = apply(kernels, op as "reduceSum", { axes }, [x], expected.shape, dtype);
          expect(
            differenceOf(found, expected, dtype === "float64" && op === "reduceSum" ? 1e-12 : 0),
          ).toBeNull();
        },
      ),
      { numRuns: 400 },
    );
    expect(kernels.size).toBeLessThan(4 * 12);
  });

  it("contract, small with one kernel and large with one per shape", () => {
    const kernels = new DynamicKernels();
    const list: [string, number[], number[]][] = [];
    for (const n of [1, 2, 3, 8, 17, 31, 50]) {
      list.push(["m k, k n -> m n", [n, n + 2], [n + 2, n + 1]], ["m k, k -> m", [n, n + 9], [n + 9]]);
    }
    for (const [signature, p, q] of list) {
      const inputs = [make("float64", p, 1), make("float64", q, 2)];
      const expected = applyReference("contract", inputs, { signature });
      const found = apply(kernels, "contract", { signature }, inputs, expected.shape, "float64");
      expect(differenceOf(found, expected, 1e-12)).toBeNull();
    }
    expect(kernels.size).toBe(2);
  });

  it("compile the rest per shape, and handle arrays of no element", () => {
    const kernels = new DynamicKernels();
    const x = make("float64", [3, 4], 1);
    const transposed = apply(kernels, "transpose", { permutation: [1, 0] }, [x], [4, 3], "float64");
    expect(differenceOf(transposed, applyReference("transpose", [x], { permutation: [1, 0] }), 0)).toBeNull();
    const empty = make("float64", [2, 0], 1);
    const sum = apply(kernels, "reduceSum", { axes: [1] }, [empty], [2], "float64");
    expect([...sum.data]).toEqual([0, 0]);
    expect(outputAval("reduceSum", [empty], { axes: [1] }).shape).toEqual([2]);
    expect(kernels.size).toBe(0);
  });
});
