// Products and index notation, against loops.
import fc from "fast-check";
import type { NDArray } from "heddle";
import { ArgumentError, np, ShapeError } from "heddle";
import { describe, expect, it } from "vitest";
import { expectError } from "./expectError.js";

const range = (...shape: number[]) => np.arange(shape.reduce((n, e) => n * e, 1)).reshape(shape);

/** The definition of index notation: a loop over every index. */
function einsumByLoops(
  inputs: readonly (readonly string[])[],
  output: readonly string[],
  arrays: readonly NDArray[],
  extents: ReadonlyMap<string, number>,
): Map<string, number> {
  const names = [...extents.keys()];
  const result = new Map<string, number>();
  const walk = (depth: number, values: ReadonlyMap<string, number>): void => {
    const name = names[depth];
    if (name === undefined) {
      const place = output.map((each) => values.get(each)).join();
      const product = arrays.reduce(
        (value, x, i) => value * x.item(...(inputs[i] ?? []).map((each) => values.get(each) ?? 0)),
        1,
      );
      result.set(place, (result.get(place) ?? 0) + product);
      return;
    }
    for (let i = 0; i < (extents.get(name) ?? 0); i++) walk(depth + 1, new Map([...values, [name, i]]));
  };
  walk(0, new Map());
  return result;
}

describe("einsum", () => {
  const letters = ["i", "j", "k", "l"];
  const notation = fc
    .record({
      extents: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 4, maxLength: 4 }),
      inputs: fc.array(fc.array(fc.constantFrom(...letters), { maxLength: 3 }), {
        minLength: 1,
        maxLength: 3,
      }),
      picks: fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
      order: fc.shuffledSubarray([0, 1, 2, 3], { minLength: 4 }),
    })
    .map(({ extents, inputs, picks, order }) => {
      const used = new Set(inputs.flat());
      const output = order
        .filter((i) => picks[i])
        .map((i) => letters[i] ?? "")
        .filter((name) => used.has(name));
      const known = new Map(
        letters.flatMap((name, i) => (used.has(name) ? [[name, extents[i] ?? 1] as const] : [])),
      );
      return { inputs, output, extents: known };
    });

  it("agrees with loops for any notation", () => {
    fc.assert(
      fc.property(notation, ({ inputs, output, extents }) => {
        const arrays = inputs.map((names, i) => {
          const shape = names.map((name) => extents.get(name) ?? 1);
          return range(...shape).add(i + 1);
        });
        const text = `${inputs.map((names) => names.join("")).join(",")}->${output.join("")}`;
        const actual = np.einsum(text, ...arrays);
        expect(actual.shape).toEqual(output.map((name) => extents.get(name)));
        for (const [place, value] of einsumByLoops(inputs, output, arrays, extents)) {
          expect(
            actual.item(
              ...place
                .split(",")
                .filter((each) => each !== "")
                .map(Number),
            ),
            text,
          ).toBe(value);
        }
      }),
      { numRuns: 200 },
    );
  });

  it("knows implicit outputs and ellipses", () => {
    const [a, b] = [range(2, 3), range(3, 2)];
    expect(np.einsum("ij,jk", a, b).toArray()).toEqual(np.matmul(a, b).toArray());
    expect(np.einsum("ba", a).toArray()).toEqual(a.T.toArray());
    expect(np.einsum("ii", np.eye(3)).item()).toBe(3);
    expect(np.einsum("...i,...i->...", range(4, 2), range(4, 2)).toArray()).toEqual([1, 13, 41, 85]);
    expect(np.einsum("...ij,...jk", range(5, 2, 3), range(3, 2)).shape).toEqual([5, 2, 2]);
    expectError(() => np.einsum("...i,i...", range(2, 3), range(3, 4)), ShapeError, "HEDDLE_SHAPE", "2 in a");
    expect(np.einsum("i...->...i", range(2, 3)).toArray()).toEqual(range(2, 3).T.toArray());
  });

  it("refuses what does not fit", () => {
    expectError(
      () => np.einsum("ij,jk", range(2, 3), range(2, 3)),
      ShapeError,
      "HEDDLE_SHAPE",
      "3",
      "2",
      "[2,3]",
    );
    expectError(() => np.einsum("ij", range(2)), ShapeError, "HEDDLE_SHAPE", "operand 0", "2 axes");
    expectError(() => np.einsum("i,j", range(2)), ArgumentError, "HEDDLE_ARGUMENT", "1 operands");
    expectError(() => np.einsum("i->k", range(2)), ArgumentError, "HEDDLE_ARGUMENT", "output index k");
    expectError(() => np.einsum("i->ii", range(2)), ArgumentError, "HEDDLE_ARGUMENT", "output index i");
    expectError(() => np.einsum("ii", range(2, 3)), ShapeError, "HEDDLE_SHAPE", "repeated index i");
    expectError(() => np.einsum("1", range(2)), ArgumentError, "HEDDLE_ARGUMENT", "letters");
  });
});

