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
  | { readonly type: "rankHealed"; readonly rank: number; readonly threadId: number };
