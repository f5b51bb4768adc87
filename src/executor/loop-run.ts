/**
 * A loop at work: iterations are dealt to the ranks of a pool, and their results put in order. A body that
 * throws, a rank that ends and a timeout each stop the rest, and become the loop's one error.
 */
import { at } from "../base/at.js";
import { CaptureError, RankLostError } from "../base/errors.js";
import { codecOf } from "../closure/codec.js";
import type { LoopReply } from "../closure/job.js";
import { loopWord } from "../closure/job.js";
import type { Reply, Task } from "../transports/reply.js";
import { all, answered, late, within } from "../transports/reply.js";
import { controlFloat } from "../transports/words.js";
import type { PoolCall, PoolCallContext, PoolCore } from "./core.js";
import { rankError, rankLostError, timeoutError } from "./failures.js";
import type { LoopCall, LoopResults, PreparedLoop } from "./loop-job.js";
import { gather, jobOf, scratchFor } from "./loop-job.js";
import type { LoopOptions, LoopRange } from "./loop-options.js";
import type { Part } from "./loop-part.js";
import { afterParts, partOf } from "./loop-part.js";

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

/** The loop as a call of a pool. */
export function callOf(
  prepared: PreparedLoop,
  options: LoopOptions,
  pool: object,
  core: PoolCore,
): PoolCall<LoopResults> {
  return {
    operation: "parallelFor",
    signal: options.signal,
    task: (context) => runOnRanks(prepared, options, pool, core, context),
  };
}

/** How often a loop is looked at while it runs, in milliseconds: for progress, and for ranks that have ended. */
const interval = { awaited: 50, blocked: 20 } as const;

/** How long ranks have to give up a loop that overran its timeout before they are ended, in milliseconds. */
const grace = 25;

/** The same for a loop that has failed or was aborted: its bodies may be about to end. */
const patience = 1000;

function* runOnRanks(
  prepared: PreparedLoop,
  options: LoopOptions,
  pool: object,
  core: PoolCore,
  context: PoolCallContext,
): Task<LoopResults> {
  const { range, captured } = prepared;
  const { timeout, onProgress } = options;
  if (core.settings.isolation === "process" && captured.sharedPath !== undefined) {
    throw new CaptureError({
      operation: "parallelFor",
      argument: captured.sharedPath,
      found: "memory that ranks share, which a rank in a process of its own does not see",
      remedy: 'return results instead of writing them, pass a copy, or use a pool with isolation: "thread"',
    });
  }
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
  const call: LoopCall = {
    loop: core.nextLoop(),
    task: core.taskNumber("parallelFor"),
    words: block.address,
    blocking: context.blocks,
  };
  let cancelledAt = Infinity;
  const cancel = (): void => {
    if (cancelledAt < Infinity) return;
    cancelledAt = performance.now();
    Atomics.store(words, loopWord.cancel, 1);
    // Those that do not hear it any more have ended or are ending.
    for (const rank of ranks) core.transport.link(rank).cancel(call.loop);
  };
  context.onGiveUp(cancel);
  const scratches = ranks.map(() => scratchFor(core.heap, captured));
  let replies: readonly Part[] = [];
  try {
    const until = timeout === undefined ? Infinity : performance.now() + timeout;
    replies = ranks.map((rank, member) => {
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
      return partOf(core.transport.link(rank).evaluate(limited), cancel);
    });
    const ended = all(replies);
    let progressFailure: { readonly error: unknown } | undefined;
    const report = (): void => {
      if (onProgress === undefined || progressFailure !== undefined) return;
      try {
        onProgress(Atomics.load(words, loopWord.done), range.count);
      } catch (error) {
        progressFailure = { error };
        cancel();
      }
    };
    let outcomes: Awaited<typeof ended.promise> | typeof late = late;
    for (;;) {
      const now = performance.now();
      const limit = Math.min(until, cancelledAt + patience);
      if (now >= limit) break;
      const tick = now + (context.blocks ? interval.blocked : interval.awaited);
      outcomes = yield* answered(within(ended, Math.min(tick, limit)));
      if (outcomes !== late) break;
      // A caller that blocks waits for one rank after the other: what befell the others is looked up.
      if (context.blocks) for (const reply of replies) reply.look();
      report();
    }
    const overran = outcomes === late && performance.now() >= until;
    if (overran) {
      cancel();
      outcomes = yield* answered(within(ended, performance.now() + grace));
    }
    const killed = new Map<number, Reply<unknown>>();
    if (outcomes === late) {
      const reason = overran
        ? `it overran the timeout of ${timeout} ms`
        : "its body went on in a loop that was given up";
      for (const [member, rank] of ranks.entries()) {
        if (at(replies, member).settled) continue;
        killed.set(rank, core.transport.kill(rank, reason));
      }
      // Ranks of this thread cannot be ended: what they wait for is left alone.
      if (core.transport.kind === "inProcess") {
        const rank = at([...killed.keys()], 0);
        const lost = lostLoop(core, rank, rankLostError(rank, reason, {}));
        throw timeout === undefined ? lost : timeoutError(timeout, lost);
      }
      outcomes = yield* answered(ended);
      // A rank that was done after all ends nevertheless: not in the middle of the next call.
      yield* answered(all([...killed.values()]));
    }
    const done: { readonly rank: number; readonly reply: LoopReply }[] = [];
    let ending: Error | undefined;
    for (const [member, outcome] of outcomes.entries()) {
      const rank = at(ranks, member);
      if (outcome.ok) done.push({ rank, reply: outcome.value });
      else if (!(outcome.error instanceof RankLostError)) throw outcome.error;
      else {
        const lost = lostLoop(core, rank, outcome.error);
        if (!killed.has(rank)) throw lost;
        ending ??= overran && timeout !== undefined ? timeoutError(timeout, lost) : lost;
      }
    }
    const failed = firstFailure(done);
    if (failed !== undefined) {
      throw rankError(failed.rank, failed.failure.error, { index: failed.failure.index });
    }
    // What the listener threw in between is the loop's failure.
    const failure = progressFailure as { readonly error: unknown } | undefined;
    if (failure !== undefined) throw failure.error;
    if (ending !== undefined) throw ending;
    if (overran && timeout !== undefined && Atomics.load(words, loopWord.done) < range.count) {
      throw timeoutError(timeout, { operation: "parallelFor", rank: at(ranks, 0) });
    }
    report();
    const last = progressFailure as { readonly error: unknown } | undefined;
    if (last !== undefined) throw last.error;
    return gather(
      range.count,
      done.map(({ reply }) => reply),
      captured,
    );
  } finally {
    afterParts(replies, () => {
      block.free();
      for (const scratch of scratches) scratch?.free();
    });
  }
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
