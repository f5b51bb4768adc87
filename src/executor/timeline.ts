/** What can be known of a rank's work afterwards. */

/** One piece of work of a rank. */
export interface TimelineEntry {
  readonly rank: number;
  /** The objective, program or loop. */
  readonly task: string;
  /** Milliseconds of the wall clock. */
  readonly start: number;
  readonly end: number;
  /** Bytes of a program's arguments and results. */
  readonly bytes: number;
  /** Iterations of a loop; 0 for programs. */
  readonly iterations: number;
}

/** What a rank has done so far. */
export interface RankCounters {
  /** Milliseconds spent in programs and bodies. */
  readonly busy: number;
  readonly steps: number;
  readonly iterations: number;
}
