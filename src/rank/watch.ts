/**
 * How long a rank watches for the next step before it blocks: as long as steps have lately let it wait, so that an
 * optimizer that thinks for a millisecond between its steps finds its ranks awake; but never long, for a core that watches
 * does nothing else.
 */
import { wakeTime } from "../transports/park.js";

/** The most, in milliseconds. */
const most = 4;
/** Waits count as no longer than this, in milliseconds, so that a pause is soon forgotten. */
const longest = 10;
/** How much of what is known a new wait replaces. */
const weight = 1 / 4;
/** Waits vary: by how much of them longer a rank watches. */
const margin = 1.5;

export class Watch {
  /** How long the rank had to wait for steps, in milliseconds, averaged. */
  #wait = 0;
  #ended: number | undefined;

  /** How long to watch, in milliseconds. What is out of reach is not watched for longer than a wake takes. */
  get time(): number {
    if (this.#wait > most) return wakeTime;
    return Math.max(wakeTime, Math.min(most, margin * this.#wait));
  }

  /** A step begins. */
  begin(): void {
    if (this.#ended === undefined) return;
    const wait = Math.min(longest, performance.now() - this.#ended);
    this.#wait += weight * (wait - this.#wait);
  }

  /** The step has ended. */
  end(): void {
    this.#ended = performance.now();
  }
}
