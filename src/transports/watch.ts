/**
 * How long ranks watch for the next step before they block: as long as steps have lately been apart, so that an optimizer
 * that thinks for a millisecond between its steps finds its ranks awake; but never long, for a core that watches does
 * nothing else.
 */

/** The least, in microseconds; also where steps are too far apart to watch for. */
const least = 100;
/** The most, in microseconds. */
const most = 2000;
/** Gaps count as no longer than this, in microseconds, so that one pause is soon forgotten. */
const longest = 5000;
/** How much of what is known a new gap replaces. */
const weight = 1 / 4;
/** A gap varies: by how much of it longer a rank watches. */
const margin = 1.5;

export class Watch {
  /** Microseconds between steps, averaged. */
  #gap = 0;
  #ended: number | undefined;

  /** A step begins; how many microseconds to watch after it. */
  begin(): number {
    if (this.#ended !== undefined) {
      const gap = Math.min(longest, 1000 * (performance.now() - this.#ended));
      this.#gap += weight * (gap - this.#gap);
    }
    const wanted = margin * this.#gap;
    return wanted <= most ? Math.max(least, Math.round(wanted)) : least;
  }

  /** The step has ended. */
  end(): void {
    this.#ended = performance.now();
  }
}
