/** The C++ program that the memory-bound benchmark is compared with, as something that can be asked for one evaluation. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { compiledPeer } from "./peers.js";

/** The program at work. */
export interface OpenMp {
  /** Evaluates once; answers with the milliseconds that the program measured. */
  evaluate(): Promise<number>;
  close(): Promise<void>;
}

/** Starts it with a number of threads; a text says why it cannot be had. */
export function startOpenMp(threads: number): OpenMp | { readonly missing: string } {
  const compiled = compiledPeer("openmp", ["-O3", "-march=native", "-fopenmp"]);
  if ("missing" in compiled) return compiled;
  const child = spawn(compiled.path, {
    stdio: ["pipe", "pipe", "inherit"],
    // Threads that wait must not keep a processor from the others that are measured.
    env: { ...process.env, OMP_NUM_THREADS: String(threads), OMP_WAIT_POLICY: "passive" },
  });
  const lines = createInterface({ input: child.stdout });
  return {
    evaluate: async () => {
      child.stdin.write("\n");
      const [line] = (await once(lines, "line")) as [string];
      return Number(line.split(" ")[0]);
    },
    close: async () => {
      const ended = once(child, "exit");
      child.stdin.end();
      await ended;
    },
  };
}
