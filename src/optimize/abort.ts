/**
 * Waiting that an `AbortSignal` can end. The optimizer awaits user functions that may never settle, and calls others
 * that never yield; in both cases the caller's signal has to be heard.
 */
import { isPromiseLike } from "./problem.js";
import type { MaybePromise } from "./problem.js";

/** Awaits values until the signal aborts, then rejects with its reason. */
export interface Patience {
  /** The value, once it is there. */
  settle<T>(value: MaybePromise<T>): Promise<T>;
  /** Lets timers and events run now and then, and throws the reason of an aborted signal. */
  breathe(): Promise<void>;
}

/** Milliseconds of uninterrupted work after which a breath lets the event loop turn. */
const longestWork = 20;

/** Patience bounded by `signal`; without one it waits for ever. */
export function patienceOf(signal: AbortSignal | undefined): Patience {
  if (signal === undefined) {
    return { settle: async (value) => value, breathe: async () => {} };
  }
  let lastTurn = performance.now();
  return {
    async settle(value) {
      signal.throwIfAborted();
      return isPromiseLike(value) ? race(value, signal) : value;
    },
    async breathe() {
      if (performance.now() - lastTurn > longestWork) {
        await new Promise((resolve) => setTimeout(resolve, 0));
        lastTurn = performance.now();
      }
      signal.throwIfAborted();
    },
  };
}

async function race<T>(value: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error);
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([value, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
