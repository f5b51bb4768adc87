// The array itself: what becomes one, what it converts to, how it prints, and what it refuses.
import { inspect } from "node:util";
import { ArgumentError, DTypeError, NDArray, np, ShapeError } from "heddle";
import { describe, expect, it } from "vitest";
import { expectError } from "./expectError.js";

describe("np.array", () => {
  it("takes numbers and booleans as scalars", () => {
    expect([np.array(3).shape, np.array(3).dtype, np.array(3).item()]).toEqual([[], "float64", 3]);
    expect([np.array(true).dtype, np.array(true).item()]).toEqual(["bool", true]);
  });

  it("takes nested lists, as f64, or bool if all elements are booleans", () => {
    const a = np.array([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    expect([a.shape, a.dtype, a.size, a.ndim, a.length]).toEqual([[2, 3], "float64", 6, 2, 2]);
    expect(Array.from(a.data)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(np.array([true, false]).dtype).toBe("bool");
    expect(np.array([true, 2]).toArray()).toEqual([1, 2]);
    expect(np.array([]).shape).toEqual([0]);
    expect(np.array([[], []]).shape).toEqual([2, 0]);
  });

  it("copies typed arrays, with their dtype", () => {
    const source = Float32Array.of(1, 2);
    const a = np.array(source);
    source[0] = 9;
    expect([a.dtype, a.toArray()]).toEqual(["float32", [1, 2]]);
    expect(np.array(Int32Array.of(1)).dtype).toBe("int32");
    expect(np.array(Uint32Array.of(1)).dtype).toBe("uint32");
    expect(np.array(Float64Array.of(1)).dtype).toBe("float64");
  });

  it("stacks lists that hold arrays", () => {
    const x = np.array([1, 2]);
    expect(np.array([x, [3, 4]]).toArray()).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect(np.array([np.array(1, "int32"), 2]).dtype).toBe("int32");
    expectError(() => np.array([x, 3]), ShapeError, "HEDDLE_SHAPE", "value[1]", "[]", "[2]");
  });

  it("converts to a dtype: floats truncate and saturate, integers wrap", () => {
    expect(np.array([1.9, -1.9, 3e9, NaN], "int32").toArray()).toEqual([1, -1, 2147483647, 0]);
    expect(np.array([-1], "int32").astype("uint32").toArray()).toEqual([4294967295]);
    expect(np.array([0, 2, NaN]).astype("bool").toArray()).toEqual([false, true, true]);
    expect(np.array(0.1, "float32").item()).toBe(Math.fround(0.1));
  });

  it("refuses ragged lists and what is no number, by position", () => {
    expectError(
      () => np.array([[1, 2], [3]]),
      ShapeError,
      "HEDDLE_SHAPE",
      "value[1]",
      "a list of 1",
      "a list of 2",
    );
    expectError(() => np.array([1, [2]]), ShapeError, "HEDDLE_SHAPE", "value[1]", "a number");
    expectError(() => np.array([[1], 2]), ShapeError, "HEDDLE_SHAPE", "value[1]", "a list of 1");
    const wrong = (value: unknown) => () => np.array(value as number);
    expectError(wrong([1, "2"]), ArgumentError, "HEDDLE_ARGUMENT", "value[1]", 'the string "2"');
    expectError(wrong("1"), ArgumentError, "HEDDLE_ARGUMENT", 'the string "1"');
    expectError(wrong(null), ArgumentError, "HEDDLE_ARGUMENT", "null");
    expectError(wrong([undefined]), ArgumentError, "HEDDLE_ARGUMENT", "value[0]", "undefined");
    expectError(wrong(new Map()), ArgumentError, "HEDDLE_ARGUMENT", "an instance of Map");
    expectError(wrong(new Uint8Array(2)), DTypeError, "HEDDLE_DTYPE", "Uint8Array", "Int32Array.from");
    expectError(() => np.array([1], "int64" as "int32"), DTypeError, "HEDDLE_DTYPE", "int64");
    expectError(() => np.zeros([NaN]), ShapeError, "HEDDLE_SHAPE", "zeros", "shape");
    expectError(() => np.zeros([-1]), ShapeError, "HEDDLE_SHAPE", "zeros");
  });
});

describe("conversion", () => {
  it("gives concrete scalars where JavaScript wants a number", () => {
    const x = np.array(2.5);
    expect(Number(x)).toBe(2.5);
    expect(Math.max(Number(x), 1)).toBe(2.5);
    expect(String(x)).toBe("2.5");
    expect(x.valueOf()).toBe(2.5);
  });

  it("refuses to make a number of several elements", () => {
    expectError(() => Number(np.ones(3)), ShapeError, "HEDDLE_SHAPE", "[3]", "a scalar", "np.add");
  });

  it("reads one element", () => {
    const a = np.arange(6).reshape(2, 3);
    expect([a.item(1, 2), a.item(-1, 0), np.array([[7]]).item()]).toEqual([5, 3, 7]);
    expectError(() => a.item(), ShapeError, "HEDDLE_SHAPE", "[2,3]");
    expectError(() => a.item(1), ShapeError, "HEDDLE_SHAPE", "2 indices");
    expectError(() => a.item(2, 0), ArgumentError, "HEDDLE_ARGUMENT", "index 0", "-2 to 1");
    expectError(() => a.item(0.5, 0), ArgumentError, "HEDDLE_ARGUMENT", "0.5");
  });

  it("gives nested lists, also as JSON", () => {
    const a = np.array([[true], [false]]);
    expect(a.toArray()).toEqual([[true], [false]]);
    expect(JSON.stringify({ a: np.eye(2) })).toBe('{"a":[[1,0],[0,1]]}');
    expect(np.array(1).toArray()).toBe(1);
    expect(np.zeros([2, 0]).toArray()).toEqual([[], []]);
  });

  it("iterates over the first axis", () => {
    const rows = [...np.arange(4).reshape(2, 2)];
    expect(rows.map((row) => row.toArray())).toEqual([
      [0, 1],
      [2, 3],
    ]);
    const [first, second] = np.array([5, 6]);
    expect([first?.item(), second?.item()]).toEqual([5, 6]);
    expect(() => [...np.array(1)]).toThrow(ArgumentError);
  });

  it("keeps the shape from being changed", () => {
    expect(Object.isFrozen(np.ones(2).shape)).toBe(true);
  });
});

describe("printing", () => {
  it("aligns rows as NumPy does", () => {
    expect(
      String(
        np.array([
          [1, -2.5],
          [10, 0],
        ]),
      ),
    ).toBe("[[   1 -2.5]\n [  10    0]]");
    expect(String(np.array([true, false]))).toBe("[ true false]");
    expect(String(np.array([NaN, Infinity, -0]))).toBe("[nan inf  -0]");
    expect(String(np.zeros([0]))).toBe("[]");
    expect(String(np.arange(8).reshape(2, 2, 2))).toBe("[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]");
  });

  it("summarises long arrays", () => {
    expect(String(np.arange(2000))).toBe("[   0    1    2 ... 1997 1998 1999]");
    expect(String(np.ones([2000, 2000])).split("\n")).toHaveLength(7);
  });

  it("shows the type when inspected", () => {
    expect(inspect(np.array([1, 2], "int32"))).toBe("NDArray i32[2] [1, 2]");
    expect(inspect(np.eye(2))).toBe("NDArray f64[2,2]\n[[1, 0],\n [0, 1]]");
    expect(Object.prototype.toString.call(np.ones(1))).toBe("[object NDArray]");
  });
});

describe("structures", () => {
  it("are arrays like any other once read", () => {
    expect(np.eye(2, 3, { offset: 1 }).toArray()).toEqual([
      [0, 1, 0],
      [0, 0, 1],
    ]);
    expect(np.full([2], 7, "int32").toArray()).toEqual([7, 7]);
    const zeros = np.zeros(3);
    expect(zeros.data).toBe(zeros.data);
    expect(zeros).toBeInstanceOf(NDArray);
  });
});
