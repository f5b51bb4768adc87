/**
 * Calls of a pool run one at a time, in the order in which they were made. A caller that aborts is answered at once;
 * what it started is let go in its own time, and the next call begins after that.
 */
import { BlockingError, PoolClosedError } from "../base/errors.js";

/** What a running call listens to. */
export interface CallContext {
  /** Runs `listener` if the call is given up while it runs. */
  onGiveUp(listener: () => void): void;
  readonly givenUp: boolean;
}

interface Call {
  readonly operation: string;
  readonly reject: (reason: Error) => void;
  readonly listeners: (() => void)[];
  givenUp: boolean;
}

export class CallQueue {
  readonly #calls = new Set<Call>();
  #tail: Promise<unknown> = Promise.resolve();
  #closed = false;

  /** True if nothing runs or waits. */
  get idle(): boolean {
    return this.#calls.size === 0;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Throws `PoolClosedError` if the pool is closed. */
  requireOpen(operation: string): void {
    if (this.#closed) throw closedError(operation);
  }

  /** Runs `task` after the calls before it. Rejects with the signal's reason, or `PoolClosedError`, as soon as that applies. */
  run<T>(
    operation: string,
    signal: AbortSignal | undefined,
    task: (context: CallContext) => Promise<T>,
  ): Promise<T> {
    if (this.#closed) return Promise.reject(closedError(operation));
    if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
    const previous = this.#tail;
    return new Promise<T>((resolve, reject) => {
      const call: Call = { operation, reject, listeners: [], givenUp: false };
      this.#calls.add(call);
      const onAbort = (): void => {
        giveUp(call, signal?.reason as Error); // Any value: it is the caller's own.
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      const start = async (): Promise<void> => {
        try {
          if (call.givenUp) return;
          resolve(
            await task({
              onGiveUp: (listener) => {
                if (call.givenUp) listener();
                else call.listeners.push(listener);
              },
              get givenUp() {
                return call.givenUp;
              },
            }),
          );
        } catch (error) {
          call.reject(error as Error); // Whatever the task threw, unchanged.
        } finally {
          signal?.removeEventListener("abort", onAbort);
          this.#calls.delete(call);
        }
      };
      // The first call of an idle pool starts at once: no turn is lost on the way to the ranks.
      this.#tail = this.#calls.size === 1 ? start() : previous.then(start);
    });
  }

  /** Runs `task` now. Throws `BlockingError` if another call is under way: its caller would have to be served by this thread. */
  runNow<T>(operation: string, signal: AbortSignal | undefined, task: (context: CallContext) => T): T {
    this.requireOpen(operation);
    signal?.throwIfAborted();
    const [running] = this.#calls;
    if (running !== undefined) {
      throw new BlockingError({
        operation,
        found: `called while ${running.operation} is under way on the same pool`,
        remedy: "await the calls before it, or use a pool of its own",
      });
    }
    const call: Call = { operation, reject: () => {}, listeners: [], givenUp: false };
    this.#calls.add(call);
    try {
      // A thread that blocks hears of no abort and closes no pool.
      return task({ onGiveUp: () => {}, givenUp: false });
    } finally {
      this.#calls.delete(call);
    }
  }

  /** Gives up every call; later calls are refused. Answers when the running one has let go. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const call of this.#calls) giveUp(call, closedError(call.operation));
    await this.#tail;
  }
}

function closedError(operation: string): PoolClosedError {
  return new PoolClosedError({
    operation,
    found: "the pool is closed",
    remedy: "make another with createPool()",
  });
}

function giveUp(call: Call, reason: Error): void {
  if (call.givenUp) return;
  call.givenUp = true;
  call.reject(reason);
  for (const listener of call.listeners) listener();
}
