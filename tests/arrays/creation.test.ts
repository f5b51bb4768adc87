// Functions that make arrays, against results worked out by hand.
import { ArgumentError, np, ShapeError } from "heddle";
import { describe, expect, it } from "vitest";
import { expectError } from "./expectError.js";

describe("creation", () => {
  it("makes ranges", () => {
    expect(np.arange(4).toArray()).toEqual([0, 1, 2, 3]);
    expect(np.arange(1, 2, 0.25).toArray()).toEqual([1, 1.25, 1.5, 1.75]);
    expect(np.arange(5, 0, -2).toArray()).toEqual([5, 3, 1]);
    expect(np.arange(3, 0).shape).toEqual([0]);
    expect(np.arange(0, 3, 1, "int32").dtype).toBe("int32");
    expectError(() => np.arange(NaN), ArgumentError, "HEDDLE_ARGUMENT", "arange", "NaN");
    expectError(() => np.arange(0, 1, 0), ArgumentError, "HEDDLE_ARGUMENT", "by 0");
  });

  it("makes evenly spaced points that end exactly", () => {
    expect(np.linspace(0, 1, 5).toArray()).toEqual([0, 0.25, 0.5, 0.75, 1]);
    expect(np.linspace(0, 1, 4, { endpoint: false }).toArray()).toEqual([0, 0.25, 0.5, 0.75]);
    expect(np.linspace(0, 0.3, 4).item(-1)).toBe(0.3);
    expect(np.linspace(2, 3, 1).toArray()).toEqual([2]);
    for (const count of [-1, 1.5, NaN]) expect(() => np.linspace(0, 1, count)).toThrow(/linspace: count is/);
    expect(np.linspace(2, 3, 0).toArray()).toEqual([]);
    expect(np.logspace(0, 2, 3).toArray()).toEqual([1, 10, 100]);
    expect(np.geomspace(1, 100, 3).toArray()).toEqual([1, 10, 100]);
  });

  it("makes grids in both orders", () => {
    const [x, y] = np.meshgrid([
      [1, 2, 3],
      [4, 5],
    ]);
    expect(x?.toArray()).toEqual([
      [1, 2, 3],
      [1, 2, 3],
    ]);
    expect(y?.toArray()).toEqual([
      [4, 4, 4],
      [5, 5, 5],
    ]);
    const [i] = np.meshgrid(
      [
        [1, 2, 3],
        [4, 5],
      ],
      { indexing: "ij" },
    );
    expect(i?.toArray()).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
  });

  it("makes triangles and diagonals", () => {
    const a = np.arange(9).reshape(3, 3);
    expect(np.tri(2, 3, 1).toArray()).toEqual([
      [1, 1, 0],
      [1, 1, 1],
    ]);
    expect(np.tril(a).toArray()).toEqual([
      [0, 0, 0],
      [3, 4, 0],
      [6, 7, 8],
    ]);
    expect(np.triu(a, 1).toArray()).toEqual([
      [0, 1, 2],
      [0, 0, 5],
      [0, 0, 0],
    ]);
    expect(np.diag(a).toArray()).toEqual([0, 4, 8]);
    expect(np.diag(a, -1).toArray()).toEqual([3, 7]);
    expect(np.diagonal(np.arange(6).reshape(2, 3), 2).toArray()).toEqual([2]);
    expect(np.diagonal(np.arange(6).reshape(2, 3), 3).toArray()).toEqual([]);
    expect(np.diag([1, 2], 1).toArray()).toEqual([
      [0, 1, 0],
      [0, 0, 2],
      [0, 0, 0],
    ]);
    expect(np.diag([1, 2], -1).toArray()).toEqual([
      [0, 0, 0],
      [1, 0, 0],
      [0, 2, 0],
    ]);
    expectError(() => np.diag(1), ShapeError, "HEDDLE_SHAPE", "diag");
  });

  it("follows the shape and dtype of another array", () => {
    const like = np.ones([2, 1], "int32");
    expect([np.zerosLike(like).dtype, np.zerosLike(like).toArray()]).toEqual(["int32", [[0], [0]]]);
    expect(np.fullLike(like, 3.7).toArray()).toEqual([[3], [3]]);
    expect(np.onesLike([1, 2]).toArray()).toEqual([1, 1]);
    expect(np.full([2, 2], [1, 2]).toArray()).toEqual([
      [1, 2],
      [1, 2],
    ]);
  });
});
