/**
 * The triangular factor of a QR factorization, grown by blocks of rows. A least-squares step needs `R` and `Qᵀr` but
 * never `Q`, so the factor is all that is kept: memory is n×n however many residuals there are, each block stays in
 * cache while it is folded in, and the damping rows of a rejected trial are just one more block.
 */
import { entry } from "./entry.js";
import { norm } from "./norm.js";

/** Doubles of one block: 128 KiB, so that a block stays in a core's own cache. */
const blockDoubles = 16_384;

/**
 * `[R | Qᵀr]`, row-major `[n, n + 1]`, of all rows absorbed so far. With fewer rows than columns the last rows are
 * zero, which a later block of damping rows fills.
 */
export class Triangle {
  readonly n: number;
  readonly #width: number;
  readonly #data: Float64Array;

  constructor(n: number, data = new Float64Array(n * (n + 1))) {
    this.n = n;
    this.#width = n + 1;
    this.#data = data;
  }

  /** The factor of a row-major `[m, n]` matrix and its right-hand side. The rows are read in fixed blocks. */
  static of(jacobian: Float64Array, residual: Float64Array, n: number): Triangle {
    const triangle = new Triangle(n);
    const m = residual.length;
    const width = n + 1;
    const blockRows = Math.max(16, Math.floor(blockDoubles / width));
    const block = new Float64Array(Math.min(m, blockRows) * width);
    for (let start = 0; start < m; start += blockRows) {
      const rows = Math.min(blockRows, m - start);
      for (let i = 0; i < rows; i++) {
        const row = start + i;
        block.set(jacobian.subarray(row * n, (row + 1) * n), i * width);
        block[i * width + n] = entry(residual, row);
      }
      triangle.absorb(block, rows);
    }
    return triangle;
  }

  /** An independent copy. */
  clone(): Triangle {
    return new Triangle(this.n, this.#data.slice());
  }

  /** `R[row, column]`; column `n` is the right-hand side. */
  get(row: number, column: number): number {
    return entry(this.#data, row * this.#width + column);
  }

  /**
   * Folds in `rows` further rows, each `n` coefficients and a right-hand side; `block` is overwritten. Householder
   * reflections (Golub and Van Loan, Matrix Computations, 5.1), each spanning one row of `R` and the block. `support`
   * tells how many leading rows of the block can be non-zero in a column, counting fill-in: all of them by default.
   */
  absorb(block: Float64Array, rows: number, support: (column: number) => number = () => rows): void {
    const { n } = this;
    const width = this.#width;
    const triangle = this.#data;
    const projections = new Float64Array(width);
    for (let j = 0; j < n; j++) {
      const count = support(j);
      const pivot = j * width;
      const alpha = entry(triangle, pivot + j);
      const below = columnNorm(block, count, width, j);
      if (below === 0) continue;
      const norm = Math.hypot(alpha, below);
      const beta = alpha > 0 ? -norm : norm;
      const tau = (beta - alpha) / beta;
      const lead = alpha - beta;

      for (let c = j + 1; c < width; c++) projections[c] = entry(triangle, pivot + c);
      for (let i = 0; i < count; i++) {
        const row = i * width;
        const v = entry(block, row + j) / lead;
        block[row + j] = v;
        if (v === 0) continue;
        for (let c = j + 1; c < width; c++) {
          projections[c] = entry(projections, c) + v * entry(block, row + c);
        }
      }
      triangle[pivot + j] = beta;
      for (let c = j + 1; c < width; c++) {
        const scaled = tau * entry(projections, c);
        projections[c] = scaled;
        triangle[pivot + c] = entry(triangle, pivot + c) - scaled;
      }
      for (let i = 0; i < count; i++) {
        const row = i * width;
        const v = entry(block, row + j);
        if (v === 0) continue;
        for (let c = j + 1; c < width; c++) {
          block[row + c] = entry(block, row + c) - v * entry(projections, c);
        }
      }
    }
  }

  /** The solution of `R·z = Qᵀr` by back substitution; a zero pivot gives a zero component. */
  solve(): Float64Array {
    const { n } = this;
    const z = new Float64Array(n);
    for (let j = n - 1; j >= 0; j--) {
      const pivot = this.get(j, j);
      if (pivot === 0) continue;
      let sum = this.get(j, n);
      for (let c = j + 1; c < n; c++) sum -= this.get(j, c) * entry(z, c);
      z[j] = sum / pivot;
    }
    return z;
  }

  /** `‖R·z‖²`, which is `‖J·z‖²`. */
  squaredNormOfProduct(z: Float64Array): number {
    let total = 0;
    for (let i = 0; i < this.n; i++) {
      let sum = 0;
      for (let c = i; c < this.n; c++) sum += this.get(i, c) * entry(z, c);
      total += sum * sum;
    }
    return total;
  }

  /** `‖R[:, column]‖`, which is the norm of that column of `J`. */
  columnNorm(column: number): number {
    return columnNorm(this.#data, column + 1, this.#width, column);
  }

  /** `R` alone, row-major `[n, n]`. */
  toMatrix(): Float64Array {
    const { n } = this;
    const matrix = new Float64Array(n * n);
    for (let i = 0; i < n; i++) {
      for (let j = i; j < n; j++) matrix[i * n + j] = this.get(i, j);
    }
    return matrix;
  }
}

/** The 2-norm of the first `rows` entries of a column. */
function columnNorm(matrix: Float64Array, rows: number, width: number, column: number): number {
  return norm(matrix, column, width, rows);
}
