/** Reads a trace back, and adds up where time went. */
import { readFileSync } from "node:fs";
import { ArgumentError } from "../base/errors.js";
import { formatTable } from "../base/table.js";
import type { TraceEvent, TraceFile } from "../executor/trace.js";

/** What a trace shows. Times are milliseconds. */
export interface TraceSummary {
  /** From the first span's start to the last one's end. */
  readonly span: number;
  readonly ranks: readonly {
    readonly rank: number;
    readonly busy: number;
    readonly idle: number;
    readonly spans: number;
    /** The longest time without work between two spans. */
    readonly longestGap: number;
  }[];
  readonly tasks: readonly TaskSummary[];
  readonly calls: readonly TaskSummary[];
  /** How often each event happened. */
  readonly events: Readonly<Record<string, number>>;
  readonly dropped: number;
}

/** All spans of one name. */
export interface TaskSummary {
  readonly name: string;
  readonly count: number;
  readonly total: number;
  readonly mean: number;
  readonly longest: number;
}

function refuse(file: string, found: string, cause?: unknown): never {
  throw new ArgumentError({
    operation: "heddle trace",
    argument: "file",
    found: `${JSON.stringify(file)}, ${found}`,
    expected: "a trace that heddle has written",
    ...(cause === undefined ? {} : { cause }),
  });
}

/** Reads a trace. Throws `ArgumentError` for what is no trace of heddle's. */
export function readTrace(file: string): TraceFile {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    return refuse(file, "which cannot be read", cause);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    return refuse(file, "which is no JSON (cut short, or another kind of file)", cause);
  }
  const trace = value as Partial<TraceFile> | null; // Its parts are checked here.
  if (
    typeof trace !== "object" ||
    trace?.otherData?.producer !== "heddle" ||
    !Array.isArray(trace.traceEvents)
  ) {
    return refuse(file, "which something else has written");
  }
  const spans: readonly TraceEvent[] = trace.traceEvents;
  const bad = spans.findIndex(
    (event) =>
      typeof event !== "object" ||
      typeof event.name !== "string" ||
      (event.ph === "X" && !(Number.isFinite(event.ts) && Number.isFinite(event.dur))),
  );
  if (bad >= 0) return refuse(file, `whose event ${bad} is damaged`);
  return trace as TraceFile; // Checked.
}

function byName(spans: readonly TraceEvent[]): TaskSummary[] {
  const found = new Map<string, { count: number; total: number; longest: number }>();
  for (const { name, dur = 0 } of spans) {
    const known = found.get(name) ?? { count: 0, total: 0, longest: 0 };
    known.count++;
    known.total += dur / 1000;
    known.longest = Math.max(known.longest, dur / 1000);
    found.set(name, known);
  }
  return [...found]
    .map(([name, { count, total, longest }]) => ({ name, count, total, mean: total / count, longest }))
    .sort((a, b) => b.total - a.total);
}

/** Adds up a trace. */
export function summarise({ traceEvents, otherData }: TraceFile): TraceSummary {
  const spans = traceEvents.filter(({ ph }) => ph === "X");
  let first = Infinity;
  let last = -Infinity;
  for (const { ts = 0, dur = 0 } of spans) {
    first = Math.min(first, ts);
    last = Math.max(last, ts + dur);
  }
  const span = spans.length === 0 ? 0 : (last - first) / 1000;
  const ranks = Array.from({ length: otherData.ranks }, (_, rank) => {
    const own = spans.filter(({ tid }) => tid === rank + 1).sort((a, b) => (a.ts ?? 0) - (b.ts ?? 0));
    let busy = 0;
    let longestGap = 0;
    let end: number | undefined;
    for (const { ts = 0, dur = 0 } of own) {
      busy += dur / 1000;
      if (end !== undefined) longestGap = Math.max(longestGap, (ts - end) / 1000);
      end = Math.max(end ?? 0, ts + dur);
    }
    return { rank, busy, idle: Math.max(0, span - busy), spans: own.length, longestGap };
  });
  const events: Record<string, number> = {};
  for (const { ph, name } of traceEvents) if (ph === "i") events[name] = (events[name] ?? 0) + 1;
  return {
    span,
    ranks,
    tasks: byName(spans.filter(({ tid }) => tid > 0)),
    calls: byName(spans.filter(({ tid }) => tid === 0)),
    events,
    dropped: otherData.dropped,
  };
}

/** A summary as text. */
export function formatSummary(summary: TraceSummary): string {
  const ms = (value: number): string => value.toFixed(3);
  const percent = (value: number): string => `${((100 * value) / (summary.span || 1)).toFixed(1)} %`;
  const tasks = (title: string, list: readonly TaskSummary[]): string =>
    formatTable(
      [title, "count", "total ms", "mean ms", "longest ms"],
      list.map((t) => [t.name, String(t.count), ms(t.total), ms(t.mean), ms(t.longest)]),
    );
  const parts = [
    `${ms(summary.span)} ms from first to last`,
    formatTable(
      ["rank", "busy ms", "busy", "idle ms", "spans", "longest gap ms"],
      summary.ranks.map((r) => [
        String(r.rank),
        ms(r.busy),
        percent(r.busy),
        ms(r.idle),
        String(r.spans),
        ms(r.longestGap),
      ]),
    ),
    tasks("task", summary.tasks),
    tasks("call", summary.calls),
  ];
  const events = Object.entries(summary.events);
  if (events.length > 0) parts.push(events.map(([name, count]) => `${name}: ${count}`).join(", "));
  if (summary.dropped > 0)
    parts.push(`${summary.dropped} spans are missing: they came faster than they were kept`);
  return parts.join("\n\n");
}
