/**
 * A pool's diary as a file for chrome://tracing and Perfetto: what every rank worked on and when, what the calling thread
 * waited for, and what befell the pool. It is written when the pool closes, and also when the program ends otherwise.
 */
import { closeSync, openSync, writeFileSync } from "node:fs";
import { at } from "../base/at.js";
import { ArgumentError, HeddleError } from "../base/errors.js";
import { timelineStride } from "../transports/words.js";
import type { PoolEvent } from "./events.js";
import { Spans } from "./spans.js";

/** One event of Chrome's trace event format; times in microseconds. */
export interface TraceEvent {
  readonly name: string;
  /** `X` is a span, `i` a moment, `M` names something. */
  readonly ph: "X" | "i" | "M";
  readonly pid: number;
  /** 0 is the calling thread, rank r is r + 1. */
  readonly tid: number;
  readonly ts?: number;
  readonly dur?: number;
  readonly cat?: string;
  readonly s?: "p";
  readonly args?: Readonly<Record<string, unknown>>;
}

/** A trace file. */
export interface TraceFile {
  readonly traceEvents: readonly TraceEvent[];
  readonly displayTimeUnit: "ms";
  readonly otherData: {
    readonly producer: "heddle";
    readonly node: string;
    readonly ranks: number;
    /** Spans that are missing: they were overwritten, or more than a trace holds. */
    readonly dropped: number;
  };
}

/** Spans that a trace holds at most: a few hundred megabytes of text. Of events, which are rare, there may be fewer. */
const mostSpans = 2_000_000;
const mostEvents = 100_000;

/** Events that are written to the file at a time. */
const together = 4096;

/** Asking for it takes longer than adding it. */
const { timeOrigin } = performance;

const micros = (milliseconds: number): number => Math.round(milliseconds * 1e6) / 1e3;

export class Trace {
  readonly #path: string;
  readonly #ranks: number;
  readonly #taskName: (task: number) => string | undefined;
  /** Names of the calling thread's calls; their numbers are below zero, those of tasks above. */
  readonly #calls: string[] = [];
  readonly #spans = new Spans(mostSpans);
  readonly #events: TraceEvent[] = [];
  readonly #onExit: () => void;
  #dropped = 0;
  #written = false;

  /** `settle` is called before the trace is written: it brings in what ranks have written meanwhile. */
  constructor(
    path: string,
    devices: readonly string[],
    taskName: (task: number) => string | undefined,
    settle: () => number,
  ) {
    this.#path = path;
    this.#taskName = taskName;
    this.#ranks = devices.length;
    // A path that cannot be written is refused now, not when the work is done.
    this.#write(path, 0, (cause) => {
      throw new ArgumentError({
        operation: "createPool",
        argument: "trace",
        found: JSON.stringify(path),
        expected: "a file that can be written",
        cause,
      });
    });
    const name = (tid: number, text: string): void => {
      this.#events.push({ name: "thread_name", ph: "M", pid: process.pid, tid, args: { name: text } });
    };
    this.#events.push({ name: "process_name", ph: "M", pid: process.pid, tid: 0, args: { name: "heddle" } });
    name(0, "calling thread");
    devices.forEach((device, rank) => name(rank + 1, `rank ${rank} (${device})`));
    this.#onExit = () => {
      if (this.#written) return;
      this.#write(path, settle(), () => {
        process.emitWarning(`heddle could not write the trace ${path}`);
      });
    };
    process.on("exit", this.#onExit);
  }

  /** A rank's work: an entry of its ring. */
  add(rank: number, timeline: Float64Array, slot: number): void {
    const iterations = at(timeline, slot + timelineStride - 1);
    const [kind, amount] =
      iterations > 0 ? (["loop", iterations] as const) : (["program", at(timeline, slot + 3)] as const);
    this.#spans.add(
      rank + 1,
      at(timeline, slot),
      kind,
      at(timeline, slot + 1),
      at(timeline, slot + 2),
      amount,
    );
  }

  /** A call of the calling thread; times are those of its `performance.now()`. */
  call(name: string, start: number, end: number, blocks: boolean): void {
    let known = this.#calls.indexOf(name);
    if (known < 0) known = this.#calls.push(name) - 1;
    const kind = blocks ? "blocking call" : "call";
    this.#spans.add(0, -1 - known, kind, timeOrigin + start, timeOrigin + end, 0);
  }

  /** Something that happened to the pool. */
  event(event: PoolEvent): void {
    const ts = micros(timeOrigin + performance.now());
    const tid = "rank" in event ? event.rank + 1 : 0;
    if (this.#events.length >= mostEvents) {
      this.#dropped++;
      return;
    }
    this.#events.push({
      name: event.type,
      ph: "i",
      pid: process.pid,
      tid,
      ts,
      cat: "event",
      s: "p",
      args: { ...event },
    });
  }

  /** Writes the trace as it is now. `dropped` counts entries that were overwritten in the ranks' rings. */
  write(dropped: number, path = this.#path): void {
    this.#write(path, dropped, (cause) => {
      throw new HeddleError("HEDDLE_TRACE", {
        operation: "trace",
        argument: "path",
        found: JSON.stringify(path),
        expected: "a file that can be written",
        cause,
      });
    });
  }

  /** Writes the trace for the last time. */
  end(dropped: number): void {
    process.off("exit", this.#onExit);
    if (this.#written) return;
    this.#written = true;
    this.write(dropped);
  }

  *#all(): Generator<TraceEvent> {
    yield* this.#events;
    const { pid } = process;
    for (const { thread, name, kind, start, end, amount } of this.#spans) {
      yield {
        name: (name < 0 ? this.#calls[-1 - name] : this.#taskName(name)) ?? "",
        ph: "X",
        pid,
        tid: thread,
        ts: micros(start),
        dur: micros(end - start),
        cat: kind,
        args: kind === "loop" ? { iterations: amount } : kind === "program" ? { bytes: amount } : {},
      };
    }
  }

  /** The file is written piece by piece: as one text it may be longer than a string can be. */
  #write(path: string, dropped: number, fail: (cause: unknown) => void): void {
    const rest: Omit<TraceFile, "traceEvents"> = {
      displayTimeUnit: "ms",
      otherData: {
        producer: "heddle",
        node: process.version,
        ranks: this.#ranks,
        dropped: this.#dropped + this.#spans.dropped + dropped,
      },
    };
    try {
      const file = openSync(path, "w");
      try {
        let piece: string[] = [];
        let separator = "";
        const flush = (): void => {
          if (piece.length === 0) return;
          writeFileSync(file, separator + piece.join(","));
          separator = ",";
          piece = [];
        };
        writeFileSync(file, '{"traceEvents":[');
        for (const event of this.#all()) {
          piece.push(JSON.stringify(event));
          if (piece.length === together) flush();
        }
        flush();
        writeFileSync(file, `],${JSON.stringify(rest).slice(1)}`);
      } finally {
        closeSync(file);
      }
    } catch (cause) {
      fail(cause);
    }
  }
}
