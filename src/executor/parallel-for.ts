/**
 * The first door: a loop whose iterations are independent, run by the ranks of a pool. The body is plain JavaScript, so
 * no plan is made; ranks take iterations through a work-sharing schedule, and results come back in order.
 */
import { at } from "../base/at.js";
import { RankLostError } from "../base/errors.js";
import type { CapturedBody } from "../closure/body.js";
import { captureBody } from "../closure/body.js";
import { codecOf, Decoder } from "../closure/codec.js";
import { compileClosed } from "../closure/functions.js";
import type { LoopJob, LoopReply, Schedule } from "../closure/job.js";
import { loopWord } from "../closure/job.js";
import type { AnyFunction } from "../closure/source.js";
import type { Heap } from "../heap/heap.js";
import { sharedHeap } from "../heap/heap.js";
import { LoopSignal } from "../rank/loop-signal.js";
import { runLoop } from "../rank/loop.js";
import { isRankThread } from "../rank/thread.js";
import { controlFloat } from "../transports/words.js";
import type { PoolCore } from "./core.js";
import { coreOf } from "./cores.js";
import { defaultPool } from "./defaultPool.js";
import { rankError, rankLostError } from "./failures.js";
import type { LoopOptions, LoopRange, Range } from "./loop-options.js";
import { checkLoopOptions, resolveRange, resolveSchedule } from "./loop-options.js";

/** What a body is told besides its item. The values given by `with` are there too, by name. */
export interface LoopContext {
  /** The rank that runs the iteration. */
  readonly rank: number;
  /** How many ranks take part in the loop. */
  readonly numRanks: number;
  /** The loop's index; for items, the item's position. */
  readonly index: number;
  /** Aborted when the loop is given up. */
  readonly signal: AbortSignal;
  /** What `init` made when the key was first asked for on this rank; kept for the pool's life. */
  local<T>(key: string, init: () => T): T;
}

/** The results of a loop in the order of its indices: numbers in one typed array, everything else in a list. */
export type LoopResult<T> = [T] extends [number] ? Float64Array : T[];

interface PreparedLoop {
  readonly range: LoopRange;
  readonly schedule: Schedule;
  readonly captured: CapturedBody;
}

/** One loop's call: what the members need in common. */
interface LoopCall {
  readonly loop: number;
  readonly task: number;
  readonly words: number | SharedArrayBuffer;
}

