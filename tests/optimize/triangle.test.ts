/**
 * The linear algebra of the optimizer against its defining equations: `RᵀR = AᵀA`, the normal equations of a damped
 * step, and `A·v = σ·u` of the singular values.
 */
import { dampedGaussNewton } from "#heddle/optimize/descent";
import { inverseNormalMatrix } from "#heddle/optimize/covariance";
import { norm } from "#heddle/optimize/norm";
import { rightSvd } from "#heddle/optimize/svd";
import { Triangle } from "#heddle/optimize/triangle";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

/** Numbers that look random and are the same every time. */
function noise(count: number, seed = 1): Float64Array {
  let state = seed;
  return Float64Array.from({ length: count }, () => {
    state = (state * 48271) % 2147483647;
    return (2 * state) / 2147483647 - 1;
  });
}

const at = (values: Float64Array, index: number): number => values[index] ?? NaN;

/** `AᵀB` of row-major `[m, n]` and `[m, k]`. */
function transposedProduct(A: Float64Array, B: Float64Array, m: number, n: number, k: number): Float64Array {
  const product = new Float64Array(n * k);
  for (let i = 0; i < m; i++) {
    for (let p = 0; p < n; p++) {
      for (let q = 0; q < k; q++)
        product[p * k + q] = at(product, p * k + q) + at(A, i * n + p) * at(B, i * k + q);
    }
  }
  return product;
}

const closeTo = (found: Float64Array, expected: Float64Array, tolerance: number): void => {
  expect(found).toHaveLength(expected.length);
  const size = Math.max(...expected.map(Math.abs));
  found.forEach((value, i) =>
    expect(Math.abs(value - at(expected, i))).toBeLessThanOrEqual(tolerance * size),
  );
};

describe("the triangular factor", () => {
  it.each([
    [1, 1],
    [7, 3],
    [3, 7],
    [40, 40],
    [5000, 9],
    [9000, 2],
  ])("of %i rows and %i columns keeps AᵀA and Aᵀb", (m, n) => {
    const A = noise(m * n);
    const b = noise(m, 7);
    const triangle = Triangle.of(A, b, n);
    const R = triangle.toMatrix();
    closeTo(transposedProduct(R, R, n, n, n), transposedProduct(A, A, m, n, n), 1e-13);
    const rhs = Float64Array.from({ length: n }, (_, i) => triangle.get(i, n));
    closeTo(transposedProduct(R, rhs, n, n, 1), transposedProduct(A, b, m, n, 1), 1e-13);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < i; j++) expect(triangle.get(i, j)).toBe(0);
      expect(triangle.columnNorm(i)).toBeCloseTo(
        Math.sqrt(at(transposedProduct(A, A, m, n, n), i * n + i)),
        10,
      );
    }
  });

  it("solves an ill-conditioned system to what its condition allows, not to its square", () => {
    // Läuchli's matrix: the normal equations lose 1e-9² entirely.
    const A = Float64Array.of(1, 1, 1e-9, 0, 0, 1e-9);
    const z = Triangle.of(A, Float64Array.of(3, 1e-9, 2e-9), 2).solve();
    expect(at(z, 0)).toBeCloseTo(1, 6);
    expect(at(z, 1)).toBeCloseTo(2, 6);
  });

  it("neither overflows nor vanishes", () => {
    const z = Triangle.of(Float64Array.of(1e200, 0, 0, 1e-200), Float64Array.of(2e200, 3e-200), 2).solve();
    expect(at(z, 0)).toBeCloseTo(2, 12);
    expect(at(z, 1)).toBeCloseTo(3, 12);
  });
});

