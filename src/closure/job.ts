/** What crosses for a loop: the body with what it captured, which iterations a rank takes, and what they gave. */
import type { ErrorWire } from "./error-wire.js";
import type { CompiledSource } from "./functions.js";

/** A body, ready to cross. */
export interface BodyWire {
  readonly source: CompiledSource;
  /** The encoded values of the source's names. */
  readonly values: readonly unknown[];
  /** The encoded `with` values: an object. */
  readonly captures: unknown;
  /** Decoders that the rank may not know, by codec. */
  readonly decoders: Readonly<Record<string, CompiledSource>>;
}

/** How iterations are dealt out. */
export type Schedule =
  /** Everybody's share is fixed beforehand: one block each, or chunks in turn. */
  | { readonly kind: "static"; readonly chunk?: number }
  /** Who is free takes the next chunk. */
  | { readonly kind: "dynamic"; readonly chunk: number }
  /** The same with chunks that shrink as the work runs out, but not below `chunk`. */
  | { readonly kind: "guided"; readonly chunk: number }
  /** Dynamic, with chunks sized by measured times. */
  | { readonly kind: "auto" };

/** What is looped over. */
export type Iterations =
  | { readonly kind: "range"; readonly from: number; readonly step: number }
  /** Encoded items by position; a rank gets those that it may run. */
  | { readonly kind: "items"; readonly items: readonly unknown[] };

/** Indices of the words of a loop in shared memory. */
export const loopWord = { next: 0, cancel: 1, done: 2, count: 3 } as const;

/** One rank's part in a loop. */
export interface LoopJob {
  /** The pool's number of the call. */
  readonly loop: number;
  readonly body: BodyWire;
  readonly iterations: Iterations;
  /** Number of iterations that are dealt out. */
  readonly shared: number;
  /** Their positions; the first `shared` positions if absent. */
  readonly positions?: readonly number[];
  /** Positions that this rank must run besides: items that it holds. */
  readonly own: readonly number[];
  readonly schedule: Schedule;
  /** This rank's place among those that take part, and how many do. */
  readonly member: number;
  readonly members: number;
  readonly task: number;
  /** The caller blocks: bodies may not promise their results. */
  readonly blocking: boolean;
  /** Memory of the heap that the rank's values may use. */
  readonly scratch?: { readonly address: number; readonly bytes: number };
  /** The loop's words: an address in the heap, or a buffer of their own. */
  readonly words: number | SharedArrayBuffer;
}

/** What a rank's iterations gave. */
export interface LoopReply {
  /** Pairs: first position of a run of neighbours, and how many; in the order of the values. */
  readonly runs: readonly number[];
  /** The values, if all are numbers. */
  readonly numbers?: Float64Array;
  /** Otherwise each value, encoded. */
  readonly values?: readonly unknown[];
  /** The iteration that threw. */
  readonly failure?: { readonly index: number; readonly error: ErrorWire };
}
