/**
 * The machine that carries out one rank's list. It never blocks: a step goes on as far as it can and says what it waits
 * for, so the same machine serves a thread that parks, a device that must be awaited, and ranks that take turns.
 */
import { at } from "../base/at.js";
import type { Resumable, Waiting } from "../transports/service.js";
import { StepAborted } from "../transports/service.js";
import { planWord } from "../transports/words.js";

/** What instructions are made of once they are bound. */
export type Operation =
  | { readonly kind: "do"; readonly run: () => void | Promise<void> }
  /** Waits for the other ranks. */
  | { readonly kind: "until"; readonly ready: () => boolean }
  /** Goes back to operation `to` until the loop has run `count` times. */
  | { readonly kind: "repeat"; readonly to: number; readonly count: number };

/** Something that the device has begun. */
interface Pending {
  readonly promise: Promise<unknown>;
  settled: boolean;
  failure?: { readonly error: unknown };
}

/** One step of a resident plan, under way. */
export class Interpreter implements Resumable {
  readonly #operations: readonly Operation[];
  /** The plan's words. */
  readonly #words: Int32Array;
  readonly #rounds = new Map<Operation, number>();
  #position = 0;
  #pending: Pending | undefined;

  constructor(operations: readonly Operation[], words: Int32Array) {
    this.#operations = operations;
    this.#words = words;
  }

  step(): Waiting | undefined {
    const words = this.#words;
    for (;;) {
      const pending = this.#pending;
      if (pending !== undefined) {
        if (!pending.settled) return { on: "device", promise: pending.promise };
        this.#pending = undefined;
        if (pending.failure !== undefined) throw pending.failure.error;
        this.#position++;
      }
      if (this.#position >= this.#operations.length) return undefined;
      // Loaded before the condition is looked at, so that a ring in between is not missed.
      const value = Atomics.load(words, planWord.bell);
      if (Atomics.load(words, planWord.abort) !== 0) throw new StepAborted();
      const operation = at(this.#operations, this.#position);
      switch (operation.kind) {
        case "do": {
          const result = operation.run();
          if (result === undefined) this.#position++;
          else this.#await(result);
          break;
        }
        case "until":
          if (!operation.ready()) return { on: "bell", words, value };
          this.#position++;
          break;
        case "repeat": {
          const rounds = (this.#rounds.get(operation) ?? 0) + 1;
          this.#rounds.set(operation, rounds < operation.count ? rounds : 0);
          this.#position = rounds < operation.count ? operation.to : this.#position + 1;
          break;
        }
      }
    }
  }

  #await(result: Promise<void>): void {
    const pending: Pending = {
      settled: false,
      promise: result.then(
        () => {
          pending.settled = true;
        },
        (error: unknown) => {
          pending.settled = true;
          pending.failure = { error };
        },
      ),
    };
    this.#pending = pending;
  }
}

/** Tells all ranks of a plan to look again at what they wait for. */
export function ringBell(words: Int32Array): void {
  Atomics.add(words, planWord.bell, 1);
  Atomics.notify(words, planWord.bell);
}
