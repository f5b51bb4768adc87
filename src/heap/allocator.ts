/**
 * Hands out address ranges, first fit, and takes them back: bookkeeping only, so that it serves the shared heap and a
 * device's private memory alike. Ranges start at multiples of a cache line, so that two ranks never write one line.
 */
import { at } from "../base/at.js";

/** Every range starts at a multiple of this and is a multiple of this long. */
export const granule = 64;

interface Range {
  start: number;
  end: number;
}

/** Rounds up to whole granules; an empty array still has an address of its own. */
export function roundUp(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / granule)) * granule;
}

/** The free and used ranges between two addresses. */
export class Allocator {
  /** Disjoint, never touching, in order of address. */
  readonly #free: Range[];
  readonly #used = new Map<number, number>();
  readonly #start: number;
  #end: number;
  #usedBytes = 0;

  /** Owns the addresses from `start` to `end`, both multiples of the granule. */
  constructor(start: number, end: number) {
    this.#start = start;
    this.#end = end;
    this.#free = end > start ? [{ start, end }] : [];
  }

  /** The end of the addresses that it owns. */
  get end(): number {
    return this.#end;
  }

  /** Bytes in use, granules rounded up. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Ranges in use. */
  get usedRanges(): number {
    return this.#used.size;
  }

  /** The address of a new range of at least `bytes`, or `undefined` if no free range is long enough. */
  take(bytes: number): number | undefined {
    const size = roundUp(bytes);
    const index = this.#free.findIndex((range) => range.end - range.start >= size);
    if (index < 0) return undefined;
    const range = at(this.#free, index);
    const address = range.start;
    range.start += size;
    if (range.start === range.end) this.#free.splice(index, 1);
    this.#used.set(address, size);
    this.#usedBytes += size;
    return address;
  }

  /** Gives a range back. Answers false if `address` does not start a used range. */
  give(address: number): boolean {
    const size = this.#used.get(address);
    if (size === undefined) return false;
    this.#used.delete(address);
    this.#usedBytes -= size;
    this.#insert(address, address + size);
    return true;
  }

  /** Owns the addresses up to `end` from now on. */
  extend(end: number): void {
    if (end <= this.#end) return;
    this.#insert(this.#end, end);
    this.#end = end;
  }

  /** Bytes that `extend` must add so that `take(bytes)` succeeds: the last free range may already reach the end. */
  shortfall(bytes: number): number {
    const last = this.#free[this.#free.length - 1];
    const open = last?.end === this.#end ? last.end - last.start : 0;
    return roundUp(bytes) - open;
  }

  /** The free ranges, for tests and reports. */
  freeRanges(): readonly Readonly<Range>[] {
    return this.#free.map((range) => ({ ...range }));
  }

  /** The first address that it owns. */
  get start(): number {
    return this.#start;
  }

  #insert(start: number, end: number): void {
    let low = 0;
    let high = this.#free.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (at(this.#free, middle).start < start) low = middle + 1;
      else high = middle;
    }
    const before = low > 0 ? this.#free[low - 1] : undefined;
    const after = this.#free[low];
    const joinsBefore = before?.end === start;
    const joinsAfter = after?.start === end;
    if (joinsBefore && joinsAfter) {
      before.end = after.end;
      this.#free.splice(low, 1);
    } else if (joinsBefore) before.end = end;
    else if (joinsAfter) after.start = start;
    else this.#free.splice(low, 0, { start, end });
  }
}