describe("products", () => {
  const [a, b] = [range(2, 3), range(3, 4)];

  it("of vectors, matrices and scalars by dot", () => {
    expect(np.dot([1, 2, 3], [4, 5, 6]).item()).toBe(32);
    expect(a.dot([1, 0, 2]).toArray()).toEqual([4, 13]);
    expect(np.dot([1, 2], a).toArray()).toEqual([6, 9, 12]);
    expect(a.dot(b).toArray()).toEqual([
      [20, 23, 26, 29],
      [56, 68, 80, 92],
    ]);
    expect(a.dot(2).toArray()).toEqual(a.mul(2).toArray());
    expect(np.dot(range(2, 3, 4), range(5, 4, 6)).shape).toEqual([2, 3, 5, 6]);
    expect(np.dot(np.array([true, true]), np.array([true, true])).item()).toBe(2);
    expectError(
      () => np.dot(np.ones([4, 6]), np.ones([5, 8])),
      ShapeError,
      "HEDDLE_SHAPE",
      "6 in a [4,6]",
      "5 in b [5,8]",
      "transpose",
    );
  });

  it("of matrices in batches by matmul", () => {
    const batch = np.matmul(range(2, 1, 3, 4), range(5, 4, 2));
    expect(batch.shape).toEqual([2, 5, 3, 2]);
    expect(batch.slice(1, 3).toArray()).toEqual(
      range(2, 1, 3, 4)
        .slice(1, 0)
        .dot(range(5, 4, 2).slice(3))
        .toArray(),
    );
    expect(np.matmul([1, 2], [3, 4]).item()).toBe(11);
    expect(np.matmul(range(2, 3, 4), [1, 0, 0, 0]).toArray()).toEqual([
      [0, 4, 8],
      [12, 16, 20],
    ]);
    expectError(() => np.matmul(1, [1]), ShapeError, "HEDDLE_SHAPE", "scalar", "multiply");
    expectError(() => np.matmul(a, a), ShapeError, "HEDDLE_SHAPE", "3 in a [2,3]", "2 in b [2,3]");
    expectError(() => np.matmul(range(2, 1, 1), range(3, 1, 1)), ShapeError, "HEDDLE_SHAPE", "matmul");
  });

  it("of other kinds", () => {
    expect(np.outer([1, 2], [3, 4]).toArray()).toEqual([
      [3, 4],
      [6, 8],
    ]);
    expect(np.inner(a, a).toArray()).toEqual([
      [5, 14],
      [14, 50],
    ]);
    expect(np.vdot(a, a).item()).toBe(55);
    expect(np.vecdot(range(2, 3), [1, 1, 1]).toArray()).toEqual([3, 12]);
    expect(np.tensordot(range(2, 3, 4), range(3, 4, 5)).shape).toEqual([2, 5]);
    expect(np.tensordot(a, b, 1).toArray()).toEqual(a.dot(b).toArray());
    expect(np.tensordot(a, a, [0, 0]).toArray()).toEqual(a.T.dot(a).toArray());
    expect(np.tensordot([1, 2], [3, 4], 0).shape).toEqual([2, 2]);
    expect(np.kron([1, 10], [1, 2]).toArray()).toEqual([1, 2, 10, 20]);
    expect(np.kron(np.eye(2), np.ones([1, 2])).toArray()).toEqual([
      [1, 1, 0, 0],
      [0, 0, 1, 1],
    ]);
    expect(np.cross([1, 0, 0], [0, 1, 0]).toArray()).toEqual([0, 0, 1]);
    expectError(() => np.vdot([1], [1, 2]), ShapeError, "HEDDLE_SHAPE", "vdot");
    expectError(() => np.tensordot(a, b, [[0], [0, 1]]), ArgumentError, "HEDDLE_ARGUMENT", "axes");
    expectError(() => np.tensordot(a, b, 3), ArgumentError, "HEDDLE_ARGUMENT", "axes", "0 to 2");
    expectError(() => np.cross([1, 2], [3, 4]), ShapeError, "HEDDLE_SHAPE", "extent 3");
  });
});
