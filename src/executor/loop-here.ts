/** A loop whose iterations the calling thread runs itself, by the same rules as on a rank. */
import type { TimeoutError } from "../base/errors.js";
import { loopWord } from "../closure/job.js";
import { sharedHeap } from "../heap/heap.js";
import { LoopSignal } from "../rank/loop-signal.js";
import { runLoop } from "../rank/loop.js";
import { loopReply } from "../transports/loop-work.js";
import type { Reply, Task } from "../transports/reply.js";
import { answered, late, within } from "../transports/reply.js";
import type { LoopWork } from "../transports/service.js";
import { rankError, timeoutError } from "./failures.js";
import type { LoopResults, PreparedLoop } from "./loop-job.js";
import { gather, jobOf, scratchFor } from "./loop-job.js";
import type { LoopOptions } from "./loop-options.js";
import { afterParts, partOf } from "./loop-part.js";

const localsHere = new Map<string, unknown>();

/** All iterations on the calling thread: captured, copied and failing as on a rank. */
export function* runHere(prepared: PreparedLoop, options: LoopOptions, blocks: boolean): Task<LoopResults> {
  const { range, captured } = prepared;
  const { signal, timeout, onProgress } = options;
  signal?.throwIfAborted();
  const buffer = new SharedArrayBuffer(4 * loopWord.count);
  const words = new Int32Array(buffer);
  const call = { loop: 0, task: 0, words: buffer, blocking: blocks };
  const until = timeout === undefined ? Infinity : performance.now() + timeout;
  const heap = sharedHeap();
  const scratch = scratchFor(heap, captured);
  const job = { ...structuredClone(jobOf(prepared, call, 0, 1, new Map(), undefined, 0)), ...scratch?.part };
  const loopSignal = new LoopSignal(words);
  const giveUp = (reason: unknown): void => {
    Atomics.store(words, loopWord.cancel, 1);
    loopSignal.abort(reason);
  };
  const overran = (): TimeoutError => timeoutError(timeout ?? 0, { operation: "parallelFor", rank: 0 });
  const begin = (): LoopWork =>
    runLoop(job, {
      rank: 0,
      words,
      memory: heap.memory,
      locals: localsHere,
      signal: loopSignal,
      hold: () => {
        // No timer ends a loop whose bodies never give way.
        if (until < Infinity && performance.now() >= until) giveUp(overran());
      },
      chunkDone: () => onProgress?.(Atomics.load(words, loopWord.done), range.count),
    });
  const part = partOf(loopReply(begin), () => giveUp(undefined));
  const stoppable = orAborted(part, signal, giveUp);
  try {
    const reply = yield* answered(within(stoppable.reply, until));
    signal?.throwIfAborted();
    if (reply === late) {
      giveUp(overran());
      throw overran();
    }
    if (reply.failure !== undefined) {
      throw rankError(0, reply.failure.error, { index: reply.failure.index });
    }
    if (Atomics.load(words, loopWord.done) < range.count) throw overran();
    return gather(range.count, [reply], captured);
  } finally {
    stoppable.release();
    afterParts([part], () => scratch?.free());
  }
}

/** The reply, unless the signal is aborted before: a body may never settle. */
function orAborted<T>(
  reply: Reply<T>,
  signal: AbortSignal | undefined,
  onAbort: (reason: unknown) => void,
): { readonly reply: Reply<T>; release(): void } {
  if (signal === undefined) return { reply, release: () => {} };
  let listener = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    listener = () => {
      onAbort(signal.reason);
      reject(signal.reason as Error); // Any value: it is the caller's own.
    };
  });
  aborted.catch(() => {}); // Whoever waits hears of it.
  signal.addEventListener("abort", listener, { once: true });
  return {
    reply: {
      get promise() {
        return Promise.race([reply.promise, aborted]);
      },
      wait: (until) => reply.wait(until),
    },
    release: () => signal.removeEventListener("abort", listener),
  };
}
