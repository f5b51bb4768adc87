// Reductions, against results worked out by hand.
import { ArgumentError, np, ShapeError } from "heddle";
import { describe, expect, it } from "vitest";
import { expectError } from "./expectError.js";

const a = np.array([
  [1, 5, 3],
  [4, 2, 6],
]);

describe("reductions", () => {
  it("take all axes, one, several, and may keep them", () => {
    expect(np.sum(a).item()).toBe(21);
    expect(np.sum(a, 0).toArray()).toEqual([5, 7, 9]);
    expect(a.sum(-1).toArray()).toEqual([9, 12]);
    expect(a.sum([0, 1]).shape).toEqual([]);
    expect(a.sum({ axis: 1, keepdims: true }).toArray()).toEqual([[9], [12]]);
    expect(a.sum({ keepdims: true }).shape).toEqual([1, 1]);
    expect(a.sum([]).toArray()).toEqual(a.toArray());
    expectError(() => a.sum(2), ArgumentError, "HEDDLE_ARGUMENT", "sum", "2", "-2 to 1");
    expectError(() => a.sum([0, 0]), ArgumentError, "HEDDLE_ARGUMENT", "each axis once");
  });

  it("know their dtypes: booleans are counted, means are floats", () => {
    expect(np.sum([true, true, false])).toMatchObject({ dtype: "int32", shape: [] });
    expect(np.sum([true, true, false]).item()).toBe(2);
    expect(np.countNonzero([0, 3, 4]).item()).toBe(2);
    expect(np.mean(np.array([1, 2], "int32"))).toMatchObject({ dtype: "float64" });
    expect(np.mean(np.array([1, 2], "int32")).item()).toBe(1.5);
    expect(np.sum(np.ones(3, "float32")).dtype).toBe("float32");
    expect(np.sum(np.ones(2 ** 20, "float32")).item()).toBe(2 ** 20);
  });

  it("compute", () => {
    expect(np.prod(a).item()).toBe(720);
    expect([np.max(a).item(), np.min(a).item(), np.ptp(a).item()]).toEqual([6, 1, 5]);
    expect(np.max(a, 0).toArray()).toEqual([4, 5, 6]);
    expect(np.max([1, NaN]).item()).toBeNaN();
    expect(np.mean(a, 0).toArray()).toEqual([2.5, 3.5, 4.5]);
    expect(np.var([1, 2, 3, 4]).item()).toBe(1.25);
    expect(np.var([1, 2, 3, 4], { ddof: 1 }).item()).toBeCloseTo(5 / 3, 15);
    expect(np.std(a, { axis: 0, keepdims: true }).toArray()).toEqual([[1.5, 1.5, 1.5]]);
    expect(np.average(a, 1, [1, 0, 1]).toArray()).toEqual([2, 5]);
    expect(np.average([1, 3], null, [3, 1]).item()).toBe(1.5);
    expect([np.any([0, 2]).item(), np.all([0, 2]).item()]).toEqual([true, false]);
    expect(a.greater(1).all(0).toArray()).toEqual([false, true, true]);
    expect(np.argmax(a).item()).toBe(5);
    expect(a.argmax(0).toArray()).toEqual([1, 0, 1]);
    expect(np.argmin(a, { axis: 1, keepdims: true }).toArray()).toEqual([[0], [1]]);
    expect(np.argmax([1, NaN, 3]).item()).toBe(1);
    expect([np.nansum([1, NaN]).item(), np.nanmean([1, NaN]).item()]).toEqual([1, 1]);
    expect(np.logsumexp([1000, 1000]).item()).toBeCloseTo(1000 + Math.LN2, 12);
    expect(np.logsumexp([-Infinity, -Infinity]).item()).toBe(-Infinity);
    expect(np.trace(np.arange(9).reshape(3, 3)).item()).toBe(12);
  });

  it("of nothing have their identities, or are refused", () => {
    const none = np.zeros([0, 2]);
    expect(none.sum(0).toArray()).toEqual([0, 0]);
    expect(none.prod(0).toArray()).toEqual([1, 1]);
    expect([np.any([]).item(), np.all([]).item()]).toEqual([false, true]);
    expect(none.mean().item()).toBeNaN();
    expectError(() => none.max(0), ShapeError, "HEDDLE_SHAPE", "[0,2]", "at least one element");
    expectError(() => none.argmax(0), ShapeError, "HEDDLE_SHAPE", "at least one element");
    expect(none.max(1).shape).toEqual([0]);
  });
});
