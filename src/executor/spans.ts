/**
 * The spans of a trace in columns of numbers: noting one costs some nanoseconds and no garbage, so that a program takes as
 * long as without a trace.
 */
import { at } from "../base/at.js";

/** 64-bit floats per span: thread, name, kind, start, end, amount. */
const stride = 6;

/** Spans per block. */
const blockSpans = 8192;

/** What kinds of spans there are; the first two have an amount. */
export const spanKinds = ["program", "loop", "call", "blocking call"] as const;

export type SpanKind = (typeof spanKinds)[number];

/** A span, read again. Times are milliseconds of the wall clock. */
export interface Span {
  readonly thread: number;
  /** A number that whoever noted the span gave its name. */
  readonly name: number;
  readonly kind: SpanKind;
  readonly start: number;
  readonly end: number;
  readonly amount: number;
}

export class Spans {
  readonly #most: number;
  readonly #blocks: Float64Array[] = [];
  #length = 0;
  /** Spans that were not kept, since there are too many. */
  dropped = 0;

  constructor(most: number) {
    this.#most = most;
  }

  add(thread: number, name: number, kind: SpanKind, start: number, end: number, amount: number): void {
    if (this.#length === this.#most) {
      this.dropped++;
      return;
    }
    const position = this.#length++ % blockSpans;
    if (position === 0) this.#blocks.push(new Float64Array(stride * blockSpans));
    const block = at(this.#blocks, this.#blocks.length - 1);
    const slot = position * stride;
    block[slot] = thread;
    block[slot + 1] = name;
    block[slot + 2] = spanKinds.indexOf(kind);
    block[slot + 3] = start;
    block[slot + 4] = end;
    block[slot + 5] = amount;
  }

  *[Symbol.iterator](): Generator<Span> {
    for (let i = 0; i < this.#length; i++) {
      const block = at(this.#blocks, Math.floor(i / blockSpans));
      const slot = (i % blockSpans) * stride;
      yield {
        thread: at(block, slot),
        name: at(block, slot + 1),
        kind: at(spanKinds, at(block, slot + 2)),
        start: at(block, slot + 3),
        end: at(block, slot + 4),
        amount: at(block, slot + 5),
      };
    }
  }
}
