// Runs campaigns in full: many seeds of tests of which `npm test` runs a slice. Each writes what it showed, and of which
// sources, to docs/campaigns/<name>.json, which is kept with the code.
//
//   npm run campaign [-- name] [--seed 17[,18 ...]]    with seeds, only those, and no record
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { campaigns, hashesOf, recordPath, root } from "./campaigns.mjs";

function refuse(found, expected) {
  console.error(`campaign: found ${found}, expected ${expected}`);
  process.exit(2);
}

const given = process.argv.slice(2);
const place = given.indexOf("--seed");
const seeds = place < 0 ? undefined : given.splice(place, 2)[1];
if (place >= 0 && !/^\d+(,\d+)*$/.test(seeds ?? ""))
  refuse(`--seed ${seeds ?? ""}`, "--seed with a number, or several with commas");
const known = Object.keys(campaigns);
const names = given.length > 0 ? given : known;
const unknown = names.find((name) => !known.includes(name));
if (unknown !== undefined) refuse(`"${unknown}"`, `one of ${known.join(", ")}`);

const git = (...args) => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();

/** Runs one campaign; answers whether all went well. */
function run(name) {
  const { test, covers } = campaigns[name];
  const folder = join(root, ".cache", "campaigns");
  mkdirSync(folder, { recursive: true });
  const result = join(folder, `${name}.json`);
  rmSync(result, { force: true });
  const before = hashesOf(name);
  const start = Date.now();
  const { status } = spawnSync(
    process.execPath,
    [join(root, "node_modules", "vitest", "vitest.mjs"), "run", test],
    {
      cwd: root,
      stdio: "inherit",
      env: { ...process.env, HEDDLE_CAMPAIGN_SEEDS: seeds ?? "all", HEDDLE_CAMPAIGN_RESULT: result },
    },
  );
  if (seeds !== undefined) return status === 0;
  if (!existsSync(result)) {
    console.error(`campaign ${name}: ended without a result, so the record stays as it was`);
    return false;
  }
  if (JSON.stringify(before) !== JSON.stringify(hashesOf(name))) {
    console.error(`campaign ${name}: its sources changed while it ran, so the record stays as it was`);
    return false;
  }
  const record = {
    campaign: name,
    commit: git("rev-parse", "HEAD"),
    // The hashes say which sources ran; the commit is where to look for them.
    changed: git("status", "--porcelain", "--", ...covers) !== "",
    node: process.version,
    machine: `${process.platform} ${process.arch}, ${availableParallelism()} processors`,
    minutes: Math.round((Date.now() - start) / 6000) / 10,
    ...JSON.parse(readFileSync(result, "utf8")),
    covers: before,
  };
  mkdirSync(dirname(recordPath(name)), { recursive: true });
  writeFileSync(recordPath(name), `${JSON.stringify(record, undefined, 2)}\n`);
  console.log(
    `campaign ${name}: ${record.seeds} seeds, ${record.failures.length} failed, ${record.minutes} min`,
  );
  return status === 0;
}

process.exit(names.map(run).every(Boolean) ? 0 : 1);
