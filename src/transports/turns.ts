/**
 * Carries out the parts of several ranks in one thread, which take turns in a fixed order. The thread awaits or blocks
 * only when every part waits for something.
 */
import { BlockingError, HeddleError } from "../base/errors.js";
import type { Reply, Task } from "./reply.js";
import { answered, late, within } from "./reply.js";
import type { Resumable, Waiting } from "./service.js";
import { planWord } from "./words.js";

/** One rank's part. */
export interface Turn {
  readonly resumable: Resumable;
  /** Told once, when the part is done or has thrown. */
  end(failure?: { readonly error: unknown }): void;
}

/** What a thread meets that blocks for its own device. */
export function laterError(): BlockingError {
  return new BlockingError({
    operation: "a blocking call",
    found: "a device that answers in a later turn of this very thread",
    remedy: "await the asynchronous form, or use a pool with threads of its own",
  });
}

/** What a device works on: awaited, but nothing that a thread could block for. */
function deviceReply(promises: readonly Promise<unknown>[]): Reply<void> {
  return {
    get promise() {
      return Promise.race(promises).then(() => undefined);
    },
    wait: (): typeof late => {
      throw laterError();
    },
  };
}

/**
 * Carries all parts to their ends. `bell` waits for ranks elsewhere, if there are any; after `until`, `overrun` is
 * called, which makes the parts give up.
 */
export function* takeTurns(
  turns: readonly Turn[],
  bell?: (words: Int32Array, value: number) => Reply<void>,
  until = Infinity,
  overrun: () => void = () => {},
): Task<void> {
  let open = [...turns];
  while (open.length > 0) {
    const waiting: Waiting[] = [];
    const rest: Turn[] = [];
    for (const turn of open) {
      try {
        const wait = turn.resumable.step();
        if (wait === undefined) turn.end();
        else {
          waiting.push(wait);
          rest.push(turn);
        }
      } catch (error) {
        turn.end({ error });
      }
    }
    open = rest;
    const rung = waiting.some(
      (wait) => wait.on === "bell" && Atomics.load(wait.words, planWord.bell) !== wait.value,
    );
    if (rung || open.length === 0) continue;
    const promises = waiting.flatMap((wait) => (wait.on === "device" ? [wait.promise] : []));
    if (promises.length > 0) {
      yield* answered(deviceReply(promises));
      continue;
    }
    const [first] = waiting;
    if (bell === undefined || first?.on !== "bell") {
      throw new HeddleError("HEDDLE_INTERNAL", "ranks of one thread wait for each other");
    }
    if ((yield* answered(within(bell(first.words, first.value), until))) === late) overrun();
  }
}
