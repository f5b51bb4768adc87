/**
 * The shared heap: one WebAssembly memory that all ranks of a process work in, so that a rank reads coefficients and
 * writes its rows of the Jacobian in place. Only the thread that made it allocates; ranks are given addresses. A shared
 * memory never moves when it grows, but a view made before does not see the new part, so views are made when needed.
 */
import type { DType, StorageOf } from "../base/dtype.js";
import { viewOf } from "../base/dtype.js";
import { MemoryError } from "../base/errors.js";
import { Allocator, granule, roundUp } from "./allocator.js";

const pageBytes = 65_536;
/** What 32-bit addresses reach. */
const mostPages = 65_536;

/** How a heap is made. */
export interface HeapOptions {
  /** No more than this many bytes are ever in use; 4 GiB by default. */
  readonly limit?: number;
  /** A heap to take from: what is allocated here lies in its memory and counts there too. */
  readonly within?: Heap;
}

/** A range of the heap with an owner. */
export interface Block {
  readonly address: number;
  readonly bytes: number;
  /** Gives the range back; later calls do nothing. */
  free(): void;
}

/** What a heap holds. */
export interface HeapReport {
  readonly usedBytes: number;
  readonly blocks: number;
  /** Bytes of the memory, in use or not. */
  readonly capacity: number;
  readonly limit: number;
}

/** Reserves addresses for as much as the machine lets us, since a memory never outgrows its maximum. */
function reserve(limit: number): WebAssembly.Memory {
  let maximum = Math.max(1, Math.min(mostPages, Math.ceil(limit / pageBytes)));
  for (;;) {
    try {
      return new WebAssembly.Memory({ initial: 1, maximum, shared: true });
    } catch (cause) {
      if (maximum <= 16) {
        throw new MemoryError({
          operation: "createHeap",
          found: "no address space for a shared memory",
          remedy: "raise the process's limit of virtual memory",
          cause,
        });
      }
      maximum = Math.floor(maximum / 2);
    }
  }
}

/** A view of a memory that is certain to reach its end, also if another thread has made it grow. */
export function freshBuffer(memory: WebAssembly.Memory, end: number): ArrayBufferLike {
  if (memory.buffer.byteLength < end) memory.grow(0);
  return memory.buffer;
}

/** An allocator over a shared memory. */
export class Heap {
  readonly memory: WebAssembly.Memory;
  readonly limit: number;
  readonly #within: Heap | undefined;
  readonly #allocator: Allocator;
  /** Bytes and ranges that were taken from another heap. */
  #taken = 0;
  #ranges = 0;

  constructor(options: HeapOptions = {}) {
    const most = options.within?.limit ?? mostPages * pageBytes;
    this.limit = Math.min(options.limit ?? most, most);
    this.#within = options.within;
    this.memory = options.within?.memory ?? reserve(this.limit);
    // Address 0 stays unused: it stands for "none" in shared words.
    this.#allocator = new Allocator(granule, options.within === undefined ? pageBytes : granule);
  }

  get #usedBytes(): number {
    return this.#within === undefined ? this.#allocator.usedBytes : this.#taken;
  }

  /** Bytes that can still be allocated, if they fit between what is there. */
  get freeBytes(): number {
    return Math.min(this.limit - this.#usedBytes, this.#within?.freeBytes ?? Infinity);
  }

  /** A new range of zeros. Throws `MemoryError` if the heap would outgrow its limit; `what` names the use in it. */
  allocate(bytes: number, what: string): Block {
    const size = roundUp(bytes);
    const refuse = (cause?: unknown): never => {
      throw new MemoryError({
        operation: "shared heap",
        argument: what,
        found: `${bytes} bytes, with ${this.#usedBytes} in use`,
        expected: `at most ${this.limit} in all`,
        remedy: "dispose of what is no longer needed, or use smaller chunks",
        ...(cause === undefined ? {} : { cause }),
      });
    };
    if (!Number.isSafeInteger(bytes) || bytes < 0 || this.#usedBytes + size > this.limit) refuse();
    if (this.#within !== undefined) return this.#take(this.#within, bytes, size, what);
    let address = this.#allocator.take(size);
    if (address === undefined) {
      this.#grow(this.#allocator.shortfall(size), refuse);
      address = this.#allocator.take(size) ?? refuse();
    }
    new Uint8Array(this.memory.buffer, address, size).fill(0);
    let live = true;
    return {
      address,
      bytes,
      free: () => {
        if (live) this.#allocator.give(address);
        live = false;
      },
    };
  }

  #take(within: Heap, bytes: number, size: number, what: string): Block {
    const block = within.allocate(bytes, what);
    this.#taken += size;
    this.#ranges++;
    let live = true;
    return {
      ...block,
      free: () => {
        if (!live) return;
        live = false;
        this.#taken -= size;
        this.#ranges--;
        block.free();
      },
    };
  }

  /** A typed view of `size` elements at an address. */
  view<D extends DType>(dtype: D, address: number, size: number): StorageOf[D] {
    return viewOf(dtype, this.memory.buffer, address, size);
  }

  report(): HeapReport {
    return {
      usedBytes: this.#usedBytes,
      blocks: this.#within === undefined ? this.#allocator.usedRanges : this.#ranges,
      capacity: this.memory.buffer.byteLength,
      limit: this.limit,
    };
  }

  #grow(bytes: number, refuse: (cause?: unknown) => never): void {
    const needed = Math.ceil(bytes / pageBytes);
    const present = this.memory.buffer.byteLength / pageBytes;
    // Doubling keeps the number of growths small; near the limit, exactly what is needed.
    const generous = Math.max(needed, Math.min(present, 4096));
    for (const pages of new Set([generous, needed])) {
      if (present + pages > mostPages) continue;
      try {
        this.memory.grow(pages);
        this.#allocator.extend(this.memory.buffer.byteLength);
        return;
      } catch (cause) {
        if (pages === needed) refuse(cause);
      }
    }
    refuse();
  }
}

let shared: Heap | undefined;

/** The heap that the pools of this thread share, made when it is first needed. */
export function sharedHeap(): Heap {
  shared ??= new Heap();
  return shared;
}
