/** Whether this thread is a rank: a loop inside a loop's body then runs where it is, instead of starting ranks of its own. */

let inRank = false;

/** Marks this thread as a rank's, for good. */
export function becomeRankThread(): void {
  inRank = true;
}

/** True on the thread of a rank. */
export function isRankThread(): boolean {
  return inRank;
}
