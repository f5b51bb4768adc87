/** What can happen to a pool that its user may want to know, as data. */

/** Something that happened to a pool. */
export type PoolEvent =
  /** A rank's thread ended before it was told to. */
  | {
      readonly type: "rankLost";
      readonly rank: number;
      readonly task: string | undefined;
      readonly reason: string;
    }
  /** It was started again, with everything that it had loaded. */
  | { readonly type: "rankHealed"; readonly rank: number; readonly threadId: number }
  /**
   * From now on the calling thread carries out the steps of a plan alone (`inline` is true), or the ranks do again: the
   * one or the other was measured to be quicker. The bits are the same.
   */
  | { readonly type: "stepMode"; readonly plan: string; readonly inline: boolean }
  /** An objective is more than a rank's fair share: its chunks are computed by several ranks. The bits are the same. */
  | {
      readonly type: "split";
      readonly objective: string;
      readonly along: "rows" | "columns";
      readonly chunks: number;
      /** The ranks that have chunks of it. */
      readonly ranks: readonly number[];
    }
  /** By measured costs another placement of a function's objectives is clearly better, and is used from now on. */
  | {
      readonly type: "rebalanced";
      /** The objectives that are elsewhere now. */
      readonly moved: readonly string[];
      /** Milliseconds of the busiest rank in a call, as it was and as it should be. */
      readonly before: number;
      readonly after: number;
    }
  /** The heap cannot hold the arrays of a function's method at once: it is evaluated in waves of chunks. */
  | {
      readonly type: "streamed";
      readonly method: string;
      readonly waves: number;
      /** Bytes that the pool may use of the heap. */
      readonly heap: number;
    };
