/**
 * What it costs to wake ranks and wait for them: an empty resident step and an empty loop, hot and after a pause, beside
 * the ways that Node and its pools offer.
 */
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { Piscina } from "piscina";
import { createPool, parallelFor } from "heddle";
import type { Plan, Pool } from "heddle";
import { median } from "./median.js";

const runs = 600;

/** A plan whose ranks copy one number: as little as a step can do. */
function smallestPlan(ranks: number): Plan {
  return {
    version: 1,
    ranks,
    programs: {},
    regions: {
      x: { dtype: "float64", shape: [1], role: "input" },
      y: { dtype: "float64", shape: [ranks], role: "output" },
    },
    groups: {},
    lists: Array.from({ length: ranks }, (_, rank) => [
      { kind: "load", buffer: "x", region: "x" },
      { kind: "store", buffer: "x", region: "y", window: { start: [rank], extent: [1] } },
      { kind: "free", buffer: "x" },
    ]),
  };
}

const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Median microseconds of a call: one after the other, and each after a millisecond of idleness. */
async function latency(call: () => Promise<unknown>): Promise<{ hot: number; idle: number }> {
  const once = async (): Promise<number> => {
    const start = performance.now();
    await call();
    return (performance.now() - start) * 1000;
  };
  const hot: number[] = [];
  for (let run = 0; run < runs; run++) hot.push(await once());
  const idle: number[] = [];
  for (let run = 0; run < runs / 4; run++) {
    await pause(1);
    idle.push(await once());
  }
  return { hot: median(hot.slice(runs / 4)), idle: median(idle) };
}

async function stepLatency(pool: Pool, ranks: number): Promise<{ hot: number; idle: number }> {
  const plan = await pool.load(smallestPlan(ranks), { label: "empty step" });
  const x = new Float64Array(1);
  const result = await latency(() => plan.run({ x }, () => undefined));
  await plan.dispose();
  return result;
}

/** A worker that answers each message. */
async function messageLatency(workers: number): Promise<{ hot: number; idle: number }> {
  const source =
    'const { parentPort } = require("node:worker_threads"); parentPort.on("message", (m) => parentPort.postMessage(m));';
  const threads = Array.from({ length: workers }, () => new Worker(source, { eval: true }));
  const ask = (thread: Worker): Promise<unknown> =>
    new Promise((resolve) => {
      thread.once("message", resolve);
      thread.postMessage(0);
    });
  const result = await latency(() => Promise.all(threads.map(ask)));
  await Promise.all(threads.map((thread) => thread.terminate()));
  return result;
}

async function piscinaLatency(workers: number): Promise<{ hot: number; idle: number }> {
  const filename = fileURLToPath(new URL("emptyTask.js", import.meta.url));
  const piscina = new Piscina({ filename, minThreads: workers, maxThreads: workers });
  const result = await latency(() => Promise.all(Array.from({ length: workers }, () => piscina.run(0))));
  await piscina.destroy();
  return result;
}

export async function run(): Promise<void> {
  const row = (label: string, { hot, idle }: { hot: number; idle: number }): void => {
    console.log(`  ${label.padEnd(38)} ${hot.toFixed(1).padStart(8)} ${idle.toFixed(1).padStart(8)}`);
  };
  console.log(`  ${"median of microseconds".padEnd(38)} ${"hot".padStart(8)} ${"1 ms idle".padStart(8)}`);
  for (const ranks of [1, 2]) {
    await using pool = await createPool({ ranks });
    row(`empty step, ${ranks} rank(s)`, await stepLatency(pool, ranks));
    row(
      `parallelFor(${ranks}, empty), ${ranks} rank(s)`,
      await latency(() => parallelFor(ranks, () => 0, { pool })),
    );
    row(`postMessage round trip, ${ranks} worker(s)`, await messageLatency(ranks));
    row(`Piscina run, ${ranks} worker(s)`, await piscinaLatency(ranks));
  }
}
