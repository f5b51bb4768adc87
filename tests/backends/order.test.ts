/**
 * A sum has the same bits wherever it stands: alone or beside others, of stored elements or of ones that are computed on
 * the way, read as they lie or through a view.
 */
import { jit, np, objective, sequential } from "heddle";
import type { NDArray } from "heddle";
import fc from "fast-check";
import { expect, test } from "vitest";

const before: Readonly<Record<string, (x: NDArray) => NDArray>> = {
  itself: (x) => x,
  exp: (x) => np.exp(x),
  scaled: (x) => x.mul(1.1).add(0.3),
  turned: (x) => x.T.mul(1.1).T,
  transposed: (x) => np.sin(x).T,
  sliced: (x) => np.concatenate([x, x.mul(2)], 1).slice([], [1, null]),
  padded: (x) =>
    np.pad(x, [
      [0, 1],
      [2, 0],
    ]),
  where: (x) => np.where(x.greater(0), np.exp(x), x),
  repeated: (x) => np.broadcastTo(np.tanh(x.sum(0)), x.shape),
};
const after: Readonly<Record<string, (y: NDArray) => NDArray>> = {
  all: (y) => y.sum(),
  first: (y) => y.sum(0),
  last: (y) => y.sum(-1),
  product: (y) => y.prod(-1),
  mean: (y) => y.mean(0),
  vector: (y) => np.dot(y, np.cos(np.arange(y.shape[1] ?? 0)).astype(y.dtype)),
  left: (y) => np.dot(np.cos(np.arange(y.shape[0] ?? 0)).astype(y.dtype), y),
  gram: (y) => np.matmul(y, y.T),
  outer: (y) => np.matmul(y.T, y),
};

function sample(rows: number, columns: number, seed: number, dtype: "float64" | "float32"): NDArray {
  const data = Float64Array.from({ length: rows * columns }, (_, i) => Math.sin(i * 12.9898 + seed) * 1.7);
  return np.array(data).reshape(rows, columns).astype(dtype);
}

test("alone, beside its operand, and beside its derivative", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 1, max: 40 }),
      fc.constantFrom(...Object.keys(before)),
      fc.constantFrom(...Object.keys(after)),
      fc.constantFrom("float64" as const, "float32" as const),
      fc.nat(1000),
      (rows, columns, first, second, dtype, seed) => {
        const [inner, outer] = [before[first], after[second]];
        if (inner === undefined || outer === undefined) throw new Error("no such function");
        const x = sample(rows, columns, seed, dtype);
        const alone = jit((v: NDArray) => outer(inner(v)))(x);
        const [beside] = jit((v: NDArray) => [outer(inner(v)), inner(v), inner(v).mul(2)])(x);
        const [stored] = jit((v: NDArray) => {
          const y = inner(v);
          return [outer(y), np.sqrt(np.abs(y)), y.sum(0), y.max()];
        })(x);
        expect(beside?.data).toEqual(alone.data);
        expect(stored?.data).toEqual(alone.data);
      },
    ),
    { numRuns: 250 },
  );
});

test("in the residual and in the linearization of an objective", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 30 }),
      fc.constantFrom(...Object.keys(before)),
      fc.constantFrom(...Object.keys(after)),
      fc.nat(1000),
      (n, first, second, seed) => {
        const [inner, outer] = [before[first], after[second]];
        if (inner === undefined || outer === undefined) throw new Error("no such function");
        const A = sample(n, 7, seed, "float64");
        const f = sequential([objective((c) => outer(inner(A.mul(c))))], { x: new Float64Array(7) });
        const x = Float64Array.from({ length: 7 }, (_, i) => Math.cos(i + seed));
        const both = f.sync.linearize(x);
        expect(both.residual.data).toEqual(f.sync.residual(x).data);
        expect(both.jacobian.data).toEqual(f.sync.jacobian(x).data);
      },
    ),
    { numRuns: 120 },
  );
});
