/**
 * Runs the benchmarks, all or those that are named: `npm run bench`, `npm run bench -- objectives`. Figures are medians,
 * and ratios to peers in the same run; they are recorded, never gated.
 */
import { availableParallelism, cpus } from "node:os";

const benches: Readonly<Record<string, () => Promise<{ run: () => Promise<void> }>>> = {
  forkjoin: () => import("./forkjoin.js"),
  objectives: () => import("./objectives.js"),
  kernels: () => import("./kernels.js"),
};

const wanted = process.argv.slice(2);
const unknown = wanted.find((name) => !Object.hasOwn(benches, name));
if (unknown !== undefined) {
  console.error(`bench: "${unknown}" is not one of ${Object.keys(benches).join(", ")}`);
  process.exitCode = 2;
} else {
  console.log(
    `node ${process.version}, ${availableParallelism()} processors, ${cpus()[0]?.model ?? "unknown"}`,
  );
  for (const [name, load] of Object.entries(benches)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    console.log(`\n== ${name}`);
    const { run } = await load();
    await run();
  }
}
