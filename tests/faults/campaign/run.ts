// Runs the case of one seed of the faults campaign, from the opened pool to the empty heap, and adds up how calls ended.
import type { TransportName } from "./draw.js";
import { faultCaseOf } from "./draw.js";
import { carryOut } from "./rounds.js";
import { pause } from "./settle.js";
import type { Expected } from "./world.js";
import { World } from "./world.js";

/** How often each fault ended in what. */
export type Tally = Record<string, Record<string, number>>;

/** What the case of one seed showed. */
export interface SeedReport {
  readonly seed: number;
  readonly transport: TransportName;
  readonly rounds: number;
  readonly tally: Tally;
  readonly complaints: readonly string[];
}

/** What keeps the process busy, leaving out what comes and goes by itself. */
function resources(): string[] {
  return process.getActiveResourcesInfo().filter((name) => name !== "Immediate" && name !== "Timeout");
}

/** Adds to a tally. */
export function count(tally: Tally, label: string, outcome: string, times = 1): void {
  const row = (tally[label] ??= {});
  row[outcome] = (row[outcome] ?? 0) + times;
}

/** Runs the case of a seed. */
export async function runSeed(seed: number, expected: Expected): Promise<SeedReport> {
  const one = faultCaseOf(seed);
  const complaints: string[] = [];
  const tally: Tally = {};
  const before = resources();
  let world = await World.open(one, expected);
  for (const [number, round] of one.rounds.entries()) {
    const label = round.work === "crowd" ? "crowd" : `${round.work}, ${round.door}: ${round.fault}`;
    const found: string[] = [];
    try {
      const end = await carryOut(world, round);
      count(tally, label, end.outcome);
      found.push(...end.complaints, ...(end.closed ? await world.close() : await world.complaints()));
      if (end.closed) world = await World.open(one, expected);
    } catch (error) {
      // What did not settle, or was thrown where nothing should be.
      found.push(String(error));
    }
    const where = `round ${number + 1} of ${one.rounds.length} (${label})`;
    complaints.push(...found.map((text) => `${where}: ${text}`));
    // What follows would only repeat it.
    if (complaints.length > 0) break;
  }
  try {
    complaints.push(...(await world.close()));
  } catch (error) {
    complaints.push(String(error));
  }
  await pause(0);
  const left = resources();
  for (const name of before) {
    const place = left.indexOf(name);
    if (place >= 0) left.splice(place, 1);
  }
  if (left.length > 0) complaints.push(`after the pool was closed there was still ${left.join(", ")}`);
  return { seed, transport: one.transport, rounds: one.rounds.length, tally, complaints };
}
