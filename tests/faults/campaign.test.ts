// The faults campaign: seeded failures under every kind of call, on every transport. `npm test` runs a fixed slice of the
// seeds, `npm run campaign -- faults` all of them, and `npm run campaign -- faults --seed 17` one that failed.
import { readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { SeedReport, Tally } from "./campaign/run.js";
import { count, runSeed } from "./campaign/run.js";
import { Watchdog } from "./campaign/watchdog.js";
import { Expected } from "./campaign/world.js";

const { faults: campaign } = JSON.parse(
  readFileSync(new URL("../../.ci/campaigns.json", import.meta.url), "utf8"),
) as Record<"faults", { readonly seeds: number; readonly slice: number }>;
const command = "npm run campaign -- faults";

/** All seeds, one of them, or the slice. */
function seedsToRun(): number[] {
  const asked = process.env["HEDDLE_CAMPAIGN_SEEDS"];
  const all = Array.from({ length: campaign.seeds }, (_, seed) => seed);
  if (asked === "all") return all;
  if (asked !== undefined && asked !== "") return asked.split(",").map(Number);
  return all.filter((seed) => seed % campaign.slice === 0);
}

it("settles every call with its bits or the one right error, and heals", { timeout: 3_600_000 }, async () => {
  const seeds = seedsToRun();
  const expected = new Expected();
  const watchdog = new Watchdog(command, 240_000);
  const reports: SeedReport[] = [];
  for (const seed of seeds) {
    watchdog.begin(seed);
    const report = await runSeed(seed, expected);
    reports.push(report);
    if (reports.length % 50 === 0) console.log(`${reports.length} of ${seeds.length} seeds`);
    if (report.complaints.length === 0) continue;
    console.error(`${command} --seed ${seed}   ${report.transport}\n  ${report.complaints.join("\n  ")}`);
  }
  await watchdog.end();
  const outcomes: Tally = {};
  const byTransport: Record<string, number> = {};
  for (const { tally, transport, rounds } of reports) {
    byTransport[transport] = (byTransport[transport] ?? 0) + rounds;
    for (const [label, row] of Object.entries(tally)) {
      for (const [outcome, times] of Object.entries(row)) count(outcomes, label, outcome, times);
    }
  }
  const failures = reports
    .filter(({ complaints }) => complaints.length > 0)
    .map(({ seed, complaints }) => ({ seed, complaints }));
  const path = process.env["HEDDLE_CAMPAIGN_RESULT"];
  if (path !== undefined && path !== "") {
    const rounds = reports.reduce((sum, report) => sum + report.rounds, 0);
    writeFileSync(path, JSON.stringify({ seeds: seeds.length, rounds, byTransport, outcomes, failures }));
  }
  expect(failures).toEqual([]);
  if (seeds.length < 5) return;
  // A generator that stopped breaking things would pass too.
  const failed = Object.values(outcomes).flatMap((row) =>
    Object.entries(row).filter(([outcome]) => outcome !== "right"),
  );
  expect(failed.reduce((sum, [, times]) => sum + times, 0)).toBeGreaterThan(seeds.length / 2);
});
