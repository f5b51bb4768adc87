/**
 * The floor of what waking threads and waiting for them costs: an epoch in shared memory that threads watch for a moment
 * and then sleep on, and a count of those that are done. No messages, no work, no failures.
 */
import { Worker } from "node:worker_threads";

const source = `
  const { workerData: { words, spin } } = require("node:worker_threads");
  for (let seen = 0; ; ) {
    const end = performance.now() + spin;
    while (Atomics.load(words, 0) === seen && performance.now() < end);
    Atomics.wait(words, 0, seen);
    seen = Atomics.load(words, 0);
    Atomics.add(words, 1, 1);
    Atomics.notify(words, 1);
  }`;

/**
 * How long everybody watches before they sleep, in milliseconds: as long as ranks do. Where the system puts both threads on
 * one processor, as it may on a busy machine, a step takes twice that; on two processors it takes about a microsecond.
 */
const spin = 0.1;

/** Threads at a barrier. */
export class Barrier {
  readonly #words = new Int32Array(new SharedArrayBuffer(8));
  readonly #workers: readonly Worker[];

  constructor(workers: number) {
    const workerData = { words: this.#words, spin };
    this.#workers = Array.from({ length: workers }, () => new Worker(source, { eval: true, workerData }));
  }

  /** Opens it and waits for all. */
  step(): void {
    const words = this.#words;
    const all = this.#workers.length;
    Atomics.store(words, 1, 0);
    Atomics.add(words, 0, 1);
    Atomics.notify(words, 0);
    const end = performance.now() + spin;
    while (Atomics.load(words, 1) < all && performance.now() < end);
    for (let done = Atomics.load(words, 1); done < all; done = Atomics.load(words, 1)) {
      Atomics.wait(words, 1, done);
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }
}
