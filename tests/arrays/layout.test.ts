// Functions that rearrange, join and cut, against results worked out by hand.
import { ArgumentError, np, ShapeError } from "heddle";
import { describe, expect, it } from "vitest";
import { expectError } from "./expectError.js";

const a = np.arange(6).reshape(2, 3);

describe("rearranging", () => {
  it("reshapes, with one extent left open", () => {
    expect(a.reshape(3, -1).toArray()).toEqual([
      [0, 1],
      [2, 3],
      [4, 5],
    ]);
    expect(a.reshape([6]).shape).toEqual([6]);
    expect(a.ravel().toArray()).toEqual([0, 1, 2, 3, 4, 5]);
    expect(np.zeros([0, 3]).reshape(0, 7).shape).toEqual([0, 7]);
    expectError(() => a.reshape(4), ShapeError, "HEDDLE_SHAPE", "reshape", "[4]", "6 elements");
    expectError(() => a.reshape(4, -1), ShapeError, "HEDDLE_SHAPE", "[4,-1]");
    expectError(() => a.reshape(-1, -1), ShapeError, "HEDDLE_SHAPE", "at most one");
    expectError(() => np.zeros([0]).reshape(0, -1), ShapeError, "HEDDLE_SHAPE");
  });

  it("permutes axes", () => {
    expect(a.T.toArray()).toEqual([
      [0, 3],
      [1, 4],
      [2, 5],
    ]);
    const b = np.arange(24).reshape(2, 3, 4);
    expect(b.transpose(2, 0, 1).shape).toEqual([4, 2, 3]);
    expect(b.transpose([2, 0, 1]).item(3, 1, 2)).toBe(b.item(1, 2, 3));
    expect(b.mT.shape).toEqual([2, 4, 3]);
    expect(b.swapaxes(0, -1).shape).toEqual([4, 3, 2]);
    expect(np.moveaxis(b, 0, -1).shape).toEqual([3, 4, 2]);
    expect(np.moveaxis(b, [0, 1], [-1, -2]).shape).toEqual([4, 3, 2]);
    expectError(() => b.transpose(0, 1), ArgumentError, "HEDDLE_ARGUMENT", "transpose", "3 axes");
    expectError(() => b.transpose(0, 1, 1), ArgumentError, "HEDDLE_ARGUMENT", "each axis once");
    expectError(() => np.matrixTranspose([1]), ShapeError, "HEDDLE_SHAPE", "two axes");
    expectError(() => np.moveaxis(b, [0, 1], [0]), ArgumentError, "HEDDLE_ARGUMENT", "moveaxis");
  });

  it("inserts, drops and repeats axes", () => {
    expect(np.expandDims(a, [0, -1]).shape).toEqual([1, 2, 3, 1]);
    expect(np.squeeze(np.ones([1, 2, 1])).shape).toEqual([2]);
    expect(np.squeeze(np.ones([1, 2, 1]), -1).shape).toEqual([1, 2]);
    expectError(() => np.squeeze(a, 0), ShapeError, "HEDDLE_SHAPE", "squeeze", "axis 0", "extent 2");
    expect(np.broadcastTo([[1], [2]], [2, 2]).toArray()).toEqual([
      [1, 1],
      [2, 2],
    ]);
    expectError(() => np.broadcastTo([1, 2], [3]), ShapeError, "HEDDLE_SHAPE", "broadcastTo");
    expectError(() => np.broadcastTo([[1, 2]], [2]), ShapeError, "HEDDLE_SHAPE", "[1,2]", "[2]");
    expect(np.broadcastArrays([1, 2], [[1], [2], [3]]).map((x) => x.shape)).toEqual([
      [3, 2],
      [3, 2],
    ]);
    expect(np.repeat([1, 2], 2).toArray()).toEqual([1, 1, 2, 2]);
    expect(np.repeat(a, 2, 0).slice([], 0).toArray()).toEqual([0, 0, 3, 3]);
    expect(np.tile([1, 2], [2, 2]).toArray()).toEqual([
      [1, 2, 1, 2],
      [1, 2, 1, 2],
    ]);
    expect(np.tile(a, 2).shape).toEqual([2, 6]);
    expect(np.atleast2d([1, 2]).shape).toEqual([1, 2]);
  });

  it("reverses, rolls and turns", () => {
    expect(np.flip([1, 2, 3]).toArray()).toEqual([3, 2, 1]);
    expect(np.fliplr(a).slice(0).toArray()).toEqual([2, 1, 0]);
    expect(np.flipud(a).slice(0).toArray()).toEqual([3, 4, 5]);
    expect(np.roll([1, 2, 3, 4], 1).toArray()).toEqual([4, 1, 2, 3]);
    expect(np.roll([1, 2, 3, 4], -5).toArray()).toEqual([2, 3, 4, 1]);
    expect(np.roll(a, 1).toArray()).toEqual([
      [5, 0, 1],
      [2, 3, 4],
    ]);
    expect(np.roll(a, [1, 1], [0, 1]).toArray()).toEqual([
      [5, 3, 4],
      [2, 0, 1],
    ]);
    expect(np.rot90(a).toArray()).toEqual([
      [2, 5],
      [1, 4],
      [0, 3],
    ]);
    expect(np.rot90(a, -1).toArray()).toEqual([
      [3, 0],
      [4, 1],
      [5, 2],
    ]);
    expect(np.rot90(a, 2).toArray()).toEqual(np.flip(a).toArray());
  });
});