function jobOf(
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

/** Puts the replies of all members together, in order. */
function gather(
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

/** The failure of the lowest index. */
function firstFailure(
  replies: readonly { readonly rank: number; readonly reply: LoopReply }[],
): { rank: number; failure: NonNullable<LoopReply["failure"]> } | undefined {
  let first: { rank: number; failure: NonNullable<LoopReply["failure"]> } | undefined;
  for (const { rank, reply } of replies) {
    const { failure } = reply;
    if (failure === undefined) continue;
    if (first === undefined || failure.index < first.failure.index) first = { rank, failure };
  }
  return first;
}

/** Runs all iterations on the calling thread: captured, copied and failing as on a rank. */
async function runHere(prepared: PreparedLoop, options: LoopOptions): Promise<Float64Array | unknown[]> {
  const { range, captured } = prepared;
  const { signal, onProgress } = options;
  signal?.throwIfAborted();
  const buffer = new SharedArrayBuffer(4 * loopWord.count);
  const words = new Int32Array(buffer);
  const call = { loop: 0, task: 0, words: buffer };
  const heap = sharedHeap();
  const scratch = scratchFor(heap, captured);
  const job = { ...structuredClone(jobOf(prepared, call, 0, 1, new Map(), undefined, 0)), ...scratch?.part };
  const loopSignal = new LoopSignal(words);
  const giveUp = (): void => {
    Atomics.store(words, loopWord.cancel, 1);
    loopSignal.abort(signal?.reason);
  };
  signal?.addEventListener("abort", giveUp, { once: true });
  try {
    const ran = runLoop(job, {
      rank: 0,
      words,
      memory: heap.memory,
      locals: localsHere,
      signal: loopSignal,
      hold: () => {},
      chunkDone: () => onProgress?.(Atomics.load(words, loopWord.done), range.count),
    });
    const reply = structuredClone(await ran);
    signal?.throwIfAborted();
    if (reply.failure !== undefined) {
      throw rankError(0, reply.failure.error, { index: reply.failure.index });
    }
    return gather(range.count, [reply], captured);
  } finally {
    signal?.removeEventListener("abort", giveUp);
    scratch?.free();
  }
}

/** Memory that one rank's values may use while the loop runs. */
function scratchFor(
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

const localsHere = new Map<string, unknown>();

/** Items that are held by ranks, by rank, and the positions of those that anybody may run. */
function pinItems(
  range: LoopRange,
  pool: object,
  ranks: number,
): { pins: Map<number, number[]>; positions: number[] | undefined } {
  const pins = new Map<number, number[]>();
  if (!("items" in range.iterations)) return { pins, positions: undefined };
  const positions: number[] = [];
  range.iterations.items.forEach((item, position) => {
    const rank = typeof item === "object" && item !== null ? codecOf(item)?.pin?.(item, pool) : undefined;
    if (rank === undefined || rank < 0 || rank >= ranks) positions.push(position);
    else pins.set(rank, [...(pins.get(rank) ?? []), position]);
  });
  return { pins, positions: pins.size === 0 ? undefined : positions };
}

async function runOnPool(
  prepared: PreparedLoop,
  options: LoopOptions,
  pool: object,
  core: PoolCore,
): Promise<Float64Array | unknown[]> {
  const { range, captured } = prepared;
  return core.call("parallelFor", options.signal, async (context) => {
    const total = core.settings.devices.length;
    const { pins, positions } = pinItems(range, pool, total);
    const shared = positions?.length ?? range.count;
    const sharing = Math.min(total, options.ranks ?? total, shared);
    // Ranks that hold items take part in any case.
    const ranks = Array.from({ length: total }, (_, rank) => rank).filter(
      (rank) => rank < sharing || pins.has(rank),
    );
    const block = core.heap.allocate(4 * loopWord.count, "the words of a loop");
    const words = core.heap.view("int32", block.address, loopWord.count);
    const call = { loop: core.nextLoop(), task: core.taskNumber("parallelFor"), words: block.address };
    let cancelled = false;
    const cancel = (): void => {
      if (cancelled) return;
      cancelled = true;
      Atomics.store(words, loopWord.cancel, 1);
      // Those that do not hear it any more have ended or are ending.
      for (const rank of ranks)
        core.transport
          .link(rank)
          .cancel(call.loop)
          .catch(() => undefined);
    };
    context.onGiveUp(cancel);
    const progress = options.onProgress;
    let progressFailure: { readonly error: unknown } | undefined;
    const report = (): void => {
      if (progress === undefined || progressFailure !== undefined) return;
      try {
        progress(Atomics.load(words, loopWord.done), range.count);
      } catch (error) {
        progressFailure = { error };
        cancel();
      }
    };
    const scratches = ranks.map(() => scratchFor(core.heap, captured));
    const timer = progress === undefined ? undefined : setInterval(report, 50);
    try {
      const settled = await Promise.allSettled(
        ranks.map(async (rank, member) => {
          const job = jobOf(
            prepared,
            call,
            Math.min(member, Math.max(0, sharing - 1)),
            Math.max(1, sharing),
            pins,
            positions,
            rank,
          );
          // Ranks beyond those that share the rest run what they hold, and nothing else.
          const limited = { ...job, ...scratches[member]?.part, ...(rank < sharing ? {} : { shared: 0 }) };
          try {
            const reply = await core.transport.link(rank).evaluate(limited);
            if (reply.failure !== undefined) cancel();
            return { rank, reply };
          } catch (error) {
            cancel();
            throw error instanceof RankLostError ? lostLoop(core, rank, error) : error;
          }
        }),
      );
      for (const result of settled) if (result.status === "rejected") throw result.reason as Error;
      const replies = settled.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
      const failed = firstFailure(replies);
      if (failed !== undefined)
        throw rankError(failed.rank, failed.failure.error, { index: failed.failure.index });
      report();
      // What the listener threw in between is the loop's failure.
      const failure = progressFailure as { readonly error: unknown } | undefined;
      if (failure !== undefined) throw failure.error;
      return gather(
        range.count,
        replies.map(({ reply }) => reply),
        captured,
      );
    } finally {
      clearInterval(timer);
      block.free();
      for (const scratch of scratches) scratch?.free();
    }
  });
}

/** The error of a rank that ended in a loop, with the iterations that it held. */
function lostLoop(core: PoolCore, rank: number, error: RankLostError): RankLostError {
  const { floats } = core.blocks.view(rank);
  const index = at(floats, controlFloat.index);
  const end = at(floats, controlFloat.chunkEnd);
  const reason = error.message.replace(/^.*?was lost: /, "");
  if (index < 0 && end < 0) return rankLostError(rank, reason, { task: "parallelFor" });
  const held = index === end ? `iteration ${index}` : `iterations ${index} to ${end}`;
  return rankLostError(rank, reason, { task: "parallelFor", index, held });
}

/**
 * Runs `body` for every index or item on the ranks of a pool, and resolves to its results in order.
 *
 * What the body uses from outside is given by name in `with`: plain data and typed arrays are copied, arrays on shared
 * memory (`sharedArray`) are the same memory. A body may be async. A body that throws keeps what has not started from
 * starting.
 *
 * Rejects with `RankError` (index, rank, the worker's stack; `cause` is what was thrown), `RankLostError` if a rank
 * ends, `CaptureError` for what cannot cross, `ArgumentError`, `PoolClosedError`, or the signal's reason.
 * @example
 * const squares = await parallelFor(100, (i) => i * i);
 */
export function parallelFor<T, W extends object = object>(
  over: number | Range,
  body: (index: number, context: LoopContext & W) => T,
  options?: LoopOptions<W>,
): Promise<LoopResult<Awaited<T>>>;
export function parallelFor<I, T, W extends object = object>(
  over: Iterable<I>,
  body: (item: I, context: LoopContext & W) => T,
  options?: LoopOptions<W>,
): Promise<LoopResult<Awaited<T>>>;
export async function parallelFor(
  over: unknown,
  body: AnyFunction,
  options: LoopOptions = {},
): Promise<Float64Array | unknown[]> {
  checkLoopOptions(options);
  const range = resolveRange(over);
  const prepared: PreparedLoop = {
    range,
    schedule: resolveSchedule(options.schedule ?? "auto"),
    captured: captureBody(
      "parallelFor",
      body,
      options.with ?? {},
      "items" in range.iterations ? range.iterations.items : undefined,
    ),
  };
  const pool = options.pool;
  const core = pool === undefined ? undefined : coreOf(pool);
  options.signal?.throwIfAborted();
  if (options.if === false || (pool === undefined && isRankThread())) return runHere(prepared, options);
  if (range.count === 0 && core?.queue.closed !== true) return new Float64Array(0);
  // A call that waits must not see what its caller does to the values meanwhile.
  const own =
    core?.prompt === true ? prepared : { ...prepared, captured: structuredClone(prepared.captured) };
  const target = pool ?? (await defaultPool());
  return runOnPool(own, options, target, core ?? coreOf(target));
}
