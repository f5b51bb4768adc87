/**
 * Deals iterations out, chunk by chunk. The shared schedules need no coordinator: whoever is free takes the next chunk
 * from one atomic counter.
 */
import { at } from "../base/at.js";
import type { LoopJob } from "../closure/job.js";
import { loopWord } from "../closure/job.js";

/** The time that a chunk of the `auto` schedule should take, in milliseconds. */
const wantedTime = 0.5;

/** Iterations that are run together. */
export interface Chunk {
  /** At least 1. */
  readonly length: number;
  /** The position of the i-th of them. */
  position(i: number): number;
}

/** The index of a position. */
export function indexAt({ iterations }: Pick<LoopJob, "iterations">, position: number): number {
  return iterations.kind === "range" ? iterations.from + position * iterations.step : position;
}

/** Who deals chunks out. */
export interface Dealer {
  next(): Chunk | undefined | PromiseLike<Chunk | undefined>;
  /** Told how long a chunk took. */
  took(iterations: number, milliseconds: number): void;
}

/** One rank's way through a loop. */
export class Chunks implements Dealer {
  readonly #job: LoopJob;
  readonly #words: Int32Array;
  #ownDone = false;
  /** For static schedules: chunks that this rank has taken. */
  #turn = 0;
  /** For `auto`: the size of the next chunk. */
  #size = 1;

  constructor(job: LoopJob, words: Int32Array) {
    this.#job = job;
    this.#words = words;
  }

  /** The next chunk; `undefined` when all are taken. */
  next(): Chunk | undefined {
    const { own, shared, positions } = this.#job;
    if (!this.#ownDone) {
      this.#ownDone = true;
      if (own.length > 0) return { length: own.length, position: (i) => at(own, i) };
    }
    const range = this.#nextRange(shared);
    if (range === undefined) return undefined;
    const [start, end] = range;
    return {
      length: end - start,
      position: (i) => (positions === undefined ? start + i : at(positions, start + i)),
    };
  }

  /** Tells how long a chunk took. */
  took(iterations: number, milliseconds: number): void {
    if (this.#job.schedule.kind !== "auto") return;
    const wanted = milliseconds > 0 ? (iterations * wantedTime) / milliseconds : Infinity;
    // Growing slowly keeps one quick iteration from making the next chunk far too long.
    this.#size = Math.max(1, Math.floor(Math.min(wanted, this.#size * 4)));
  }

  #nextRange(count: number): readonly [number, number] | undefined {
    const { schedule, member, members } = this.#job;
    switch (schedule.kind) {
      case "static": {
        const turn = this.#turn++;
        if (schedule.chunk === undefined) {
          if (turn > 0) return undefined;
          const start = Math.floor((count * member) / members);
          const end = Math.floor((count * (member + 1)) / members);
          return start < end ? [start, end] : undefined;
        }
        const start = (turn * members + member) * schedule.chunk;
        return start < count ? [start, Math.min(count, start + schedule.chunk)] : undefined;
      }
      case "dynamic":
        return this.#take(count, () => schedule.chunk);
      case "guided":
        return this.#take(count, (rest) => Math.max(schedule.chunk, Math.ceil(rest / (2 * members))));
      case "auto":
        return this.#take(count, (rest) =>
          Math.min(this.#size, Math.max(1, Math.ceil(rest / (2 * members)))),
        );
    }
  }

  #take(count: number, sizeOf: (rest: number) => number): readonly [number, number] | undefined {
    for (;;) {
      const start = Atomics.load(this.#words, loopWord.next);
      if (start >= count) return undefined;
      const end = Math.min(count, start + sizeOf(count - start));
      if (Atomics.compareExchange(this.#words, loopWord.next, start, end) === start) return [start, end];
    }
  }
}
