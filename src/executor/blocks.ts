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
  poolWord,
  timelineLength,
  timelineStride,
} from "../transports/words.js";

export class RankBlocks {
  readonly #blocks: readonly Block[];
  readonly #views: readonly ControlBlock[];
  readonly #pool: Block;

  constructor(heap: Heap, ranks: number) {
    this.#pool = heap.allocate(4 * poolWord.count, "the words of a pool");
    this.#blocks = Array.from({ length: ranks }, (_, rank) =>
      heap.allocate(controlBytes, `the words of rank ${rank}`),
    );
    this.#views = this.#blocks.map(({ address }) => controlBlock(heap.memory.buffer, address));
  }

  /** Address of the pool's words. */
  get pool(): number {
    return this.#pool.address;
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

  /** The latest entries of a rank, oldest first. */
  timeline(rank: number, taskName: (task: number) => string | undefined): TimelineEntry[] {
    const { words, timeline } = this.view(rank);
    const count = Atomics.load(words, controlWord.entries);
    const entries: TimelineEntry[] = [];
    for (let entry = Math.max(0, count - timelineLength); entry < count; entry++) {
      const slot = (entry % timelineLength) * timelineStride;
      entries.push({
        rank,
        task: taskName(at(timeline, slot)) ?? "",
        start: at(timeline, slot + 1),
        end: at(timeline, slot + 2),
        bytes: at(timeline, slot + 3),
      });
    }
    return entries;
  }

  free(): void {
    for (const block of this.#blocks) block.free();
    this.#pool.free();
  }
}
