/** What a trace costs: the same function on a pool that keeps one and on a pool that does not, in turn. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPool, objectiveFunction } from "heddle";
import type { Linearization, Pool } from "heddle";
import type { Problem } from "./cases.js";
import { computeBound, cosines, smallSteps } from "./cases.js";
import { median } from "./median.js";
import type { Row, Section } from "./rows.js";

/** Pairs of runs that are compared. */
const pairs = 60;

/** Makes a run of a number of blocking calls in place; it answers its median call, in milliseconds. */
async function runOn(pool: Pool, { list, c }: Problem, calls: number): Promise<() => number> {
  const fun = await objectiveFunction(list, { x: c, pool });
  let live: Linearization = await fun.linearize(c);
  return () => {
    const times: number[] = [];
    for (let call = 0; call < calls; call++) {
      const start = performance.now();
      live = fun.sync.linearize(c, { out: live });
      times.push(performance.now() - start);
    }
    return median(times);
  };
}

async function ratio(name: string, problem: Problem, calls: number, path: string): Promise<Row> {
  await using plain = await createPool({ ranks: 2 });
  await using traced = await createPool({ ranks: 2, trace: path });
  const without = await runOn(plain, problem, calls);
  const withTrace = await runOn(traced, problem, calls);
  without();
  withTrace();
  const ratios: number[] = [];
  for (let pair = 0; pair < pairs; pair++) {
    // Who goes first changes, and the ratio is of neighbours: a machine that drifts is fair to both.
    if (pair % 2 === 0) {
      const base = without();
      ratios.push(withTrace() / base);
    } else {
      const own = withTrace();
      ratios.push(own / without());
    }
  }
  return { name, value: median(ratios), unit: "×", wanted: { most: 1.03 } };
}

/** Steps of some microseconds, and of some milliseconds. */
export async function run(): Promise<Section[]> {
  const folder = mkdtempSync(join(tmpdir(), "heddle-trace-"));
  try {
    const path = join(folder, "trace.json");
    return [
      {
        title: "time with a trace, in units of the time without, 2 ranks",
        rows: [
          await ratio("the discussion's two objectives", cosines(), 200, path),
          await ratio("two objectives tanh(A·c), A 128×64", smallSteps(), 100, path),
          await ratio("two objectives of 40 chained tanh and sin", computeBound(2), 5, path),
        ],
      },
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