describe("joining and cutting", () => {
  it("joins along axes", () => {
    expect(np.concatenate([[1, 2], [3]]).toArray()).toEqual([1, 2, 3]);
    expect(np.concatenate([a, a], 1).shape).toEqual([2, 6]);
    expect(np.concatenate([a, [9]], null).size).toBe(7);
    expect(np.concatenate([np.ones(1, "int32"), np.ones(1, "float32")]).dtype).toBe("float64");
    expect(
      np
        .stack(
          [
            [1, 2],
            [3, 4],
          ],
          -1,
        )
        .toArray(),
    ).toEqual([
      [1, 3],
      [2, 4],
    ]);
    expect(np.stack([1, 2]).toArray()).toEqual([1, 2]);
    expect(
      np.vstack([
        [1, 2],
        [3, 4],
      ]).shape,
    ).toEqual([2, 2]);
    expect(np.hstack([[1, 2], [3]]).toArray()).toEqual([1, 2, 3]);
    expect(np.hstack([a, a]).shape).toEqual([2, 6]);
    expect(
      np.dstack([
        [1, 2],
        [3, 4],
      ]).shape,
    ).toEqual([1, 2, 2]);
    expect(
      np
        .columnStack([
          [1, 2],
          [3, 4],
        ])
        .toArray(),
    ).toEqual([
      [1, 3],
      [2, 4],
    ]);
    expect(np.append([1], [2, 3]).toArray()).toEqual([1, 2, 3]);
  });

  it("refuses to join what does not fit", () => {
    expectError(() => np.concatenate([]), ArgumentError, "HEDDLE_ARGUMENT", "empty list");
    expectError(() => np.concatenate([1, 2]), ShapeError, "HEDDLE_SHAPE", "scalar", "np.stack");
    expectError(
      () => np.concatenate([a, np.ones([2, 2])]),
      ShapeError,
      "HEDDLE_SHAPE",
      "array 1",
      "[2,2]",
      "[2,3]",
    );
    expectError(() => np.stack([[1], [1, 2]]), ShapeError, "HEDDLE_SHAPE", "stack", "array 1");
  });

  it("cuts", () => {
    expect(np.split(np.arange(6), 3).map((x) => x.toArray())).toEqual([
      [0, 1],
      [2, 3],
      [4, 5],
    ]);
    expect(np.split(np.arange(5), [1, 3]).map((x) => x.size)).toEqual([1, 2, 2]);
    expect(np.arraySplit(np.arange(5), 3).map((x) => x.size)).toEqual([2, 2, 1]);
    expect(np.hsplit(a, 3).map((x) => x.shape)).toEqual([
      [2, 1],
      [2, 1],
      [2, 1],
    ]);
    expect(np.unstack(a, 1).map((x) => x.toArray())).toEqual([
      [0, 3],
      [1, 4],
      [2, 5],
    ]);
    expectError(() => np.split(np.arange(5), 2), ShapeError, "HEDDLE_SHAPE", "2", "5", "arraySplit");
    expectError(() => np.arraySplit(np.arange(5), 0), ArgumentError, "HEDDLE_ARGUMENT", "sections");
  });

  it("pads", () => {
    const x = np.array([1, 2, 3]);
    expect(np.pad(x, 1).toArray()).toEqual([0, 1, 2, 3, 0]);
    expect(np.pad(x, [2, 0], { value: 7 }).toArray()).toEqual([7, 7, 1, 2, 3]);
    expect(np.pad(x, 2, { mode: "edge" }).toArray()).toEqual([1, 1, 1, 2, 3, 3, 3]);
    expect(np.pad(x, 4, { mode: "reflect" }).toArray()).toEqual([1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3]);
    expect(np.pad(x, 4, { mode: "symmetric" }).toArray()).toEqual([3, 3, 2, 1, 1, 2, 3, 3, 2, 1, 1]);
    expect(np.pad(x, 4, { mode: "wrap" }).toArray()).toEqual([3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1]);
    expect(
      np.pad(a, [
        [1, 0],
        [0, 2],
      ]).shape,
    ).toEqual([3, 5]);
    expectError(() => np.pad(x, -1), ArgumentError, "HEDDLE_ARGUMENT", "width");
    expectError(
      () =>
        np.pad(a, [
          [1, 0],
          [0, 2],
          [0, 0],
        ]),
      ArgumentError,
      "HEDDLE_ARGUMENT",
      "2 axes",
    );
    expectError(() => np.pad(np.zeros(0), 1, { mode: "edge" }), ShapeError, "HEDDLE_SHAPE", "to copy");
  });
});
