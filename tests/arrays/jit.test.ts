// Compiled functions: the same results as uncompiled ones, traced once per types, as many signatures as asked for.
import fc from "fast-check";
import type { NDArray } from "heddle";
import { jit, np } from "heddle";
import { describe, expect, it } from "vitest";

describe("jit", () => {
  it("traces once per tree structure, shape and dtype", () => {
    let traces = 0;
    const f = jit((x: NDArray | { a: NDArray }) => {
      traces++;
      return "a" in x ? x.a.mul(2) : x.add(1);
    });
    expect(f([1, 2]).toArray()).toEqual([2, 3]);
    expect(f([5, 6]).toArray()).toEqual([6, 7]);
    expect(traces).toBe(1);
    expect(f([1, 2, 3]).toArray()).toEqual([2, 3, 4]);
    expect(f(np.ones(2, "float32")).dtype).toBe("float32");
    expect(f({ a: 4 } as never).toArray()).toBe(8);
    expect(traces).toBe(4);
  });

  it("gives fresh arrays that later calls do not touch", () => {
    const f = jit((x: NDArray) => x.mul(2));
    const first = f([1, 2]);
    f([3, 4]);
    expect(first.toArray()).toEqual([2, 4]);
    expect(first.data.buffer).toBeInstanceOf(ArrayBuffer);
  });

  it("returns inputs, constants, structures and the same value twice", () => {
    const k = np.array([7, 8]);
    const [x, zeros, constant, again] = jit((a: NDArray) => [a, np.zeros(2), k, a] as const)([1, 2]);
    expect([x, zeros, constant, again].map((value) => value.toArray())).toEqual([
      [1, 2],
      [0, 0],
      [7, 8],
      [1, 2],
    ]);
    expect(jit(() => ({ a: np.ones(2) }))().a.toArray()).toEqual([1, 1]);
    expect(jit((a: NDArray) => a.sum(0))(np.zeros([0, 3])).toArray()).toEqual([0, 0, 0]);
    expect(jit((a: NDArray) => a.mul(2))(np.zeros([0, 3])).shape).toEqual([0, 3]);
  });

  it("does not round an f64 constant", () => {
    expect(jit((x: NDArray) => x.add(np.array([0.1])).mul(0.1))([0]).item()).toBe(0.1 * 0.1);
  });

  it("forgets the least recently used of many signatures, and stays right", () => {
    const f = jit((x: NDArray) => x.sum());
    for (const round of [0, 1]) {
      for (let n = 1; n <= 80; n++) expect(f(np.ones(n)).item(), `round ${round}`).toBe(n);
    }
  });

  it("of a single operation has the bits of that operation", () => {
    const values = fc.array(fc.double(), { minLength: 1, maxLength: 40 });
    const operations: ((x: NDArray, y: NDArray) => NDArray)[] = [
      np.add,
      np.subtract,
      np.multiply,
      np.divide,
      np.maximum,
      np.less,
      (x) => np.sqrt(x),
      (x) => np.exp(x),
      (x) => np.tanh(x),
      (x) => np.abs(x),
      (x) => np.floor(x),
      (x) => np.log(x),
      (x) => np.sin(x),
      (x) => np.rint(x),
    ];
    fc.assert(
      fc.property(values, fc.constantFrom(...operations), (list, operation) => {
        const [x, y] = [np.array(list), np.array([...list].reverse())];
        const compiled = jit((a: NDArray, b: NDArray) => operation(a, b))(x, y);
        expect(Array.from(compiled.data)).toEqual(Array.from(operation(x, y).data));
      }),
      { numRuns: 200 },
    );
  });

  it("agrees with the uncompiled function for dtypes of all kinds", () => {
    const f = (x: NDArray, i: NDArray, m: NDArray) =>
      np
        .where(m, x.mul(i), x.sum())
        .astype("float32")
        .add(np.take(x, i.mod(3)).max());
    const args = [
      np.array([1.5, -2, 3]),
      np.array([2, 0, 5], "int32"),
      np.array([true, false, true]),
    ] as const;
    expect(jit(f)(...args).toArray()).toEqual(f(...args).toArray());
  });
});
