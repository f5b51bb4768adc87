// Reading and updating parts, against a model that indexes nested lists as Python would.
import fc from "fast-check";
import type { NDArray } from "heddle";
import { ArgumentError, DTypeError, makeGraph, np } from "heddle";
import { describe, expect, it } from "vitest";
import { expectError } from "./expectError.js";

type Basic = number | [number?, number?, number?] | null;

/** Python's positions of a range. */
function positions([start, stop, step = 1]: readonly (number | undefined)[], extent: number): number[] {
  const found: number[] = [];
  const clamp = (value: number, low: number, high: number) =>
    Math.max(low, Math.min(high, value < 0 ? value + extent : value));
  if (step > 0) {
    for (let i = clamp(start ?? 0, 0, extent); i < clamp(stop ?? extent, 0, extent); i += step) found.push(i);
  } else {
    const last = stop === undefined ? -1 : clamp(stop, -1, extent - 1);
    for (let i = start === undefined ? extent - 1 : clamp(start, -1, extent - 1); i > last; i += step)
      found.push(i);
  }
  return found;
}

type Nested = number | Nested[];

function model(value: Nested, shape: readonly number[], indices: readonly Basic[]): Nested {
  const [index, ...rest] = indices;
  if (index === undefined) return value;
  if (index === null) return [model(value, shape, rest)];
  const list = value as Nested[];
  const [extent = 0, ...inner] = shape;
  if (typeof index === "number") return model(list[index < 0 ? index + extent : index] ?? NaN, inner, rest);
  return positions(index, extent).map((i) => model(list[i] ?? NaN, inner, rest));
}

const shapes = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 3 });
const bound = fc.option(fc.integer({ min: -6, max: 6 }), { nil: undefined });
const rangeOf = fc.tuple(bound, bound, fc.option(fc.constantFrom(-3, -2, -1, 1, 2, 3), { nil: undefined }));
const indexed = shapes.chain((shape) =>
  fc
    .tuple(
      ...shape.map((extent) =>
        fc.oneof(
          { weight: 2, arbitrary: fc.integer({ min: -extent, max: extent - 1 }) },
          { weight: 4, arbitrary: rangeOf as unknown as fc.Arbitrary<Basic> },
        ),
      ),
    )
    .chain((own) =>
      fc
        .tuple(fc.constant(shape), fc.array(fc.integer({ min: 0, max: own.length }), { maxLength: 2 }))
        .map(([, at]) => {
          const indices = [...own];
          for (const place of at) indices.splice(place, 0, null);
          return { shape, indices };
        }),
    ),
);

const range = (shape: readonly number[]) => np.arange(shape.reduce((n, e) => n * e, 1)).reshape(shape);

describe("slice", () => {
  it("agrees with nested lists for any basic index", () => {
    fc.assert(
      fc.property(indexed, ({ shape, indices }) => {
        const x = range(shape);
        expect(x.slice(...indices).toArray()).toEqual(model(x.toArray() as Nested, shape, indices));
      }),
      { numRuns: 300 },
    );
  });

  it("keeps what is not named, and knows an ellipsis", () => {
    const x = range([2, 3, 4]);
    expect(x.slice(1).shape).toEqual([3, 4]);
    expect(x.slice("...", 0).toArray()).toEqual(x.slice([], [], 0).toArray());
    expect(x.slice(0, "...", null, 1).shape).toEqual([3, 1]);
    expect(x.slice([], np.newaxis, 0).shape).toEqual([2, 1, 4]);
    expect(x.slice().shape).toEqual([2, 3, 4]);
  });

  it("reads positions that are arrays", () => {
    const x = range([3, 4]);
    const ints = (...values: number[]) => np.array(values, "int32");
    expect(x.slice(ints(2, -3)).toArray()).toEqual([
      [8, 9, 10, 11],
      [0, 1, 2, 3],
    ]);
    expect(x.slice([], ints(0, 0, 3)).toArray()).toEqual([
      [0, 0, 3],
      [4, 4, 7],
      [8, 8, 11],
    ]);
    expect(x.slice(ints(0, 1, 2), ints(3, 2, 1)).toArray()).toEqual([3, 6, 9]);
    expect(x.slice(np.array([[0], [2]], "int32"), ints(1, 3)).toArray()).toEqual([
      [1, 3],
      [9, 11],
    ]);
    // As in NumPy, position arrays that stand apart put their axes in front.
    expect(range([2, 3, 4]).slice(ints(0, 1, 1), [], ints(0, 1, 2)).shape).toEqual([3, 3]);
    expect(x.slice(np.array([true, false, true])).shape).toEqual([2, 4]);
    expect(x.slice(x.slice([], 0).greater(0), 1).toArray()).toEqual([5, 9]);
  });

  it("refuses what is outside or no index", () => {
    const x = range([3, 4]);
    expectError(() => x.slice(3), ArgumentError, "HEDDLE_ARGUMENT", "index 0", "3", "-3 to 2");
    expectError(() => x.slice(0, 0, 0), ArgumentError, "HEDDLE_ARGUMENT", "3 indices", "[3,4]");
    expectError(() => x.slice(0.5), ArgumentError, "HEDDLE_ARGUMENT", "0.5", "integer");
    expectError(() => x.slice([0, 1, 0]), ArgumentError, "HEDDLE_ARGUMENT", "step of 0");
    expectError(() => x.slice([0, 1, 1, 1]), ArgumentError, "HEDDLE_ARGUMENT", "list of 4", "np.array");
    expectError(() => x.slice("...", "..."), ArgumentError, "HEDDLE_ARGUMENT", "one at most");
    expectError(
      () => x.slice(np.array([3], "int32")),
      ArgumentError,
      "HEDDLE_ARGUMENT",
      "index 0",
      "-3 to 2",
    );
    expectError(() => x.slice(np.array([0.5])), DTypeError, "HEDDLE_DTYPE", "float64", "astype");
    expectError(() => x.slice(np.array([true])), ArgumentError, "HEDDLE_ARGUMENT", "boolean vector of 3");
    expectError(() => x.slice("all" as "..."), ArgumentError, "HEDDLE_ARGUMENT", '"all"');
  });
});

