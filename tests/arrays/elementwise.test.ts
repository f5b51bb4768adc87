// Element-wise functions: NumPy's dtypes and values, weak numbers, broadcasting against a model in nested loops.
import fc from "fast-check";
import { ArgumentError, DTypeError, np, ShapeError } from "heddle";
import type { DType } from "heddle";
import { describe, expect, it } from "vitest";
import { expectError } from "./expectError.js";

const i32 = (...values: number[]) => np.array(values, "int32");

describe("dtypes", () => {
  it("promote as NumPy's over the five types", () => {
    const of = (dtype: DType) => np.ones(2, dtype);
    const table: [DType, DType, DType][] = [
      ["float32", "float32", "float32"],
      ["float32", "float64", "float64"],
      ["int32", "int32", "int32"],
      ["int32", "uint32", "float64"],
      ["int32", "float32", "float64"],
      ["bool", "int32", "int32"],
      ["bool", "float32", "float32"],
    ];
    for (const [a, b, result] of table) {
      expect([a, b, np.add(of(a), of(b)).dtype]).toEqual([a, b, result]);
      expect([b, a, np.add(of(b), of(a)).dtype]).toEqual([b, a, result]);
    }
  });

  it("are not changed by numbers that they can hold", () => {
    expect(np.add(np.ones(2, "float32"), 2).dtype).toBe("float32");
    expect(np.multiply(0.5, np.ones(2, "float32")).dtype).toBe("float32");
    expect(np.add(i32(1), 2).dtype).toBe("int32");
    expect(np.add(i32(1), 2.5)).toMatchObject({ dtype: "float64", shape: [1] });
    expect(np.add(i32(1), 2 ** 40).item()).toBe(2 ** 40 + 1);
    expect(np.add(np.ones(1, "uint32"), -1).dtype).toBe("float64");
    expect(np.add(np.array([true]), 1)).toMatchObject({ dtype: "float64" });
    expect(np.add(1, 2).dtype).toBe("float64");
    expect(np.where([true], np.ones(1, "float32"), 0).dtype).toBe("float32");
  });

  it("become floats where only floats make sense", () => {
    expect(np.divide(i32(7), 2).toArray()).toEqual([3.5]);
    expect(np.divide(i32(7), 2).dtype).toBe("float64");
    expect(np.floorDivide(i32(7, -7), 2).toArray()).toEqual([3, -4]);
    expect(np.floorDivide(i32(7), 2).dtype).toBe("int32");
    expect(np.exp(np.zeros(1, "int32")).dtype).toBe("float64");
    expect(np.exp(np.zeros(1, "float32")).dtype).toBe("float32");
    expect(np.sqrt(true).item()).toBe(1);
    expect(np.floor(i32(3)).dtype).toBe("int32");
  });

  it("of booleans: or, and, and counting", () => {
    const [a, b] = [np.array([true, true, false]), np.array([true, false, false])];
    expect(np.add(a, b).toArray()).toEqual([true, true, false]);
    expect(np.multiply(a, b).toArray()).toEqual([true, false, false]);
    expect(np.negative(a).toArray()).toEqual([-1, -1, 0]);
    expectError(() => np.subtract(a, b), DTypeError, "HEDDLE_DTYPE", "bool");
    expectError(() => np.bitwiseAnd(1.5, 2), DTypeError, "HEDDLE_DTYPE", "float64");
    expect(np.bitwiseXor(i32(6), 3).toArray()).toEqual([5]);
    expect(np.bitwiseNot(i32(0, 5)).toArray()).toEqual([-1, -6]);
  });
});

