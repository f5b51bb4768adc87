/** Runs a user's program in a process of its own, with other defaults for the pools that it makes. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { constants } from "node:os";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { ArgumentError } from "../base/errors.js";
import type { PoolOptions } from "../executor/options.js";
import { resolveOptions } from "../executor/options.js";

/** Defaults that a program's pools are given. */
export interface RunFlags {
  readonly ranks?: number;
  readonly device?: string;
  readonly isolation?: string;
  readonly trace?: string;
}

/** A command line that cannot be carried out. */
export class UsageError extends Error {}

/** How a program ended. */
export interface ProgramEnd {
  readonly program: string;
  /** As a shell counts: 128 and its number for a signal. */
  readonly exitCode: number;
  readonly seconds: number;
}

/** Flags of Node that a program needs to be loaded. */
function loaderFlags(file: string): string[] {
  if (!/\.[cm]?tsx?$/.test(file)) return [];
  // Node's own loader strips types where it can.
  if ((process.features as { typescript?: unknown }).typescript) return [];
  try {
    return ["--import", pathToFileURL(createRequire(pathToFileURL(file)).resolve("tsx")).href];
  } catch (cause) {
    throw new ArgumentError({
      operation: "heddle run",
      argument: "program",
      found: `a TypeScript file, which Node ${process.version} does not read by itself`,
      expected: "JavaScript, a newer Node, or tsx beside the program",
      remedy: "npm install --save-dev tsx",
      cause,
    });
  }
}

/** Runs a program and waits for its end. */
export async function runProgram(
  program: string,
  args: readonly string[],
  flags: RunFlags,
): Promise<ProgramEnd> {
  const file = resolve(program);
  if (!existsSync(file)) {
    throw new ArgumentError({
      operation: "heddle run",
      argument: "program",
      found: `${JSON.stringify(program)}, which does not exist`,
      expected: "a JavaScript or TypeScript file",
    });
  }
  const { ranks, device, isolation, trace } = flags;
  const env = {
    ...process.env,
    ...(ranks === undefined ? {} : { HEDDLE_NUM_RANKS: String(ranks) }),
    ...(device === undefined ? {} : { HEDDLE_DEVICE: device }),
    ...(isolation === undefined ? {} : { HEDDLE_ISOLATION: isolation }),
    ...(trace === undefined ? {} : { HEDDLE_TRACE: resolve(trace) }),
  };
  // Refuses what no pool could be made with, first of what was asked for here.
  try {
    resolveOptions(
      {
        ...(device === undefined ? {} : { device }),
        ...(isolation === undefined ? {} : { isolation }),
      } as PoolOptions,
      {},
    );
  } catch (cause) {
    if (cause instanceof ArgumentError) throw new UsageError(cause.message.replace("createPool: ", "--"));
    throw cause;
  }
  resolveOptions({}, env);
  const start = performance.now();
  const child = spawn(process.execPath, [...loaderFlags(file), file, ...args], { stdio: "inherit", env });
  const pass = (signal: NodeJS.Signals): void => {
    // A terminal interrupts both; this process only waits for how the child takes it.
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.on(signal, pass);
  try {
    return await new Promise<ProgramEnd>((settle, reject) => {
      child.once("error", reject);
      child.once("exit", (code, signal) => {
        const exitCode = signal === null ? (code ?? 1) : 128 + constants.signals[signal];
        settle({ program, exitCode, seconds: (performance.now() - start) / 1000 });
      });
    });
  } finally {
    for (const signal of signals) process.off(signal, pass);
  }
}