describe("take", () => {
  const x = range([3, 4]);

  it("reads along an axis, or of the flattened array", () => {
    expect(np.take(x, [0, -1]).toArray()).toEqual([0, 11]);
    expect(np.take(x, 1, 0).toArray()).toEqual([4, 5, 6, 7]);
    expect(x.take([[0, 1]], 1).shape).toEqual([3, 1, 2]);
    expect(np.takeAlongAxis(x, np.argmax(x, { axis: 1, keepdims: true }), 1).toArray()).toEqual([
      [3],
      [7],
      [11],
    ]);
    expect(np.takeAlongAxis(x, [[2, 0, 1, 2]], 0).toArray()).toEqual([[8, 1, 6, 11]]);
    expect(np.diff([1, 4, 9, 16], 2).toArray()).toEqual([2, 2]);
    expect(np.diff(x, 1, 0).slice(0).toArray()).toEqual([4, 4, 4, 4]);
    expectError(() => np.take(x, 12), ArgumentError, "HEDDLE_ARGUMENT", "take", "12", "-12 to 11");
    expectError(() => np.take(x, [0.5]), DTypeError, "HEDDLE_DTYPE", "integer");
    expectError(() => np.takeAlongAxis(x, [0]), ArgumentError, "HEDDLE_ARGUMENT", "2 axes");
  });

  it("reads at traced positions", () => {
    const printed = String(makeGraph((i: NDArray) => np.take(x, i, 0))(np.array([0, -1], "int32")));
    expect(printed).toContain("gather[axis=0]");
  });
});

describe("at", () => {
  it("agrees with reading: what is set is read back, and nothing else changes", () => {
    fc.assert(
      fc.property(indexed, ({ shape, indices }) => {
        const x = range(shape);
        const part = x.slice(...indices);
        const value = range(part.shape).add(100);
        const result = x.at(...indices).set(value);
        expect(result.slice(...indices).toArray()).toEqual(value.toArray());
        expect(result.less(100).sum().item()).toBe(x.size - part.size);
        expect(
          x
            .at(...indices)
            .add(value)
            .sub(x)
            .sum()
            .item(),
        ).toBe(value.sum().item());
        expect(
          x
            .at(...indices)
            .mul(0)
            .slice(...indices)
            .sum()
            .item(),
        ).toBe(0);
      }),
      { numRuns: 200 },
    );
  });

  it("combines several values for one element", () => {
    const x = np.zeros(4);
    const i = np.array([1, 1, 3], "int32");
    expect(x.at(i).add([1, 2, 3]).toArray()).toEqual([0, 3, 0, 3]);
    expect(x.at(i).set([1, 2, 3]).toArray()).toEqual([0, 2, 0, 3]);
    expect(x.at(i).max([5, 2, -3]).toArray()).toEqual([0, 5, 0, 0]);
    expect(x.at(i).min([-5, 2, -3]).toArray()).toEqual([0, -5, 0, -3]);
    expect(np.ones(4).at(i).mul([2, 3, 4]).toArray()).toEqual([1, 6, 1, 4]);
    expect(np.array([true, true]).at(0).set(false).toArray()).toEqual([false, true]);
    expect(
      np
        .array([true, true])
        .at(np.array([0, 0], "int32"))
        .set(false)
        .toArray(),
    ).toEqual([false, true]);
    expect(
      np
        .zeros([2, 2], "int32")
        .at(np.array([0, 1], "int32"), np.array([1, 0], "int32"))
        .set(7)
        .toArray(),
    ).toEqual([
      [0, 7],
      [7, 0],
    ]);
  });

  it("takes one traced position, and refuses several that could coincide", () => {
    const set = (i: NDArray) => np.zeros(3).at(i).set(1);
    expect(String(makeGraph(set)(np.array(1, "int32")))).toContain("scatterAdd");
    expectError(
      () => makeGraph(set)(np.array([1, 2], "int32")),
      ArgumentError,
      "HEDDLE_ARGUMENT",
      "at(...).set",
      ".add",
    );
  });
});
