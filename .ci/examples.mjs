// Runs every program under examples/ the way a reader would, one after the other, and fails if one of them fails; the
// examples are the first thing people copy. `npm run examples`.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, "examples");
const names = existsSync(folder)
  ? readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name)
      .sort()
  : [];
const failures = names.length === 0 ? ["there is no example to run"] : [];

for (const name of names) {
  const program = join(root, "dist/examples", name, "main.js");
  if (!/^\d\d-[a-z0-9-]+$/.test(name) || !existsSync(program)) {
    failures.push(`${name}: an example is a folder NN-name with a main.ts`);
    continue;
  }
  console.log(`\n== ${name}`);
  const start = process.hrtime.bigint();
  const { status, signal } = spawnSync(process.execPath, [program], {
    cwd: root,
    stdio: "inherit",
    timeout: 300_000,
  });
  const seconds = (Number(process.hrtime.bigint() - start) / 1e9).toFixed(1);
  if (status === 0) console.log(`== ${name}: ${seconds} s`);
  else failures.push(`${name}: ended with ${signal ?? `exit code ${status}`} after ${seconds} s`);
}

if (failures.length > 0) {
  console.error(`\nexamples: ${failures.join("; ")}`);
  process.exit(1);
}
console.log(`\nexamples: ${names.length} ran`);