describe("the damped step", () => {
  it("satisfies (JᵀJ + D/radius)·δ = −Jᵀr, and predicts the reduction of the linear model", () => {
    const shape = fc.tuple(
      fc.integer({ min: 1, max: 8 }),
      fc.integer({ min: 1, max: 8 }),
      fc.integer({ min: 1, max: 1e6 }),
    );
    fc.assert(
      fc.property(shape, fc.double({ min: -8, max: 8, noNaN: true }), ([m, n, seed], logRadius) => {
        const radius = 10 ** logRadius;
        const J = noise(m * n, seed);
        const r = noise(m, seed + 1);
        const { delta, predicted } = dampedGaussNewton("jac").linearize(J, r).at(radius);
        const JtJ = transposedProduct(J, J, m, n, n);
        const residue = transposedProduct(J, r, m, n, 1);
        for (let i = 0; i < n; i++) {
          let sum = at(residue, i) + (Math.max(1e-6, at(JtJ, i * n + i)) / radius) * at(delta, i);
          for (let j = 0; j < n; j++) sum += at(JtJ, i * n + j) * at(delta, j);
          residue[i] = sum;
        }
        expect(norm(residue)).toBeLessThan(1e-12 * (1 + norm(delta) * norm(JtJ) * (1 + 1 / radius)));
        const moved = r.map((value, i) => {
          let sum = value;
          for (let j = 0; j < n; j++) sum += at(J, i * n + j) * at(delta, j);
          return sum;
        });
        expect(predicted).toBeGreaterThanOrEqual(0);
        expect(predicted).toBeCloseTo(0.5 * norm(r) ** 2 - 0.5 * norm(moved) ** 2, 10);
      }),
    );
  });

  it("is the same step however often another radius was asked for in between", () => {
    const steps = dampedGaussNewton("jac").linearize(noise(60), noise(20, 3));
    const first = steps.at(1);
    steps.at(1e-3);
    expect([...steps.at(1).delta]).toEqual([...first.delta]);
  });
});

describe("singular values", () => {
  it("are those of a matrix made to measure", () => {
    // Hilbert's matrix of order 6; extreme singular values from the literature.
    const n = 6;
    const H = Float64Array.from({ length: n * n }, (_, i) => 1 / (1 + Math.floor(i / n) + (i % n)));
    const { values } = rightSvd(H, n);
    expect(Math.max(...values)).toBeCloseTo(1.618899858924339, 13);
    expect(Math.min(...values) / 1.08279948456555e-7).toBeCloseTo(1, 9);
  });

  it("satisfy ‖A·v‖ = σ with orthonormal v, also for a singular matrix", () => {
    for (const A of [
      noise(25),
      noise(25, 9).map((value, i) => (i % 5 === 4 ? 0 : value)),
      new Float64Array(25),
    ]) {
      const { values, vectors } = rightSvd(A, 5);
      const image = transposedProduct(
        Float64Array.from(A, (_, i) => at(A, (i % 5) * 5 + Math.floor(i / 5))),
        Float64Array.from(vectors, (_, i) => at(vectors, (i % 5) * 5 + Math.floor(i / 5))),
        5,
        5,
        5,
      );
      for (let k = 0; k < 5; k++) expect(norm(image, k, 5, 5)).toBeCloseTo(at(values, k), 13);
      closeTo(
        transposedProduct(vectors, vectors, 5, 5, 5),
        Float64Array.from({ length: 25 }, (_, i) => (i % 6 === 0 ? 1 : 0)),
        1e-13,
      );
    }
  });
});

describe("the inverse normal matrix", () => {
  it("inverts", () => {
    const J = noise(60, 5);
    const inverse = inverseNormalMatrix(J, 15, 4) ?? new Float64Array(0);
    const JtJ = transposedProduct(J, J, 15, 4, 4);
    closeTo(
      transposedProduct(JtJ, inverse, 4, 4, 4),
      Float64Array.from({ length: 16 }, (_, i) => (i % 5 === 0 ? 1 : 0)),
      1e-13,
    );
  });

  it("does not mind the units of a column, and finds a lack of rank in any units", () => {
    const J = noise(60, 5);
    const units = [1e-12, 1, 1e9, 1e-3];
    const scaled = J.map((value, i) => value * (units[i % 4] ?? NaN));
    expect(inverseNormalMatrix(scaled, 15, 4)).toBeDefined();
    const dependent = scaled.map((value, i) => (i % 4 === 3 ? 5 * at(scaled, i - 1) : value));
    expect(inverseNormalMatrix(dependent, 15, 4)).toBeUndefined();
    expect(
      inverseNormalMatrix(
        J.map((value, i) => (i % 4 === 0 ? 0 : value)),
        15,
        4,
      ),
    ).toBeUndefined();
    expect(inverseNormalMatrix(noise(6), 2, 3)).toBeUndefined();
  });
});