describe("functions", () => {
  const close = (actual: { toArray(): unknown }, expected: readonly number[]) => {
    const values = actual.toArray() as number[];
    expect(values).toHaveLength(expected.length);
    values.forEach((value, i) => expect(value).toBeCloseTo(expected[i] ?? NaN, 12));
  };

  it("of one array", () => {
    close(np.log2([1, 2, 8, 2 ** 29, 3]), [0, 1, 3, 29, 1.584962500721156]);
    expect(np.log2([8, 2 ** 29, 2 ** -1074]).toArray()).toEqual([3, 29, -1074]);
    expect(np.log10([1000, 1e-5, 1e22]).toArray()).toEqual([3, -5, 22]);
    expect(np.log10([0, Infinity, -1]).toArray()).toEqual([-Infinity, Infinity, NaN]);
    expect(np.exp2([3, -1, 0.5]).toArray()).toEqual([8, 0.5, Math.SQRT2]);
    expect(np.square(i32(-3)).toArray()).toEqual([9]);
    expect(np.reciprocal([4, -0.5]).toArray()).toEqual([0.25, -2]);
    expect(np.trunc([1.7, -1.7]).toArray()).toEqual([1, -1]);
    expect(np.rint([0.5, 1.5, 2.5, -0.5]).toArray()).toEqual([0, 2, 2, -0]);
    expect(np.round([1.2345, -2.5], 2).toArray()).toEqual([1.23, -2.5]);
    expect(np.round([1234], -2).toArray()).toEqual([1200]);
    expect(np.sign([-2, 0, 3]).toArray()).toEqual([-1, 0, 1]);
    close(np.deg2rad([180]), [Math.PI]);
    close(np.degrees([Math.PI]), [180]);
    close(np.sinc([0, 0.5, 1]), [1, 2 / Math.PI, 0]);
    expect(np.isnan([NaN, 1]).toArray()).toEqual([true, false]);
    expect(np.isinf([-Infinity, NaN, 1]).toArray()).toEqual([true, false, false]);
    expect(np.isfinite(i32(1)).toArray()).toEqual([true]);
    expect(np.isposinf([Infinity, -Infinity]).toArray()).toEqual([true, false]);
    expect(np.nanToNum([NaN, Infinity, -Infinity, 1]).toArray()).toEqual([
      0,
      Number.MAX_VALUE,
      -Number.MAX_VALUE,
      1,
    ]);
    expect(np.logicalNot([0, 2]).toArray()).toEqual([true, false]);
  });

  it("of two arrays", () => {
    expect(np.remainder([7, -7, 7], [3, 3, -3]).toArray()).toEqual([1, 2, -2]);
    expect(np.fmod([7, -7, 7], [3, 3, -3]).toArray()).toEqual([1, -1, 1]);
    expect(np.divmod(7, 2).map((x) => x.item())).toEqual([3, 1]);
    expect(np.power(i32(3), 4).toArray()).toEqual([81]);
    expect(np.power([0, 4, 2], [0, 0.5, -1]).toArray()).toEqual([1, 2, 0.5]);
    expect([2, 1, 0.5, -1].map((n) => np.power(4, n).item())).toEqual([16, 4, 2, 0.25]);
    expect(np.hypot([3, 1e300, 0, Infinity], [4, 1e300, 0, NaN]).toArray()).toEqual([
      5,
      Math.SQRT2 * 1e300,
      0,
      Infinity,
    ]);
    close(np.logaddexp([0, 1000], [0, 1000]), [Math.LN2, 1000 + Math.LN2]);
    expect(np.logaddexp(-Infinity, -Infinity).item()).toBe(-Infinity);
    close(np.logaddexp2([3], [3]), [4]);
    expect(np.maximum([1, NaN], [2, 2]).toArray()).toEqual([2, NaN]);
    expect(np.fmax([1, NaN], [2, 2]).toArray()).toEqual([2, 2]);
    expect(np.clip([-1, 0.5, 9], 0, 1).toArray()).toEqual([0, 0.5, 1]);
    expect(np.clip([-1, 9], null, 1).toArray()).toEqual([-1, 1]);
    expect(np.arctan2([1, -1], [0, 0]).toArray()).toEqual([Math.PI / 2, -Math.PI / 2]);
    expect(np.heaviside([-1, 0, 2], 0.5).toArray()).toEqual([0, 0.5, 1]);
    expect(np.modf([1.5, -1.5]).map((x) => x.toArray())).toEqual([
      [0.5, -0.5],
      [1, -1],
    ]);
    expectError(() => np.power(i32(2), -1), DTypeError, "HEDDLE_DTYPE", "power", "-1", "astype");
  });

  it("that compare and choose", () => {
    expect(np.less([1, 2, NaN], 2).toArray()).toEqual([true, false, false]);
    expect(np.notEqual(NaN, NaN).item()).toBe(true);
    expect(np.logicalXor([0, 1], [2, 3]).toArray()).toEqual([true, false]);
    expect(np.where([1, 0], [10, 20], [30, 40]).toArray()).toEqual([10, 40]);
    expect(np.where(np.array([[true], [false]]), [1, 2], 0).toArray()).toEqual([
      [1, 2],
      [0, 0],
    ]);
    const x = np.array([-1, 0, 5]);
    expect(np.select([x.less(0), x.greater(1)], [x.neg(), x.mul(10)], 7).toArray()).toEqual([1, 7, 50]);
    expect(np.allclose([1, 1e-9], [1 + 1e-9, 0]).item()).toBe(true);
    expect(np.isclose([Infinity, NaN], [Infinity, NaN]).toArray()).toEqual([true, false]);
    expect(np.isclose(NaN, NaN, { equalNan: true }).item()).toBe(true);
    expect(np.arrayEqual([1, 2], [[1, 2]]).item()).toBe(false);
    expectError(() => np.select([], []), ArgumentError, "HEDDLE_ARGUMENT", "select");
  });

  it("have methods that say the same", () => {
    const x = np.array([1, 4]);
    expect(x.add(1).sub(2).mul(3).div(2).pow(2).neg().toArray()).toEqual([-0, -20.25]);
    expect(x.sqrt().toArray()).toEqual([1, 2]);
    expect(x.clip(2).toArray()).toEqual([2, 4]);
  });
});

