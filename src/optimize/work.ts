/**
 * An optimizer's run as work that stops wherever it needs a value that may only be promised. One driver awaits such
 * values, and hears the caller's signal while it does; another goes on at once, for callers that cannot await.
 */
import { ArgumentError } from "../base/errors.js";
import type { MaybePromise } from "./problem.js";
import { isPromiseLike } from "./problem.js";

/** A place to let timers and events run. */
export const breath = Symbol("breath");

/** Work that stops at values, promised or not, and at `breath`. */
export type Work<T> = Generator<unknown, T, unknown>;

/** Stops until the value is there: `const residual = yield* settled(fun(x))`. */
export function* settled<T>(value: MaybePromise<T>): Work<T> {
  return (yield value) as T; // A driver hands back what the value was or promised.
}

/** Milliseconds of uninterrupted work after which a breath lets the event loop turn. */
const longestWork = 20;

/**
 * Carries work on by awaiting. User functions may never settle, and others never yield; in both cases the signal is
 * heard, and its reason thrown.
 */
export async function awaitWork<T>(work: Work<T>, signal: AbortSignal | undefined): Promise<T> {
  let lastTurn = performance.now();
  const breathe = async (): Promise<void> => {
    if (signal === undefined) return;
    if (performance.now() - lastTurn > longestWork) {
      await new Promise((resolve) => setTimeout(resolve, 0));
      lastTurn = performance.now();
    }
    signal.throwIfAborted();
  };
  const settle = async (value: MaybePromise<unknown>): Promise<unknown> => {
    signal?.throwIfAborted();
    return isPromiseLike(value) && signal !== undefined ? race(value, signal) : value;
  };
  let next = work.next();
  while (next.done !== true) {
    let value: unknown;
    try {
      value = await (next.value === breath ? breathe() : settle(next.value));
    } catch (error) {
      next = work.throw(error);
      continue;
    }
    next = work.next(value);
  }
  return next.value;
}

/** Carries work on at once. What is promised is refused: nobody could wait for it. */
export function finishWork<T>(operation: string, work: Work<T>): T {
  let next = work.next();
  while (next.done !== true) {
    const { value } = next;
    if (value !== breath && isPromiseLike(value)) {
      value.then(
        () => {},
        () => {}, // What it rejects with has nobody to go to.
      );
      next = work.throw(
        new ArgumentError({
          operation,
          argument: "fun",
          found: "a function that returns a promise",
          expected: "functions that are done when they return",
          remedy: "use the asynchronous form, or make the functions synchronous",
        }),
      );
    } else next = work.next(value);
  }
  return next.value;
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
