/**
 * Runs the benchmarks, all or those that are named: `npm run bench`, `npm run bench -- objectives memory`. Figures are
 * medians, with ratios to what was measured in the same run and with the bounds that are wanted; they are printed and, with
 * `--json file`, written, and nothing fails because of them. What fails is a peer that is not there, unless
 * `--absent name` says that it may be.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { availableParallelism, cpus, totalmem } from "node:os";
import { parseArgs } from "node:util";
import { version } from "heddle";
import type { Bench, Section } from "./rows.js";
import { formatSection, isMet, missingRows, ratioOf } from "./rows.js";

const benches: Readonly<Record<string, () => Promise<{ readonly run: Bench }>>> = {
  forkjoin: () => import("./forkjoin.js"),
  objectives: () => import("./objectives.js"),
  startup: () => import("./startup.js"),
  memory: () => import("./memory.js"),
  tracing: () => import("./tracing.js"),
  kernels: () => import("./kernels.js"),
};

/** The commit that is measured, where that can be known. */
function commit(): string | undefined {
  try {
    return execFileSync("git", ["rev-parse", "--short", "HEAD"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  } catch {
    return undefined;
  }
}

interface Wish {
  readonly names: readonly string[];
  readonly json: string | undefined;
  readonly absent: readonly string[];
}

/** Reads the command line; a text says what is wrong with it. */
function wishOf(args: readonly string[]): Wish | string {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { json: { type: "string" }, absent: { type: "string", multiple: true } },
    });
    const unknown = positionals.find((name) => !Object.hasOwn(benches, name));
    if (unknown !== undefined) return `"${unknown}" is not one of ${Object.keys(benches).join(", ")}`;
    const names = positionals.length > 0 ? positionals : Object.keys(benches);
    return { names, json: values.json, absent: values.absent ?? [] };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function measure({ names, json, absent }: Wish): Promise<number> {
  const machine = {
    heddle: version,
    commit: commit(),
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    processor: cpus()[0]?.model ?? "unknown",
    processors: availableParallelism(),
    memoryGB: Math.round(totalmem() / 2 ** 30),
  };
  console.log(
    Object.entries(machine)
      .map(([name, value]) => `${name} ${value ?? "unknown"}`)
      .join(", "),
  );
  const results: Record<string, readonly Section[]> = {};
  for (const name of names) {
    console.log(`\n== ${name}`);
    const bench = await benches[name]?.();
    const sections = (await bench?.run()) ?? [];
    results[name] = sections;
    for (const section of sections) console.log(`\n${formatSection(section).join("\n")}`);
  }
  if (json !== undefined) {
    const figures = Object.entries(results).flatMap(([bench, sections]) =>
      sections.flatMap((section) =>
        section.rows.map((row) => ({
          bench,
          section: section.title,
          ...row,
          ratio: ratioOf(row, section),
          met: isMet(row),
        })),
      ),
    );
    writeFileSync(json, `${JSON.stringify({ ...machine, figures }, undefined, 2)}\n`);
  }
  const rows = Object.values(results).flatMap((sections) => sections.flatMap((section) => section.rows));
  const failing = missingRows(rows, absent);
  for (const { name, missing } of failing) console.error(`bench: ${name}: ${missing}`);
  const bounds = rows.map(isMet).filter((met) => met !== undefined);
  if (bounds.length > 0) {
    console.log(`\n${bounds.filter(Boolean).length} of ${bounds.length} wanted bounds are met`);
  }
  return failing.length === 0 ? 0 : 1;
}

const wish = wishOf(process.argv.slice(2));
if (typeof wish === "string") {
  console.error(`bench: ${wish}`);
  process.exitCode = 2;
} else process.exitCode = await measure(wish);
