/**
 * The calling thread's private memory, in which compiled functions and single operations run.
 */
import type { DType, Storage } from "../base/dtype.js";
import { itemSize, viewOf } from "../base/dtype.js";
import { sizeOf } from "../base/shape.js";
import type { Block } from "../heap/heap.js";
import { freshBuffer, Heap } from "../heap/heap.js";
import type { Aval } from "../ir/graph.js";

let heap: Heap | null = null;

/** The memory of this thread, made when it is first needed. */
export function arena(): Heap {
  return (heap ??= new Heap());
}

/** The elements of an array at an address of the arena. */
export function viewAt({ dtype, shape }: Aval, address: number): Storage {
  const size = sizeOf(shape);
  const { memory } = arena();
  return viewOf<DType>(dtype, freshBuffer(memory, address + size * itemSize(dtype)), address, size);
}

/** Room for one operation after the other. It grows as needed, and shrinks when it was large. */
export class Scratch {
  readonly #what: string;
  #block: Block | null = null;
  /** More than this is given back after use. */
  static readonly keep = 64 * 1024 * 1024;

  constructor(what: string) {
    this.#what = what;
  }

  /** The address of at least so many bytes; what it held before is lost. */
  reserve(bytes: number): number {
    if (this.#block === null || this.#block.bytes < bytes) {
      this.#block?.free();
      this.#block = null;
      this.#block = arena().allocate(
        bytes > Scratch.keep ? bytes : 2 ** Math.ceil(Math.log2(bytes + 64)),
        this.#what,
      );
    }
    return this.#block.address;
  }

  /** To be called when results were copied out. */
  done(): void {
    if (this.#block === null || this.#block.bytes <= Scratch.keep) return;
    this.#block.free();
    this.#block = null;
  }
}
