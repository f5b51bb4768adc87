/** A rank's diary in shared memory: what it worked on and when. Main reads it without asking the rank. */
import type { ControlBlock } from "../transports/words.js";
import { controlFloat, controlWord, timelineLength, timelineStride } from "../transports/words.js";

/** Asking for it takes longer than adding it. */
const { timeOrigin } = performance;

/** Writes entries to a rank's control block. */
export class Timeline {
  readonly #block: ControlBlock;
  #start = 0;

  constructor(block: ControlBlock) {
    this.#block = block;
  }

  /** A task begins. Its number is there for main to read if the rank never comes back. */
  begin(task: number): void {
    Atomics.store(this.#block.words, controlWord.task, task);
    this.#start = performance.now();
  }

  /** The task has ended; `bytes` is how much memory it touched at least. */
  end(task: number, bytes: number): void {
    this.record(task, this.#start, performance.now(), bytes, 0);
    this.leave();
  }

  /** The work that `begin` announced is over; its entries were written by `record`. */
  leave(): void {
    Atomics.store(this.#block.words, controlWord.task, 0);
  }

  /** Writes an entry; times are those of this thread's `performance.now()`. */
  record(task: number, start: number, end: number, bytes: number, iterations: number): void {
    const { words, floats, timeline } = this.#block;
    const count = Atomics.load(words, controlWord.entries);
    const slot = (count % timelineLength) * timelineStride;
    timeline[slot] = task;
    timeline[slot + 1] = timeOrigin + start;
    timeline[slot + 2] = timeOrigin + end;
    timeline[slot + 3] = bytes;
    timeline[slot + 4] = iterations;
    floats[controlFloat.busy] = (floats[controlFloat.busy] ?? 0) + (end - start);
    Atomics.store(words, controlWord.entries, (count + 1) | 0);
  }
}
