/**
 * Objectives on one and two ranks: where arithmetic is what takes the time, and where memory is, beside a loop in plain
 * JavaScript and one in C++ with OpenMP. Residual and Jacobian, written in place.
 */
import { createPool, objectiveFunction, sequential } from "heddle";
import type { Linearization, Pool } from "heddle";
import type { Problem } from "./cases.js";
import { computeBound, cosines, memoryBound, memorySize } from "./cases.js";
import type { Contestant } from "./interleaved.js";
import { interleaved, pause, timed } from "./interleaved.js";
import { median } from "./median.js";
import { startOpenMp } from "./openmp.js";
import { plainLoop } from "./plainLoop.js";
import type { Row, Section } from "./rows.js";

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

/** Calls that write in place, blocking or awaited. */
async function inPlace(
  pool: Pool,
  { list, c }: Problem,
): Promise<{ now: () => void; later: () => Promise<void> }> {
  const fun = await objectiveFunction(list, { x: c, pool });
  let live: Linearization = await fun.linearize(c);
  return {
    now: () => {
      live = fun.sync.linearize(c, { out: live });
    },
    later: async () => {
      live = await fun.linearize(c, { out: live });
    },
  };
}

/** Rows of what was measured, in milliseconds. */
function milliseconds(medians: ReadonlyMap<string, number>): Row[] {
  return [...medians].map(([name, value]) => ({ name, value, unit: "ms" }));
}

async function arithmetic(): Promise<Section[]> {
  await using one = await createPool({ ranks: 1 });
  await using two = await createPool({ ranks: 2 });
  const sections: Section[] = [];
  for (const count of [2, 1]) {
    const problem = computeBound(count);
    const onOne = await inPlace(one, problem);
    const onTwo = await inPlace(two, problem);
    const medians = await interleaved(
      [
        { name: "1 rank", call: onOne.now },
        { name: "2 ranks", call: onTwo.now },
      ],
      { rounds: 12, calls: 3, warmUp: 2, idle: 0, rest: 0 },
    );
    const [first = NaN, second = NaN] = medians.values();
    sections.push({
      title: `${count} objective(s) of 40 chained tanh and sin, A 4096×16`,
      rows: [
        ...milliseconds(medians),
        { name: "speed of 2 ranks", value: first / second, unit: "×", wanted: { least: 1.8 } },
      ],
    });
  }
  return sections;
}

async function memory(): Promise<Section> {
  const problem = memoryBound();
  const { list, c } = problem;
  const { count, rows, columns } = memorySize;
  const plainData = problem.matrices.map((A) => Float64Array.from(A.data));
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
  const onOne = await inPlace(one, problem);
  const onTwo = await inPlace(two, problem);
  const copying = await objectiveFunction(list, { x: c, pool: two });
  const twoRanks = "2 ranks, in place";
  const contestants: Contestant[] = [
    { name: "plain JavaScript", call: plain },
    { name: "sequential", call: () => loop.sync.linearize(c) },
    { name: "1 rank, in place", call: onOne.now },
    { name: twoRanks, call: onTwo.now },
    { name: "2 ranks, in place, awaited", call: onTwo.later },
    { name: "2 ranks, copied out", call: () => copying.sync.linearize(c) },
  ];
  const peers = [1, 2].map((threads) => ({
    name: `C++ OpenMP, ${threads} thread(s)`,
    peer: startOpenMp(threads),
  }));
  const times = new Map<string, number[]>();
  const note = (name: string, time: number): void => void times.set(name, [...(times.get(name) ?? []), time]);
  for (let round = -4; round < 20; round++) {
    for (const { name, call } of contestants) {
      const time = await timed(call);
      if (round >= 0) note(name, time);
    }
    for (const { name, peer } of peers) {
      if ("missing" in peer) continue;
      const time = await peer.evaluate();
      if (round >= 0) note(name, time);
    }
  }
  for (const { peer } of peers) if ("close" in peer) await peer.close();
  const medianOf = (name: string): number => median(times.get(name) ?? []);
  const rowsOf = [
    ...contestants.map(({ name }): Row => ({ name, value: medianOf(name), unit: "ms" })),
    ...peers.map(({ name, peer }): Row =>
      "missing" in peer
        ? { name, unit: "ms", missing: peer.missing }
        : { name, value: medianOf(name), unit: "ms" },
    ),
  ];
  const best = Math.min(...peers.flatMap(({ name, peer }) => ("missing" in peer ? [] : [medianOf(name)])));
  return {
    title: `${count} objectives tanh(A·c), A ${rows}×${columns}`,
    base: "plain JavaScript",
    rows: [
      ...rowsOf,
      ...(Number.isFinite(best)
        ? [
            {
              name: "2 ranks, in units of C++ OpenMP",
              value: medianOf(twoRanks) / best,
              unit: "×",
              wanted: { most: 3 },
            } as const,
          ]
        : []),
    ],
  };
}

async function latency(): Promise<Section> {
  const problem = cosines();
  await using pool = await createPool({ ranks: 2 });
  const { now, later } = await inPlace(pool, problem);
  const contestants = [
    { name: "blocking", call: now },
    { name: "awaited", call: later },
  ];
  const pace = { rounds: 10, calls: 40, warmUp: 10, idle: 0, rest: 20 };
  const hot = await interleaved(contestants, pace);
  const idle = await interleaved(contestants, { ...pace, calls: 15, warmUp: 1, idle: 1 });
  await pause(0);
  return {
    title: "the discussion's two objectives on 2 ranks, residual and Jacobian of 30×40",
    rows: [
      ...[...hot].map(([name, value]): Row => ({ name: `${name}, hot`, value: value * 1000, unit: "µs" })),
      ...[...idle].map(([name, value]): Row => ({
        name: `${name}, after 1 ms of idleness`,
        value: value * 1000,
        unit: "µs",
      })),
    ],
  };
}

/** Objectives: arithmetic, memory, latency. */
export async function run(): Promise<Section[]> {
  return [...(await arithmetic()), await memory(), await latency()];
}
