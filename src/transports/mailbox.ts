/**
 * Where answers come in while the thread blocks. Whoever posts a message to this thread bumps one shared word after it;
 * a thread that blocks waits for that word and then empties its ports by hand.
 */

/** Something with a port to empty. */
interface Source {
  empty(): void;
}

/** The longest that a thread blocks before it makes sure that somebody is still there to wake it, in milliseconds. */
const heartbeat = 1000;

export class Mailbox {
  /** One word: bumped, and notified, after each message. */
  readonly word: Int32Array;
  readonly #sources = new Set<Source>();
  /** Told whenever the thread has blocked for long. */
  readonly #onLongWait: () => void;

  constructor(onLongWait: () => void) {
    this.word = new Int32Array(new SharedArrayBuffer(4));
    this.#onLongWait = onLongWait;
  }

  add(source: Source): void {
    this.#sources.add(source);
  }

  remove(source: Source): void {
    this.#sources.delete(source);
  }

  /** Takes all messages that have come. */
  empty(): void {
    for (const source of [...this.#sources]) source.empty();
  }

  /** Blocks until `ready` holds; false if it does not at `until`. */
  block(ready: () => boolean, until: number): boolean {
    return this.blockOn(this.word, 0, ready, until);
  }

  /** The same for a word of the caller's, which must be bumped whenever `ready` may hold. */
  blockOn(words: Int32Array, index: number, ready: () => boolean, until: number): boolean {
    for (;;) {
      const value = Atomics.load(words, index);
      if (ready()) return true;
      if (words === this.word) {
        this.empty();
        if (ready()) return true;
      }
      const left = until - performance.now();
      if (left <= 0) return false;
      const pause = Math.min(left, heartbeat);
      if (Atomics.wait(words, index, value, pause) === "timed-out" && pause === heartbeat) this.#onLongWait();
    }
  }
}

/** Tells a thread that a message lies in one of its ports. */
export function ringMailbox(word: Int32Array): void {
  Atomics.add(word, 0, 1);
  Atomics.notify(word, 0);
}
