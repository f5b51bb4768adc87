/** The two drivers of a loop under way: one awaits what bodies promise, the other goes on without the event loop. */
import { HeddleError } from "../base/errors.js";
import type { LoopReply } from "../closure/job.js";
import type { Reply } from "./reply.js";
import type { LoopWork } from "./service.js";
import { eventTurn } from "./service.js";

/** A turn of the event loop, so that messages and timers are served. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Carries a loop on by awaiting. */
export async function driveLoop(work: LoopWork): Promise<LoopReply> {
  let next = work.next();
  while (next.done !== true) {
    let value: unknown;
    try {
      value = await (next.value === eventTurn ? turn() : next.value);
    } catch (error) {
      next = work.throw(error);
      continue;
    }
    next = work.next(value);
  }
  return next.value;
}

/** Carries a blocking loop on, whose bodies promise nothing, without the event loop. */
export function driveLoopNow(work: LoopWork): LoopReply {
  let next = work.next();
  while (next.done !== true) {
    if (next.value !== eventTurn) {
      throw new HeddleError("HEDDLE_INTERNAL", "a blocking loop stopped at a promise");
    }
    next = work.next();
  }
  return next.value;
}

/** A loop that starts when somebody awaits it or blocks for it. */
export function loopReply(begin: () => LoopWork): Reply<LoopReply> {
  let promise: Promise<LoopReply> | undefined;
  let reply: LoopReply | undefined;
  return {
    get promise() {
      promise ??= driveLoop(begin()).then((result) => structuredClone(result));
      return promise;
    },
    wait: () => (reply ??= structuredClone(driveLoopNow(begin()))),
  };
}
