/** Tells the bodies of one loop that it was given up. Most bodies never ask, so the signal is made when one does. */
import { loopWord } from "../closure/job.js";

export class LoopSignal {
  /** The loop's words. */
  readonly #words: Int32Array;
  #controller: AbortController | undefined;
  #aborted: { readonly reason: unknown } | undefined;

  constructor(words: Int32Array) {
    this.#words = words;
  }

  /** Aborts the signal, now or when it is made. */
  abort(reason?: unknown): void {
    this.#aborted ??= { reason };
    this.#controller?.abort(reason);
  }

  /** The signal. It also sees, between turns of the event loop, that the loop was given up. */
  get signal(): AbortSignal {
    if (this.#controller !== undefined) return this.#controller.signal;
    const controller = new AbortController();
    const { signal } = controller;
    Object.defineProperty(signal, "aborted", {
      get: () => {
        const aborted = Reflect.get(AbortSignal.prototype, "aborted", signal);
        if (aborted || Atomics.load(this.#words, loopWord.cancel) === 0) return aborted;
        controller.abort();
        return true;
      },
    });
    this.#controller = controller;
    if (this.#aborted !== undefined) controller.abort(this.#aborted.reason);
    return signal;
  }
}
