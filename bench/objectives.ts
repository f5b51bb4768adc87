/**
 * Objectives against the plain JavaScript loop that they replace: eight memory-bound ones on one and two ranks, and the
 * discussion's two small ones, whose calls are mostly latency.
 */
import { createPool, np, objective, objectiveFunction, sequential } from "heddle";
import type { NDArray, Objective } from "heddle";
import { median } from "./median.js";
import { plainLoop } from "./plainLoop.js";

const count = 8;
const rows = 4096;
const columns = 256;

function matrix(k: number): NDArray {
  const data = Float64Array.from({ length: rows * columns }, (_, i) => Math.sin(i * 0.37 + k) / columns);
  return np.array(data).reshape(rows, columns);
}

/** tanh(A·c) and its Jacobian, as one writes them by hand. */
const plainLinearize = plainLoop(
  "m, n, A, c, r, J",
  `for (let i = 0; i < m; i++) {
    let sum = 0;
    for (let k = 0; k < n; k++) sum += A[i * n + k] * c[k];
    const value = Math.tanh(sum);
    r[i] = value;
    const slope = 1 - value * value;
    for (let k = 0; k < n; k++) J[i * n + k] = slope * A[i * n + k];
  }`,
);

async function timed(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Eight objectives tanh(A_k·c), each its own A_k. */
async function memoryBound(): Promise<void> {
  const matrices = Array.from({ length: count }, (_, k) => matrix(k));
  const list: Objective[] = matrices.map((A, k) =>
    objective((c) => np.tanh(np.dot(A, c)), { name: `tanh ${k}` }),
  );
  const c = Float64Array.from({ length: columns }, (_, i) => Math.cos(i));
  const plainData = matrices.map((A) => Float64Array.from(A.data));
  const residual = new Float64Array(count * rows);
  const jacobian = new Float64Array(count * rows * columns);
  const plain = (): void => {
    plainData.forEach((A, k) => {
      const from = k * rows;
      plainLinearize(
        rows,
        columns,
        A,
        c,
        residual.subarray(from, from + rows),
        jacobian.subarray(from * columns, (from + rows) * columns),
      );
    });
  };
  const loop = sequential(list, { x: c });
  await using one = await createPool({ ranks: 1 });
  await using two = await createPool({ ranks: 2 });
  const onOne = await objectiveFunction(list, { x: c, pool: one });
  const onTwo = await objectiveFunction(list, { x: c, pool: two });
  const runs = 25;
  const keys = ["plain", "loop", "one", "two", "onePlace", "twoPlace"] as const;
  const times = Object.fromEntries(keys.map((key) => [key, [] as number[]])) as Record<
    (typeof keys)[number],
    number[]
  >;
  let liveOne = await onOne.linearize(c);
  let liveTwo = await onTwo.linearize(c);
  for (let run = -5; run < runs; run++) {
    // In turn, so that a machine that drifts is fair to all.
    const measured = {
      plain: await timed(plain),
      loop: await timed(() => loop.sync.linearize(c)),
      one: await timed(() => onOne.linearize(c)),
      two: await timed(() => onTwo.linearize(c)),
      onePlace: await timed(async () => {
        liveOne = await onOne.linearize(c, { out: liveOne });
      }),
      twoPlace: await timed(async () => {
        liveTwo = await onTwo.linearize(c, { out: liveTwo });
      }),
    };
    if (run < 0) continue;
    for (const key of keys) times[key].push(measured[key]);
  }
  const base = median(times.plain);
  console.log(`8 objectives tanh(A·c), A ${rows}×${columns} f64, residual and Jacobian, median of ${runs}`);
  for (const [label, key] of [
    ["plain JavaScript loop", "plain"],
    ["sequential", "loop"],
    ["1 rank, copied out", "one"],
    ["2 ranks, copied out", "two"],
    ["1 rank, in place", "onePlace"],
    ["2 ranks, in place", "twoPlace"],
  ] as const) {
    const value = median(times[key]);
    console.log(
      `  ${label.padEnd(22)} ${value.toFixed(2).padStart(8)} ms  ${(base / value).toFixed(2).padStart(6)} × plain`,
    );
  }
  const busy = onOne
    .report()
    .objectives.reduce((sum, { milliseconds, calls }) => sum + milliseconds / calls, 0);
  console.log(
    `  of which in kernels, 1 rank ${busy.toFixed(2).padStart(5)} ms  ${(base / busy).toFixed(2).padStart(6)} × plain`,
  );
}

/** The discussion's two objectives: 40 coefficients, 15 nodes each. */
async function seedProgram(): Promise<void> {
  const cosines = (grid: NDArray): NDArray =>
    np.stack(Array.from({ length: 40 }, (_, i) => np.cos(grid.mul(i)))).T;
  const make = (name: string, low: number, high: number): Objective => {
    const grid = np.linspace(low, high, 15, { endpoint: false });
    const A = cosines(grid);
    return objective((c) => np.dot(A, c), { name, target: np.square(grid) });
  };
  const list = [make("left", -Math.PI, 0), make("right", 0, Math.PI)];
  const c = new Float64Array(40);
  c[2] = 3;
  const started = performance.now();
  await using pool = await createPool({ ranks: 2 });
  const poolTime = performance.now() - started;
  const fun = await objectiveFunction(list, { x: c, pool });
  const first = await timed(() => fun.linearize(c));
  const later: number[] = [];
  for (let run = 0; run < 400; run++) later.push(await timed(() => fun.linearize(c)));
  const idle: number[] = [];
  for (let run = 0; run < 100; run++) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    idle.push(await timed(() => fun.linearize(c)));
  }
  console.log("the discussion's two objectives on 2 ranks, residual and Jacobian");
  console.log(`  createPool             ${poolTime.toFixed(2).padStart(8)} ms`);
  console.log(`  first call             ${first.toFixed(2).padStart(8)} ms`);
  console.log(`  later calls, hot       ${median(later.slice(100)).toFixed(3).padStart(8)} ms`);
  console.log(`  later calls, 1 ms idle ${median(idle).toFixed(3).padStart(8)} ms`);
}

export async function run(): Promise<void> {
  await memoryBound();
  await seedProgram();
}
