/**
 * What it costs to wake ranks and wait for them: an empty resident step and an empty loop, by the door that blocks and the
 * one that is awaited, hot and after a pause, beside the ways that Node and its pools offer.
 */
import { createPool, parallelFor } from "heddle";
import type { Plan } from "heddle";
import type { Contestant, Pace } from "./interleaved.js";
import { interleaved } from "./interleaved.js";
import { rivals } from "./rivals.js";
import type { Row, Section } from "./rows.js";

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

const names = {
  blocking: "step, blocking",
  awaited: "step, awaited",
  inline: "step, blocking, left to the caller",
  loopBlocking: "parallelFor, blocking",
  loopAwaited: "parallelFor, awaited",
} as const;

/** Microseconds that are wanted on two ranks. */
const wanted: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  hot: { [names.blocking]: 20, [names.awaited]: 100 },
  "after 1 ms of idleness": { [names.blocking]: 150 },
};

const paces: Readonly<Record<string, Pace>> = {
  hot: { rounds: 15, calls: 60, warmUp: 20, idle: 0, rest: 30 },
  "after 1 ms of idleness": { rounds: 10, calls: 15, warmUp: 1, idle: 1, rest: 30 },
};

async function onRanks(ranks: number): Promise<Section[]> {
  // Ranks carry out every step of the first pool; the second is as users have it.
  await using pool = await createPool({ ranks, inline: false });
  await using free = await createPool({ ranks });
  const plan = await pool.load(smallestPlan(ranks), { label: "empty step" });
  const small = await free.load(smallestPlan(ranks), { label: "empty step" });
  const inputs = { x: new Float64Array(1) };
  const nothing = (): void => undefined;
  const others = rivals(ranks);
  const contestants: Contestant[] = [
    { name: names.blocking, call: () => plan.sync.run(inputs, nothing) },
    { name: names.awaited, call: () => plan.run(inputs, nothing) },
    { name: names.inline, call: () => small.sync.run(inputs, nothing) },
    { name: names.loopBlocking, call: () => parallelFor.sync(ranks, () => 0, { pool }) },
    { name: names.loopAwaited, call: () => parallelFor(ranks, () => 0, { pool }) },
    ...others.filter((other) => "call" in other),
  ];
  const sections: Section[] = [];
  for (const [when, pace] of Object.entries(paces)) {
    const medians = await interleaved(contestants, pace);
    sections.push({
      title: `fork and join, ${ranks} rank(s), ${when}`,
      base: names.blocking,
      rows: [...contestants, ...others.filter((other) => "missing" in other)].map((one): Row => {
        const value = medians.get(one.name);
        const most = ranks === 2 ? wanted[when]?.[one.name] : undefined;
        return {
          name: one.name,
          unit: "µs",
          ...(value === undefined ? {} : { value: value * 1000 }),
          ...(most === undefined ? {} : { wanted: { most } }),
          ...("missing" in one ? { missing: one.missing } : {}),
        };
      }),
    });
  }
  for (const other of others) if ("close" in other) await other.close();
  return sections;
}

/** Fork and join on one and two ranks. */
export async function run(): Promise<Section[]> {
  return [...(await onRanks(1)), ...(await onRanks(2))];
}
