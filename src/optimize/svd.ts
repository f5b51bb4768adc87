/**
 * Singular values and right singular vectors of a small square matrix, for covariances: one-sided Jacobi, which finds
 * small singular values to their own relative accuracy (Demmel and Veselić, SIAM J. Matrix Anal. Appl. 13, 1992).
 */
import { entry } from "./entry.js";
import { norm } from "./norm.js";

/** `A = U·diag(values)·Vᵀ` without `U`. */
export interface RightSvd {
  /** The singular values, in no particular order. */
  readonly values: Float64Array;
  /** Row `k` is the right singular vector of `values[k]`: `Vᵀ`, row-major. */
  readonly vectors: Float64Array;
}

const mostSweeps = 60;

/** The decomposition of a row-major `[n, n]` matrix. */
export function rightSvd(matrix: Float64Array, n: number): RightSvd {
  // Columns of A and of V as contiguous rows.
  const columns = new Float64Array(n * n);
  const vectors = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    vectors[i * n + i] = 1;
    for (let j = 0; j < n; j++) columns[j * n + i] = entry(matrix, i * n + j);
  }
  for (let sweep = 0; sweep < mostSweeps; sweep++) {
    let rotated = false;
    for (let p = 0; p < n - 1; p++) {
      for (let q = p + 1; q < n; q++) {
        const rotation = orthogonalizing(columns, p, q, n);
        if (rotation === undefined) continue;
        rotated = true;
        rotate(columns, p, q, n, rotation);
        rotate(vectors, p, q, n, rotation);
      }
    }
    if (!rotated) break;
  }
  return { values: Float64Array.from({ length: n }, (_, k) => norm(columns, k * n, 1, n)), vectors };
}

interface Rotation {
  readonly cosine: number;
  readonly sine: number;
}

/** The rotation that makes columns `p` and `q` orthogonal, or `undefined` if they already are. */
function orthogonalizing(columns: Float64Array, p: number, q: number, n: number): Rotation | undefined {
  let pp = 0;
  let qq = 0;
  let pq = 0;
  for (let i = 0; i < n; i++) {
    const a = entry(columns, p * n + i);
    const b = entry(columns, q * n + i);
    pp += a * a;
    qq += b * b;
    pq += a * b;
  }
  if (Math.abs(pq) <= Number.EPSILON * Math.sqrt(pp) * Math.sqrt(qq)) return undefined;
  const zeta = (qq - pp) / (2 * pq);
  const tangent = (zeta < 0 ? -1 : 1) / (Math.abs(zeta) + Math.hypot(1, zeta));
  const cosine = 1 / Math.hypot(1, tangent);
  return { cosine, sine: cosine * tangent };
}

function rotate(rows: Float64Array, p: number, q: number, n: number, { cosine, sine }: Rotation): void {
  for (let i = 0; i < n; i++) {
    const a = entry(rows, p * n + i);
    const b = entry(rows, q * n + i);
    rows[p * n + i] = cosine * a - sine * b;
    rows[q * n + i] = sine * a + cosine * b;
  }
}
