/**
 * A pool's diary as a file for chrome://tracing and Perfetto: what every rank worked on and when, what the calling thread
 * waited for, and what befell the pool. It is written when the pool closes, and also when the program ends otherwise.
 */
import { writeFileSync } from "node:fs";
import { ArgumentError, HeddleError } from "../base/errors.js";
import type { PoolEvent } from "./events.js";
import type { TimelineEntry } from "./timeline.js";

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

/** Spans that a trace holds at most, a few hundred megabytes of text. */
const mostEvents = 2_000_000;

const micros = (milliseconds: number): number => Math.round(milliseconds * 1e6) / 1e3;

export class Trace {
  readonly #path: string;
  readonly #ranks: number;
  readonly #events: TraceEvent[] = [];
  readonly #onExit: () => void;
  #dropped = 0;
  #written = false;

  /** `settle` is called before the trace is written: it brings in what ranks have written meanwhile. */
  constructor(path: string, devices: readonly string[], settle: () => number) {
    this.#path = path;
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

  /** A rank's work. */
  add({ rank, task, start, end, bytes, iterations }: TimelineEntry): void {
    const args = iterations > 0 ? { iterations } : { bytes };
    this.#span(rank + 1, task, iterations > 0 ? "loop" : "program", start, end, args);
  }

  /** A call of the calling thread, in milliseconds of the wall clock. */
  call(name: string, start: number, end: number, blocks: boolean): void {
    this.#span(0, name, blocks ? "blocking call" : "call", start, end, {});
  }

  /** Something that happened to the pool. */
  event(event: PoolEvent): void {
    const ts = micros(performance.timeOrigin + performance.now());
    const tid = "rank" in event ? event.rank + 1 : 0;
    this.#push({
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

  #span(
    tid: number,
    name: string,
    cat: string,
    start: number,
    end: number,
    args: Readonly<Record<string, unknown>>,
  ): void {
    this.#push({
      name,
      ph: "X",
      pid: process.pid,
      tid,
      ts: micros(start),
      dur: micros(end - start),
      cat,
      args,
    });
  }

  #push(event: TraceEvent): void {
    if (this.#events.length < mostEvents) this.#events.push(event);
    else this.#dropped++;
  }

  #write(path: string, dropped: number, fail: (cause: unknown) => void): void {
    const file: TraceFile = {
      traceEvents: this.#events,
      displayTimeUnit: "ms",
      otherData: {
        producer: "heddle",
        node: process.version,
        ranks: this.#ranks,
        dropped: this.#dropped + dropped,
      },
    };
    try {
      writeFileSync(path, JSON.stringify(file));
    } catch (cause) {
      fail(cause);
    }
  }
}
