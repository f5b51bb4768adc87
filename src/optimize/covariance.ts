/**
 * How well the data determine the parameters: the covariance of a least-squares solution, `s²·(JᵀJ)⁻¹`, by singular
 * values, which show a parameter that the data do not determine instead of dividing by rounding errors.
 */
import { entry } from "./entry.js";
import { rightSvd } from "./svd.js";
import { Triangle } from "./triangle.js";

/** Entries wrong by some part make singular values wrong by about that part; what is left under a few times it is noise. */
const margin = 8;

/**
 * `(JᵀJ)⁻¹`, row-major `[n, n]`, or `undefined` if `J` (row-major `[m, n]`) is rank-deficient as far as its entries can
 * tell, which are right to a part of `accuracy`.
 */
export function inverseNormalMatrix(
  jacobian: Float64Array,
  m: number,
  n: number,
  accuracy = m * Number.EPSILON,
): Float64Array | undefined {
  if (m < n) return undefined;
  const triangle = Triangle.of(jacobian, new Float64Array(m), n);
  // Columns of unit length: what counts as deficient must not depend on the units of the parameters.
  const norms = Float64Array.from({ length: n }, (_, j) => triangle.columnNorm(j));
  if (norms.includes(0)) return undefined;
  const scaled = triangle.toMatrix().map((value, index) => value / entry(norms, index % n));
  const { values, vectors } = rightSvd(scaled, n);
  if (Math.min(...values) <= margin * accuracy * Math.max(...values)) return undefined;

  const inverse = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      let sum = 0;
      for (let k = 0; k < n; k++) {
        sum += (entry(vectors, k * n + i) * entry(vectors, k * n + j)) / entry(values, k) ** 2;
      }
      inverse[i * n + j] = sum / (entry(norms, i) * entry(norms, j));
    }
  }
  return inverse;
}
