// Ends the tests if a case of the faults campaign hangs, since a calling thread that blocks for ever can do nothing about
// it itself: a thread beside it says which seed it was, and kills the process.
import { Worker } from "node:worker_threads";

const source = `
  const { workerData: { words, bound, command } } = require("node:worker_threads");
  const { writeSync } = require("node:fs");
  for (;;) {
    const beat = Atomics.load(words, 0);
    if (Atomics.wait(words, 0, beat, bound) !== "timed-out") continue;
    writeSync(2, "a case hangs; reproduce it with: " + command + " --seed " + Atomics.load(words, 1) + "\\n");
    process.kill(process.pid, "SIGKILL");
  }`;

/** Watches over seeds. */
export class Watchdog {
  readonly #words = new Int32Array(new SharedArrayBuffer(8));
  readonly #worker: Worker;

  /** @param bound milliseconds that a seed may take */
  constructor(command: string, bound: number) {
    this.#worker = new Worker(source, { eval: true, workerData: { words: this.#words, bound, command } });
    this.#worker.unref();
  }

  /** A new seed begins. */
  begin(seed: number): void {
    Atomics.store(this.#words, 1, seed);
    Atomics.add(this.#words, 0, 1);
    Atomics.notify(this.#words, 0);
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }
}
