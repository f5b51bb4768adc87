/** The control blocks of a pool's ranks in the heap, and what can be read from them while the ranks work. */
import { at } from "../base/at.js";
import type { Block, Heap } from "../heap/heap.js";
import type { RankCounters, TimelineEntry } from "./timeline.js";
import type { ControlBlock } from "../transports/words.js";
import {
  controlBlock,
  controlBytes,
  controlFloat,
  controlWord,
  holdNothing,
  poolWord,
  timelineLength,
  timelineStride,
} from "../transports/words.js";

export class RankBlocks {
  readonly #blocks: readonly Block[];
  readonly #views: readonly ControlBlock[];
  readonly #pool: Block;
  readonly #poolWords: Int32Array;

  constructor(heap: Heap, ranks: number) {
    this.#pool = heap.allocate(4 * poolWord.count, "the words of a pool");
    this.#poolWords = heap.view("int32", this.#pool.address, poolWord.count);
    this.#blocks = Array.from({ length: ranks }, (_, rank) =>
      heap.allocate(controlBytes, `the words of rank ${rank}`),
    );
    this.#views = this.#blocks.map(({ address }) => controlBlock(heap.memory.buffer, address));
    for (const { floats } of this.#views) holdNothing(floats);
  }

  /** Address of the pool's words. */
  get pool(): number {
    return this.#pool.address;
  }

  get poolWords(): Int32Array {
    return this.#poolWords;
  }

  address(rank: number): number {
    return at(this.#blocks, rank).address;
  }

  view(rank: number): ControlBlock {
    return at(this.#views, rank);
  }

  counters(rank: number): RankCounters {
    const { floats } = this.view(rank);
    return {
      busy: at(floats, controlFloat.busy),
      steps: at(floats, controlFloat.steps),
      iterations: at(floats, controlFloat.iterations),
    };
  }

  /** Entries that a rank has written so far. */
  entries(rank: number): number {
    return Atomics.load(this.view(rank).words, controlWord.entries);
  }

  /** The entries of a rank from number `from` on, as far as they are still there, oldest first. */
  read(rank: number, from: number, see: (slot: number, timeline: Float64Array) => void): void {
    const { timeline } = this.view(rank);
    const count = this.entries(rank);
    for (let entry = Math.max(0, from, count - timelineLength); entry < count; entry++) {
      see((entry % timelineLength) * timelineStride, timeline);
    }
  }

  /** The latest entries of a rank, oldest first. */
  timeline(rank: number, taskName: (task: number) => string | undefined): TimelineEntry[] {
    const entries: TimelineEntry[] = [];
    this.read(rank, 0, (slot, timeline) => {
      entries.push(entryAt(rank, slot, timeline, taskName));
    });
    return entries;
  }

  free(): void {
    for (const block of this.#blocks) block.free();
    this.#pool.free();
  }
}

/** An entry of a rank's ring. */
export function entryAt(
  rank: number,
  slot: number,
  timeline: Float64Array,
  taskName: (task: number) => string | undefined,
): TimelineEntry {
  return {
    rank,
    task: taskName(at(timeline, slot)) ?? "",
    start: at(timeline, slot + 1),
    end: at(timeline, slot + 2),
    bytes: at(timeline, slot + 3),
    iterations: at(timeline, slot + 4),
  };
}
