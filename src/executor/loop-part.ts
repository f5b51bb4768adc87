/** One rank's part of a loop while it is under way, and what outlives a caller that does not wait for it any more. */
import type { LoopReply } from "../closure/job.js";
import type { Reply } from "../transports/reply.js";
import { late } from "../transports/reply.js";

/** A rank's part of a loop: a reply that stops the loop elsewhere if it failed there. */
export interface Part extends Reply<LoopReply> {
  /** True once it has come. */
  readonly settled: boolean;
  /** Sees whether it has come, for callers that block. */
  look(): void;
}

/** Makes a part of a rank's reply. */
export function partOf(reply: Reply<LoopReply>, cancel: () => void): Part {
  let settled = false;
  let promise: Promise<LoopReply> | undefined;
  const see = (result: LoopReply): LoopReply => {
    settled = true;
    if (result.failure !== undefined) cancel();
    return result;
  };
  const lose = (error: unknown): never => {
    settled = true;
    cancel();
    throw error;
  };
  const wait = (until?: number): LoopReply | typeof late => {
    let result: LoopReply | typeof late;
    try {
      result = reply.wait(until);
    } catch (error) {
      return lose(error);
    }
    return result === late ? late : see(result);
  };
  return {
    wait,
    get settled() {
      return settled;
    },
    look: () => {
      try {
        wait(0);
      } catch {
        // It has stopped the loop; its error is asked for later.
      }
    },
    get promise() {
      promise ??= reply.promise.then(see, lose);
      return promise;
    },
  };
}

/** Frees what bodies write to: now, or when the last of those settles that go on in this thread. */
export function afterParts(parts: readonly Part[], free: () => void): void {
  const open = parts.filter((part) => !part.settled);
  if (open.length === 0) free();
  else void Promise.allSettled(open.map(({ promise }) => promise)).then(free);
}
