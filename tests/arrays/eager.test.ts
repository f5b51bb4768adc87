// Operations outside of jit: whichever way they take (loops, kernels, copies), their results are the reference's, and
// those of the same operation compiled.
import fc from "fast-check";
import type { NDArray } from "heddle";
import { jit, np } from "heddle";
import { applyEagerly } from "#heddle/arrays/eager";
import { applyReference } from "#heddle/backends/reference/interpret";
import type { OpName, OpParams } from "#heddle/ir/graph";
import { describe, expect, it } from "vitest";

/** Numbers of all kinds that depend on the seed. */
function sample(shape: readonly number[], seed = 1): NDArray {
  const size = shape.reduce((n, e) => n * e, 1);
  const values = Float64Array.from({ length: size }, (_, i) => Math.sin(i * 12.9898 + seed) * 4);
  return np.array(values).reshape(shape);
}

function compare<K extends OpName>(op: K, inputs: readonly NDArray[], params: OpParams[K]): void {
  const host = inputs.map(({ dtype, shape, data }) => ({ dtype, shape, data }));
  const wanted = applyReference(op, host, params);
  const found = applyEagerly(op, inputs, params);
  expect([found.dtype, found.shape]).toEqual([wanted.dtype, wanted.shape]);
  expect(Array.from(found.data)).toEqual(Array.from(wanted.data));
}

const shapes = fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 4 });

/** A shape with a number for each axis. */
const withNumbers = shapes.chain((shape) =>
  fc.record({
    shape: fc.constant(shape),
    numbers: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: shape.length, maxLength: shape.length }),
    order: fc.shuffledSubarray(
      shape.map((_, axis) => axis),
      { minLength: shape.length },
    ),
  }),
);

describe("moving elements", () => {
  it("gives what the reference gives", () => {
    fc.assert(
      fc.property(withNumbers, ({ shape, numbers, order }) => {
        const x = sample(shape);
        compare("transpose", [x], { permutation: order });
        compare("reverse", [x], {
          axes: order.filter((_, i) => (numbers[i] ?? 0) > 1).sort((a, b) => a - b),
        });
        compare("pad", [x], {
          low: numbers,
          high: [...numbers].reverse(),
          interior: numbers.map((n) => n % 3),
        });
        compare("reshape", [x], { shape: [1, ...shape] });
        const start = shape.map((extent, axis) => Math.min(extent, numbers[axis] ?? 0));
        compare("slice", [x], { start, limit: shape, step: numbers.map((n) => n + 1) });
        const wide = shape.flatMap((extent, axis) => ((numbers[axis] ?? 0) > 1 ? [3, extent] : [extent]));
        const axes = shape.map((_, axis) => axis + numbers.slice(0, axis + 1).filter((n) => n > 1).length);
        compare("broadcast", [x], { shape: wide, axes });
        compare("concatenate", [x, sample(shape, 2), x], { axis: order[0] ?? 0 });
        const axis = order[0] ?? 0;
        if ((shape[axis] ?? 0) > 0) compare("gather", [x, np.array(numbers, "int32").sub(1)], { axis });
      }),
      { numRuns: 150 },
    );
  });

  it("copies long rows too", () => {
    const x = sample([40, 50]);
    compare("slice", [x], { start: [1, 2], limit: [40, 50], step: [1, 1] });
    compare("broadcast", [sample([50])], { shape: [40, 50], axes: [1] });
    compare("gather", [x, np.array([3, 99, -1], "int32")], { axis: 0 });
  });

  it("does not alias memory that is shared with others", () => {
    const x = np.arange(4);
    expect(x.reshape(2, 2).data).toBe(x.data);
    expect(x.add(0).data).not.toBe(x.data);
  });
});

