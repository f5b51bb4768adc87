/** Arrays that never change lie in the heap once, however many plans refer to them. */
import type { Storage } from "../base/dtype.js";
import type { Block, Heap } from "../heap/heap.js";
import { poolWord } from "../transports/words.js";

interface Placed {
  readonly block: Block;
  holders: number;
}

const placedIn = new WeakMap<Heap, WeakMap<Storage, Placed>>();

const watchers = new WeakMap<Heap, Set<Int32Array>>();

/** Has a pool's words say when constants of the heap are overwritten. Answers how to call that off. */
export function watchConstants(heap: Heap, poolWords: Int32Array): () => void {
  const words = watchers.get(heap) ?? new Set();
  watchers.set(heap, words);
  words.add(poolWords);
  return () => words.delete(poolWords);
}

/** Says that a constant was overwritten. All pools of the heap may hold it. */
export function constantsChanged(heap: Heap): void {
  for (const words of watchers.get(heap) ?? []) Atomics.add(words, poolWord.constants, 1);
}

/** Puts the array into the heap, or finds it there. Each holder frees its block. */
export function placeConstant(heap: Heap, data: Storage, what: string): Block {
  let table = placedIn.get(heap);
  if (table === undefined) {
    table = new WeakMap();
    placedIn.set(heap, table);
  }
  let placed = table.get(data);
  if (placed === undefined) {
    const block = heap.allocate(data.byteLength, what);
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    heap.view("bool", block.address, data.byteLength).set(bytes);
    placed = { block, holders: 0 };
    table.set(data, placed);
  }
  const { block } = placed;
  const entry = placed;
  const owners = table;
  entry.holders++;
  let held = true;
  return {
    address: block.address,
    bytes: block.bytes,
    free: () => {
      if (!held) return;
      held = false;
      if (--entry.holders > 0) return;
      owners.delete(data);
      block.free();
    },
  };
}
