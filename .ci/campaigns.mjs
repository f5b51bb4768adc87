// What is known of the long campaigns: their table (campaigns.json), the record of the last full run in docs/campaigns/,
// and whether the sources that the record speaks of are still the ones in the tree.
//
//   node .ci/campaigns.mjs    warns of records that are out of date; never fails
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The campaigns by name. */
export const campaigns = JSON.parse(readFileSync(join(root, ".ci/campaigns.json"), "utf8"));

/** Where the record of a campaign lies. */
export function recordPath(name) {
  return join(root, "docs", "campaigns", `${name}.json`);
}

/** A hash of the names and contents of all sources in a folder. */
export function hashOf(folder) {
  const hash = createHash("sha256");
  const files = readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .sort();
  for (const file of files)
    hash
      .update(`${file}\n`)
      .update(readFileSync(join(root, file)))
      .update("\0");
  return hash.digest("hex").slice(0, 16);
}

/** The hashes of all that a campaign covers, by folder. */
export function hashesOf(name) {
  return Object.fromEntries(campaigns[name].covers.map((folder) => [folder, hashOf(folder)]));
}

/** What is wrong with the records, one sentence each. */
export function complaints() {
  return Object.entries(campaigns).flatMap(([name, { seeds }]) => {
    const remedy = `run: npm run campaign -- ${name}`;
    if (!existsSync(recordPath(name))) return [`campaign ${name} has no record; ${remedy}`];
    const record = JSON.parse(readFileSync(recordPath(name), "utf8"));
    const now = hashesOf(name);
    const changed = [...new Set([...Object.keys(now), ...Object.keys(record.covers)])].filter(
      (folder) => now[folder] !== record.covers[folder],
    );
    return [
      ...(changed.length === 0
        ? []
        : [`campaign ${name} was run before ${changed.join(", ")} changed; ${remedy}`]),
      ...(record.seeds === seeds
        ? []
        : [`campaign ${name} was recorded with ${record.seeds} of ${seeds} seeds; ${remedy}`]),
      ...(record.failures.length === 0
        ? []
        : [`campaign ${name} has ${record.failures.length} failing seeds`]),
    ];
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const complaint of complaints()) console.log(`warning: ${complaint}`);
}