describe("arithmetic", () => {
  const unary: OpName[] = [
    "neg",
    "abs",
    "sqrt",
    "exp",
    "log",
    "sin",
    "tanh",
    "floor",
    "round",
    "isFinite",
    "expm1",
  ];
  const binary: OpName[] = [
    "add",
    "sub",
    "mul",
    "div",
    "max",
    "min",
    "pow",
    "less",
    "equal",
    "atan2",
    "remainder",
  ];

  it.each([...unary, ...binary])("%s has the same bits in a loop, in a kernel and compiled", (op) => {
    for (const size of [1, 127, 128, 1000]) {
      const operands = [sample([size]), sample([size], 2)].slice(0, unary.includes(op) ? 1 : 2);
      const none = {} as OpParams[OpName];
      compare(op, operands, none);
      const compiled = jit((...args: NDArray[]) => applyGraph(op, args))(...operands);
      expect(Array.from(compiled.data)).toEqual(Array.from(applyEagerly(op, operands, none).data));
    }
  });

  it("takes constants as they are, and keeps what is constant", () => {
    const x = sample([300]);
    expect(Array.from(x.mul(2).data)).toEqual(Array.from(x.data, (value) => value * 2));
    expect(Array.from(np.where(x.greater(0), x, 0).data)).toEqual(
      Array.from(x.data, (value) => (value > 0 ? value : 0)),
    );
    expect(
      np
        .add(np.ones([1000, 1000]), 1)
        .sum()
        .item(),
    ).toBe(2e6);
    compare("select", [np.ones(200, "bool"), np.zeros(200), sample([200])], {});
  });

  it("reduces and multiplies as compiled functions do", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 2 }), (shape) => {
        const x = sample(shape);
        const functions: ((x: NDArray) => NDArray)[] = [
          (v) => v.sum(),
          (v) => v.sum(0),
          (v) => v.sum(-1),
          (v) => v.max(0),
          (v) => v.prod(-1),
          (v) => np.dot(v, v.T),
        ];
        for (const f of functions) {
          const [eager, compiled] = [f(x), jit(f)(x)];
          expect(eager.shape).toEqual(compiled.shape);
          const scale = 1e-12 * Math.max(1, ...Array.from(compiled.data, Math.abs));
          eager.data.forEach((value, i) => {
            expect(Math.abs(value - (compiled.data[i] ?? NaN))).toBeLessThanOrEqual(scale);
          });
        }
      }),
      { numRuns: 30 },
    );
  });

  it("of nothing is nothing, or an identity", () => {
    expect(np.add(np.zeros([0, 3]), np.ones([1, 3])).shape).toEqual([0, 3]);
    expect(np.dot(np.zeros([2, 0]), np.zeros([0, 3])).toArray()).toEqual([
      [0, 0, 0],
      [0, 0, 0],
    ]);
    expect(np.zeros([0, 500]).sum(0).sum().item()).toBe(0);
  });
});

/** Applies a primitive to traced arrays by its np name. */
function applyGraph(op: OpName, [x, y]: readonly NDArray[]): NDArray {
  const a = x ?? np.array(0);
  const b = y ?? np.array(0);
  const table: Partial<Record<OpName, () => NDArray>> = {
    neg: () => np.negative(a),
    abs: () => np.abs(a),
    sqrt: () => np.sqrt(a),
    exp: () => np.exp(a),
    log: () => np.log(a),
    sin: () => np.sin(a),
    tanh: () => np.tanh(a),
    floor: () => np.floor(a),
    round: () => np.rint(a),
    isFinite: () => np.isfinite(a),
    expm1: () => np.expm1(a),
    add: () => np.add(a, b),
    sub: () => np.subtract(a, b),
    mul: () => np.multiply(a, b),
    div: () => np.divide(a, b),
    max: () => np.maximum(a, b),
    min: () => np.minimum(a, b),
    pow: () => np.power(a, b),
    less: () => np.less(a, b),
    equal: () => np.equal(a, b),
    atan2: () => np.arctan2(a, b),
    remainder: () => np.remainder(a, b),
  };
  return table[op]?.() ?? a;
}
