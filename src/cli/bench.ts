/** A short measurement of what calls and kernels cost on the machine at hand, with what is installed. */
import { availableParallelism } from "node:os";
import { np } from "../arrays/index.js";
import { formatTable } from "../base/table.js";
import { createPool } from "../executor/pool.js";
import { parallelFor } from "../executor/parallel-for.js";
import { objective } from "../objectives/objective.js";
import { objectiveFunction } from "../objectives/objectiveFunction.js";

/** One figure. */
export interface Measure {
  readonly what: string;
  readonly ranks: number;
  readonly value: number;
  readonly unit: "µs" | "ms" | "GFLOP/s";
}

/** The figures of a machine. */
export interface Measures {
  readonly node: string;
  readonly processors: number;
  readonly measures: readonly Measure[];
}

/** Calls that are not counted, and calls that are. */
const warmUp = 8;
const counted = 40;

/** The median duration of a call, in milliseconds. */
async function median(call: () => unknown): Promise<number> {
  const times: number[] = [];
  for (let round = -warmUp; round < counted; round++) {
    const start = performance.now();
    await call();
    if (round >= 0) times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  return times[Math.floor(times.length / 2)] ?? NaN;
}

/** A matrix with entries in no special order, [rows, columns]. */
function matrix(rows: number, columns: number): ReturnType<typeof np.array> {
  const data = Float64Array.from({ length: rows * columns }, (_, i) => Math.sin(i * 0.37));
  return np.array(data).reshape(rows, columns);
}

/** Measures pools of one rank up to `most` (all processors by default), doubling. */
export async function measure(most = availableParallelism()): Promise<Measures> {
  const measures: Measure[] = [];
  const note = (what: string, ranks: number, value: number, unit: Measure["unit"]): void => {
    measures.push({ what, ranks, value, unit });
  };
  const size = 512;
  const [a, b] = [matrix(size, size), matrix(size, size)];
  const product = await median(() => np.matmul(a, b).data);
  note(`np.matmul, ${size}², float64, calling thread`, 0, (2 * size ** 3) / product / 1e6, "GFLOP/s");
  const A = matrix(4096, 16);
  const list = Array.from({ length: 8 }, (_, k) =>
    objective(
      (c) => {
        let r = np.dot(A, c).add(k);
        for (let i = 0; i < 8; i++) r = np.sin(np.tanh(r));
        return r;
      },
      { name: `chain ${k}` },
    ),
  );
  const c = Float64Array.from({ length: 16 }, (_, i) => Math.cos(i));
  const counts = new Set<number>([most]);
  for (let ranks = 1; ranks < most; ranks *= 2) counts.add(ranks);
  for (const ranks of [...counts].sort((x, y) => x - y)) {
    const started = performance.now();
    await using pool = await createPool({ ranks, inline: false });
    note("createPool", ranks, performance.now() - started, "ms");
    note(
      "parallelFor of nothing",
      ranks,
      1000 * (await median(() => parallelFor(ranks, (i) => i, { pool }))),
      "µs",
    );
    const small = await objectiveFunction([objective((x) => x)], { x: [0], pool });
    note("smallest residual, awaited", ranks, 1000 * (await median(() => small.residual([1]))), "µs");
    note("smallest residual, blocking", ranks, 1000 * (await median(() => small.sync.residual([1]))), "µs");
    const fun = await objectiveFunction(list, { x: c, pool });
    let live = await fun.linearize(c);
    const chained = await median(async () => (live = await fun.linearize(c, { out: live })));
    note("8 objectives of 16 chained sin and tanh, residual and Jacobian", ranks, chained, "ms");
  }
  return { node: process.version, processors: availableParallelism(), measures };
}

/** The figures as text. */
export function formatMeasures({ node, processors, measures }: Measures): string {
  const table = formatTable(
    [`median of ${counted} calls`, "ranks", "value", "unit"],
    measures.map(({ what, ranks, value, unit }) => [
      what,
      ranks === 0 ? "-" : String(ranks),
      value.toFixed(2),
      unit,
    ]),
  );
  return `Node ${node}, ${processors} processors\n\n${table}`;
}
