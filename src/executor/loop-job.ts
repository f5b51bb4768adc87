/** What is sent to each rank of a loop, and how what they answer is put together. */
import { at } from "../base/at.js";
import type { CapturedBody } from "../closure/body.js";
import { Decoder } from "../closure/codec.js";
import { compileClosed } from "../closure/functions.js";
import type { LoopJob, LoopReply, Schedule } from "../closure/job.js";
import type { AnyFunction } from "../closure/source.js";
import type { Heap } from "../heap/heap.js";
import type { LoopRange } from "./loop-options.js";

/** A loop that is ready to run. */
export interface PreparedLoop {
  readonly range: LoopRange;
  readonly schedule: Schedule;
  readonly captured: CapturedBody;
}

/** One loop's call: what the members need in common. */
export interface LoopCall {
  readonly loop: number;
  readonly task: number;
  readonly words: number | SharedArrayBuffer;
  readonly blocking: boolean;
}

export function jobOf(
  prepared: PreparedLoop,
  call: LoopCall,
  member: number,
  members: number,
  pins: ReadonlyMap<number, readonly number[]>,
  positions: readonly number[] | undefined,
  rank: number,
): LoopJob {
  const { range, schedule, captured } = prepared;
  const own = pins.get(rank) ?? [];
  const { items } = captured;
  const shared = positions?.length ?? range.count;
  // A rank is only sent items that it may have to run.
  const mine = positions === undefined ? undefined : new Set([...positions, ...own]);
  return {
    ...call,
    body: captured.body,
    iterations:
      "items" in range.iterations
        ? {
            kind: "items",
            items: (items ?? []).map((item, i) => (mine === undefined || mine.has(i) ? item : undefined)),
          }
        : { kind: "range", ...range.iterations },
    shared,
    ...(positions === undefined ? {} : { positions }),
    own,
    schedule,
    member,
    members,
  };
}

/** Results in order, before their type is known. */
export type LoopResults = Float64Array | unknown[];

/** Puts the replies of all members together, in order. */
export function gather(
  count: number,
  replies: readonly LoopReply[],
  captured: CapturedBody,
): Float64Array | unknown[] {
  const numeric = replies.every(({ numbers }) => numbers !== undefined);
  const results: Float64Array | unknown[] = numeric ? new Float64Array(count) : new Array<unknown>(count);
  const decoders = new Map(
    Object.entries(captured.body.decoders).map(([name, source]) => {
      const decode: AnyFunction = compileClosed(source);
      return [name, decode as (data: unknown) => unknown]; // A decoder, by the contract of codecs.
    }),
  );
  for (const { runs, numbers, values } of replies) {
    const decoder = new Decoder(decoders);
    let next = 0;
    for (let i = 0; i < runs.length; i += 2) {
      for (let offset = 0; offset < at(runs, i + 1); offset++, next++) {
        const value = numbers === undefined ? decoder.decode(values?.[next]) : numbers[next];
        (results as unknown[])[at(runs, i) + offset] = value; // The same assignment for both kinds.
      }
    }
  }
  return results;
}

/** Memory that one rank's values may use while the loop runs. */
export function scratchFor(
  heap: Heap,
  { scratchBytes: bytes }: CapturedBody,
): { readonly part: Pick<LoopJob, "scratch">; free(): void } | undefined {
  if (bytes === 0) return undefined;
  const block = heap.allocate(bytes, "scratch memory of a loop");
  return {
    part: { scratch: { address: block.address, bytes } },
    free: () => {
      block.free();
    },
  };
}
