/** The objective functions that benchmarks evaluate. */
import { np, objective } from "heddle";
import type { NDArray, Objective } from "heddle";

function matrix(rows: number, columns: number, k: number): NDArray {
  const data = Float64Array.from({ length: rows * columns }, (_, i) => Math.sin(i * 0.37 + k) / columns);
  return np.array(data).reshape(rows, columns);
}

/** Objectives and a point. */
export interface Problem {
  readonly list: readonly Objective[];
  readonly c: Float64Array;
  readonly matrices: readonly NDArray[];
}

function problem(
  count: number,
  rows: number,
  columns: number,
  residual: (A: NDArray) => (c: NDArray) => NDArray,
): Problem {
  const matrices = Array.from({ length: count }, (_, k) => matrix(rows, columns, k));
  return {
    list: matrices.map((A, k) => objective(residual(A), { name: `objective ${k}` })),
    c: Float64Array.from({ length: columns }, (_, i) => Math.cos(i)),
    matrices,
  };
}

/** The sizes of the memory-bound problem; bench/peers/openmp.cpp has the same. */
export const memorySize = { count: 8, rows: 4096, columns: 256 } as const;

/** tanh(A_k·c), each with its own A_k: as much memory as there is arithmetic. */
export function memoryBound(): Problem {
  const { count, rows, columns } = memorySize;
  return problem(count, rows, columns, (A) => (c) => np.tanh(np.dot(A, c)));
}

/** Forty functions one after the other over a small product: arithmetic in registers. */
export function computeBound(count: number): Problem {
  return problem(count, 4096, 16, (A) => (c) => {
    let value = np.dot(A, c);
    for (let depth = 0; depth < 40; depth++) value = depth % 2 === 0 ? np.tanh(value) : np.sin(value);
    return value;
  });
}

/** tanh(A_k·c) with Jacobians of 128 KiB in all: small steps that are taken many times. */
export function smallSteps(): Problem {
  return problem(2, 128, 64, (A) => (c) => np.tanh(np.dot(A, c)));
}

/** The discussion's two objectives: 40 coefficients, 15 nodes each. */
export function cosines(): Problem {
  const columns = 40;
  const grids = [
    np.linspace(-Math.PI, 0, 15, { endpoint: false }),
    np.linspace(0, Math.PI, 15, { endpoint: false }),
  ];
  const make = (grid: NDArray, k: number): { A: NDArray; one: Objective } => {
    const A = np.stack(Array.from({ length: columns }, (_, i) => np.cos(grid.mul(i)))).T;
    return { A, one: objective((x) => np.dot(A, x), { name: `half ${k}`, target: np.square(grid) }) };
  };
  const made = grids.map(make);
  const c = new Float64Array(columns);
  c[2] = 3;
  return { list: made.map(({ one }) => one), c, matrices: made.map(({ A }) => A) };
}
