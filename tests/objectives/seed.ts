/**
 * The program of the discussion that heddle answers: 40 cosine coefficients, two grids of 15 nodes, target x².
 */
import type { NDArray, Objective } from "heddle";
import { np, objective } from "heddle";

export const coefficients = 40;
export const nodes = 15;

/** The matrix whose column i is cos(i · grid). */
export function cosines(grid: NDArray): NDArray {
  return np.stack(Array.from({ length: coefficients }, (_, i) => np.cos(grid.mul(i)))).T;
}

export interface Seed {
  readonly matrices: readonly [NDArray, NDArray];
  readonly objectives: readonly [Objective, Objective];
  readonly c: Float64Array;
}

export function seed(ranks: readonly [number?, number?] = []): Seed {
  const left = np.linspace(-Math.PI, 0, nodes, { endpoint: false });
  const right = np.linspace(0, Math.PI, nodes, { endpoint: false });
  const matrices = [cosines(left), cosines(right)] as const;
  const make = (name: string, A: NDArray, grid: NDArray, rank: number | undefined): Objective =>
    objective((c) => np.dot(A, c), { name, target: grid.mul(grid), ...(rank === undefined ? {} : { rank }) });
  const c = new Float64Array(coefficients);
  c[2] = 3;
  return {
    matrices,
    objectives: [make("left", matrices[0], left, ranks[0]), make("right", matrices[1], right, ranks[1])],
    c,
  };
}