describe("broadcasting", () => {
  const shapePair = fc
    .array(fc.integer({ min: 0, max: 3 }), { maxLength: 4 })
    .chain((shape) =>
      fc.tuple(
        ...[0, 1].map(() =>
          fc
            .tuple(
              fc.integer({ min: 0, max: shape.length }),
              fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
            )
            .map(([drop, ones]) => shape.map((extent, i) => (ones[i] === true ? 1 : extent)).slice(drop)),
        ),
      ),
    );

  it("agrees with nested loops for every pair of shapes", () => {
    fc.assert(
      fc.property(shapePair, ([left = [], right = []]) => {
        const fill = (shape: readonly number[], from: number) => {
          const size = shape.reduce((n, e) => n * e, 1);
          return np.arange(from, from + size).reshape(shape);
        };
        const [a, b] = [fill(left, 1), fill(right, 100)];
        const sum = np.add(a, b);
        const rank = Math.max(left.length, right.length);
        const extent = (shape: readonly number[], axis: number) => shape[axis - rank + shape.length] ?? 1;
        const expected = Array.from({ length: rank }, (_, axis) => {
          const [n, m] = [extent(left, axis), extent(right, axis)];
          return n === 1 ? m : n;
        });
        expect(sum.shape).toEqual(expected);
        const walk = (axis: number, position: number[]): void => {
          if (axis < rank) {
            for (let i = 0; i < (expected[axis] ?? 0); i++) walk(axis + 1, [...position, i]);
            return;
          }
          const of = (shape: readonly number[]) =>
            position.slice(rank - shape.length).map((p, i) => (shape[i] === 1 ? 0 : p));
          expect(sum.item(...position)).toBe(a.item(...of(left)) + b.item(...of(right)));
        };
        walk(0, []);
      }),
      { numRuns: 150 },
    );
  });

  it("refuses what does not fit, naming both shapes", () => {
    expectError(
      () => np.add(np.ones([2, 3]), np.ones(2)),
      ShapeError,
      "HEDDLE_SHAPE",
      "add",
      "[2,3]",
      "[2]",
      "reshape",
    );
    expectError(() => np.where([true, false], np.ones(3), 0), ShapeError, "HEDDLE_SHAPE", "where");
  });
});
