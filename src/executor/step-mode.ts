/**
 * Decides who carries out the steps of a plan: its ranks; the ranks but the first, whose part the calling thread takes; or
 * the calling thread alone, which saves every wake and is the quickest for steps that compute less than a wake costs.
 * Measured times decide; the bits are the same in each way.
 */
import { at } from "../base/at.js";
import type { StepMode } from "../transports/transport.js";

/** Steps that are tried in each way before one is chosen. */
const trials = 32;

/** The first of them do not count: programs are compiled, ranks come to watch, and the system moves threads apart. */
const warmUp = 20;

/** Steps after which the choice is made anew. */
const reviewAfter = 2000;

/** What takes longer is the ranks': an asynchronous caller's event loop is not to be held up, in milliseconds. */
const longest = 0.5;

/** How much of the usual way's time another may take. */
const advantage = 0.9;

/** The least of the latest times: what a step takes when nothing disturbs it. */
class Times {
  count = 0;
  least = Infinity;

  add(milliseconds: number): void {
    if (this.count++ >= warmUp) this.least = Math.min(this.least, milliseconds);
  }
}

/** The choice for one plan and one kind of caller. */
export class StepModes {
  /** In the order in which they are tried; the first is the usual way. */
  readonly #ways: readonly StepMode[];
  #times = new Map<StepMode, Times>();
  /** Milliseconds of computing in a step, on all ranks together. */
  #work = Infinity;
  #chosen: StepMode | undefined;
  #sinceChoice = 0;
  #told = false;

  /** `available` are the modes besides `"ranks"`. A caller that blocks has nothing better to do than to join. */
  constructor(available: readonly StepMode[], blocks: boolean) {
    this.#ways = blocks && available.includes("joined") ? available : ["ranks", ...available];
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
    if (this.#ways.length === 1) return at(this.#ways, 0);
    if (this.#chosen !== undefined && this.#sinceChoice++ < reviewAfter) return this.#chosen;
    if (this.#chosen !== undefined) this.#review();
    const untried = this.#ways.find((way) => this.#timesOf(way).count < trials && this.#mayTry(way));
    if (untried !== undefined) return untried;
    this.#sinceChoice = 1;
    return (this.#chosen = this.#best());
  }

  /** Takes note of a step: how long its caller waited, and how long all ranks together computed, in milliseconds. */
  took(mode: StepMode, waited: number, computed: number): void {
    if (this.#chosen !== undefined) return;
    const times = this.#timesOf(mode);
    times.add(waited);
    if (times.count > warmUp) this.#work = Math.min(this.#work, computed);
  }

  #timesOf(way: StepMode): Times {
    const times = this.#times.get(way) ?? new Times();
    this.#times.set(way, times);
    return times;
  }

  #mayTry(way: StepMode): boolean {
    const usual = at(this.#ways, 0);
    if (way === usual) return true;
    if (this.#work > longest) return false;
    // Where all the computing would take as long as the step does, the calling thread need not try it alone.
    return way !== "inline" || this.#work <= this.#timesOf(usual).least * advantage;
  }

  #best(): StepMode {
    const usual = at(this.#ways, 0);
    let best = usual;
    let least = this.#timesOf(usual).least * advantage;
    for (const way of this.#ways.slice(1)) {
      const own = this.#timesOf(way).least;
      if (own < least) [best, least] = [way, own];
    }
    return best;
  }

  #review(): void {
    this.#chosen = undefined;
    this.#times = new Map();
    this.#work = Infinity;
  }
}
