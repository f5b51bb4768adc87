/** Arrays that never change lie in the heap once, however many plans refer to them. */
import type { Storage } from "../base/dtype.js";
import { dtypeOf } from "../base/dtype.js";
import { ownerOf } from "../base/elements.js";
import { discard } from "../heap/discard.js";
import type { Block, Heap } from "../heap/heap.js";
import { poolWord } from "../transports/words.js";

interface Placed {
  readonly block: Block;
  holders: number;
}

/** Smaller arrays may lie in memory twice, in bytes. */
const worthMoving = 65_536;

/** By heap and by what was placed, or lies there now. Nobody holds what is placed no longer. */
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
  const table = placedIn.get(heap) ?? new WeakMap<Storage, Placed>();
  placedIn.set(heap, table);
  const known = table.get(data);
  const placed = known !== undefined && known.holders > 0 ? known : place(heap, table, data, what);
  const { block } = placed;
  placed.holders++;
  let held = true;
  return {
    address: block.address,
    bytes: block.bytes,
    free: () => {
      if (!held) return;
      held = false;
      if (--placed.holders === 0) block.free();
    },
  };
}

/** Copies an array to the heap. Elements that nobody else has lie only there until the last holder frees them. */
function place(heap: Heap, table: WeakMap<Storage, Placed>, data: Storage, what: string): Placed {
  const block = heap.allocate(data.byteLength, what);
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  heap.view("bool", block.address, data.byteLength).set(bytes);
  const owner = data.byteLength < worthMoving ? undefined : ownerOf(data);
  if (owner === undefined) {
    const placed = { block, holders: 0 };
    table.set(data, placed);
    return placed;
  }
  const view = heap.view(dtypeOf(data), block.address, data.length);
  const abandoned = owner.moveTo(view);
  if (abandoned !== undefined) discard(abandoned);
  // Arrays and functions that are gone need their elements no more.
  const elements = new WeakRef(owner);
  const placed = {
    block: {
      ...block,
      free: () => {
        elements.deref()?.moveFrom(view);
        block.free();
      },
    },
    holders: 0,
  };
  table.set(data, placed);
  table.set(view, placed);
  return placed;
}
