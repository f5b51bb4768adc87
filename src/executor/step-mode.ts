/**
 * Decides who carries out the steps of a plan: its ranks, or the calling thread alone, which saves the wake and is the
 * quicker way for steps that compute less than a wake costs. Measured times decide; the bits are the same either way.
 */
import type { StepMode } from "../transports/transport.js";

/** Steps that are tried in each way before one is chosen; the first of each is a warm-up and does not count. */
const trials = 4;

/** Steps after which the choice is made anew. */
const reviewAfter = 2000;

/** Longer steps are the ranks': an asynchronous caller's event loop is not to be held up, in milliseconds. */
const longest = 0.5;

/** How much of its time the other way must save. */
const advantage = 0.9;

/** The least of the latest times: what a step takes when nothing disturbs it. */
class Times {
  count = 0;
  least = Infinity;

  add(milliseconds: number): void {
    if (this.count++ > 0) this.least = Math.min(this.least, milliseconds);
  }
}

/** The choice for one plan and one kind of caller. */
export class StepModes {
  /** What the ranks' way is called. */
  readonly #usual: StepMode;
  readonly #canInline: boolean;
  #usualTimes = new Times();
  #inlineTimes = new Times();
  /** Milliseconds of computing in a step, on all ranks together. */
  #work = Infinity;
  #chosen: StepMode | undefined;
  #sinceChoice = 0;
  #told = false;

  constructor(available: readonly StepMode[], blocks: boolean) {
    this.#usual = blocks && available.includes("joined") ? "joined" : "ranks";
    this.#canInline = available.includes("inline");
  }

  /** Whether the calling thread carries out steps alone from now on, once after each change; else `undefined`. */
  news(): boolean | undefined {
    const inline = this.#chosen === "inline";
    if (this.#chosen === undefined || inline === this.#told) return undefined;
    this.#told = inline;
    return inline;
  }

  /** The mode of the next step. */
  next(): StepMode {
    if (!this.#canInline) return this.#usual;
    if (this.#chosen !== undefined && this.#sinceChoice++ < reviewAfter) return this.#chosen;
    if (this.#chosen !== undefined) this.#review();
    if (this.#usualTimes.count < trials) return this.#usual;
    // Where all the computing would take as long as the step does, the calling thread need not try.
    if (this.#work > longest || this.#work > this.#usualTimes.least * advantage)
      return this.#choose(this.#usual);
    if (this.#inlineTimes.count < trials) return "inline";
    return this.#choose(
      this.#inlineTimes.least < this.#usualTimes.least * advantage ? "inline" : this.#usual,
    );
  }

  /** Takes note of a step: how long its caller waited, and how long all ranks together computed, in milliseconds. */
  took(mode: StepMode, waited: number, computed: number): void {
    if (this.#chosen !== undefined) return;
    if (mode === "inline") this.#inlineTimes.add(waited);
    else {
      this.#usualTimes.add(waited);
      if (this.#usualTimes.count > 1) this.#work = Math.min(this.#work, computed);
    }
  }

  #choose(mode: StepMode): StepMode {
    this.#chosen = mode;
    this.#sinceChoice = 1;
    return mode;
  }

  #review(): void {
    this.#chosen = undefined;
    this.#usualTimes = new Times();
    this.#inlineTimes = new Times();
    this.#work = Infinity;
  }
}
