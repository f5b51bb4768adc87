/**
 * Keeps the books of a pool: how long each rank worked on each task, over the pool's life. Ranks write into rings that
 * overwrite themselves; after every call the books are brought up to date from there, so that no report depends on how far
 * back a ring reaches.
 */
import type { RankBlocks } from "./blocks.js";
import { at } from "../base/at.js";
import { timelineLength } from "../transports/words.js";

/** What was worked on a task. */
export interface TaskTotal {
  milliseconds: number;
  count: number;
}

export class Ledger {
  readonly #blocks: RankBlocks;
  /** By rank, the entries that are booked. */
  readonly #booked: number[];
  /** By rank and number of task. */
  readonly #totals: Map<number, TaskTotal>[];
  readonly #none: TaskTotal = { milliseconds: 0, count: 0 };
  /** Told of each entry that is booked, as it lies in the rank's ring. */
  onEntry: ((rank: number, timeline: Float64Array, slot: number) => void) | undefined;
  /** Entries that were overwritten before they were booked. */
  dropped = 0;

  constructor(blocks: RankBlocks, ranks: number) {
    this.#blocks = blocks;
    this.#booked = new Array<number>(ranks).fill(0);
    this.#totals = Array.from({ length: ranks }, () => new Map<number, TaskTotal>());
  }

  /** Brings the books up to date. */
  book(): void {
    for (let rank = 0; rank < this.#booked.length; rank++) {
      const from = at(this.#booked, rank);
      const count = this.#blocks.entries(rank);
      if (count === from) continue;
      this.dropped += Math.max(0, count - timelineLength - from);
      const totals = at(this.#totals, rank);
      this.#blocks.read(rank, from, (slot, timeline) => {
        const task = at(timeline, slot);
        let total = totals.get(task);
        if (total === undefined) {
          total = { milliseconds: 0, count: 0 };
          totals.set(task, total);
        }
        total.milliseconds += at(timeline, slot + 2) - at(timeline, slot + 1);
        total.count++;
        this.onEntry?.(rank, timeline, slot);
      });
      this.#booked[rank] = count;
    }
  }

  /** What a rank has worked on a task, by the task's number. */
  total(rank: number, task: number): Readonly<TaskTotal> {
    this.book();
    return at(this.#totals, rank).get(task) ?? this.#none;
  }
}
