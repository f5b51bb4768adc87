/**
 * One evaluation of an expression among several that are written out side by side: with some loop indices shifted by a
 * constant, and along one of them possibly as a vector.
 */
import type { Lanes } from "./vector.js";

/** How an expression is evaluated. */
export interface Lane {
  /** Constants added to loop indices. */
  readonly shift: ReadonlyMap<string, number>;
  /** The index along which a vector is computed. */
  readonly along: string | null;
  readonly lanes: Lanes;
  /** True if the expression is evaluated more than once per iteration. */
  readonly repeated: boolean;
}

/** One number at the indices as they stand. */
export const single: Lane = { shift: new Map(), along: null, lanes: 2, repeated: false };

/** A vector along an index, with some indices shifted. */
export function vectorLane(along: string, lanes: Lanes, shift: ReadonlyMap<string, number>): Lane {
  return { shift, along, lanes, repeated: true };
}

/** One number with some indices shifted. */
export function shiftedLane(shift: ReadonlyMap<string, number>): Lane {
  return { shift, along: null, lanes: 2, repeated: true };
}
