// Refuses a release that is not ready: a tree with changes, a version that nobody wrote about, or campaigns that have not
// been run on these very sources. Says all that is missing at once; `npm run release:check`.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { complaints as campaignComplaints, root } from "./campaigns.mjs";

const read = (path) => readFileSync(join(root, path), "utf8");
const { version } = JSON.parse(read("package.json"));
const missing = [];

const changes = execFileSync("git", ["status", "--porcelain"], { cwd: root, encoding: "utf8" }).trim();
if (changes !== "") missing.push(`the tree has changes: ${changes.split(/\s*\n\s*/).join(", ")}`);

const headings = [...read("CHANGELOG.md").matchAll(/^## +(.*)$/gm)].map(([, heading]) => heading.trim());
// A heading may carry its date.
if (!headings.some((heading) => heading.split(/\s/)[0] === version))
  missing.push(`CHANGELOG.md has no section "## ${version}"`);
if (JSON.parse(read("package-lock.json")).version !== version)
  missing.push(`package-lock.json is of another version than package.json, ${version}`);
if (!read("src/base/version.ts").includes(`"${version}"`))
  missing.push(`src/base/version.ts does not say "${version}"`);

missing.push(...campaignComplaints());

for (const one of missing) console.error(`release: ${one}`);
if (missing.length === 0) console.log(`release: ${version} is ready`);
process.exit(missing.length === 0 ? 0 : 1);
