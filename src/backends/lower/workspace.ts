/**
 * Where temporaries lie: each has its bytes of the workspace from the kernel that writes it to the last one that reads it.
 */
import { at } from "../../base/at.js";
import type { Index } from "../../ir/kernel.js";
import type { Buffer, Kernel } from "./program.js";
import { buffersOf } from "./program.js";

/** A buffer whose place in the workspace is not decided yet. */
export interface UnplacedBuffer {
  role: Buffer["role"];
  position: number;
  readonly bytes: number;
  readonly dtype: Buffer["dtype"];
  readonly extents: readonly Index[];
  readonly strides: readonly Index[];
}

/** Temporaries start at multiples of 64 bytes. */
function roundUp(bytes: number): number {
  return Math.ceil(bytes / 64) * 64;
}

/** Gives each temporary its bytes, again once the last kernel that reads them is past. */
export function placeTemporaries(buffers: readonly UnplacedBuffer[], kernels: readonly Kernel[]): number {
  const first = new Map<number, number>();
  const final = new Map<number, number>();
  kernels.forEach((kernel, time) => {
    for (const buffer of buffersOf(kernel.body)) {
      if (!first.has(buffer)) first.set(buffer, time);
      final.set(buffer, time);
    }
  });
  const live: { start: number; end: number; until: number }[] = [];
  let total = 0;
  for (const [number, time] of first) {
    const buffer = at(buffers, number);
    if (buffer.role !== "workspace") continue;
    const size = roundUp(buffer.bytes);
    const busy = live.filter(({ until }) => until >= time).sort((a, b) => a.start - b.start);
    let start = 0;
    for (const range of busy) {
      if (start + size <= range.start) break;
      start = Math.max(start, range.end);
    }
    buffer.position = start;
    live.push({ start, end: start + size, until: final.get(number) ?? time });
    total = Math.max(total, start + size);
  }
  return total;
}

/** What all temporaries take side by side. */
export function temporaryBytesOf(buffers: readonly UnplacedBuffer[]): number {
  return buffers.reduce((sum, { role, bytes }) => (role === "workspace" ? sum + roundUp(bytes) : sum), 0);
}
