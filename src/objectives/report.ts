/**
 * Where objectives run and where time goes.
 */
import { at } from "../base/at.js";
import { formatTable } from "../base/table.js";
import type { Entry } from "./entry.js";
import type { DerivativeMode } from "./programs.js";

/** One objective of a report. */
export interface ObjectiveReport {
  readonly name: string;
  /** Its rows: from `start` to before `end`. */
  readonly rows: readonly [start: number, end: number];
  /** The coefficients that it sees. */
  readonly dimX: number;
  /** The rank that holds it; the one with most of it, if it is split. */
  readonly rank: number;
  readonly device: string;
  readonly mode: DerivativeMode;
  /** Into how many chunks it is split; 1 if it is computed in one piece. */
  readonly chunks: number;
  /** What each rank has of it: neighbouring chunks, and the milliseconds spent on it so far. */
  readonly parts: readonly {
    readonly rank: number;
    readonly chunks: number;
    readonly milliseconds: number;
  }[];
  /** Evaluations so far. */
  readonly calls: number;
  /** Milliseconds in its programs, all calls together. */
  readonly milliseconds: number;
  /** Bytes of its constants and data. */
  readonly bytes: number;
}

/** One rank of a report. */
export interface RankReport {
  readonly rank: number;
  readonly device: string;
  /** 0 is the calling thread. */
  readonly threadId: number;
  /** Milliseconds in programs since the objective function was built. */
  readonly busy: number;
  /** Milliseconds not in programs, while the function was evaluated. */
  readonly idle: number;
}

/** Where objectives run and where time goes. `toString` gives a table. */
export interface FunctionReport {
  readonly objectives: readonly ObjectiveReport[];
  readonly ranks: readonly RankReport[];
  /** How often objectives were placed anew because measurements said so. */
  readonly rebalanced: number;
  /** Methods whose arrays the heap cannot hold at once, and in how many waves they are evaluated. */
  readonly streamed: readonly { readonly method: string; readonly waves: number }[];
  toString(): string;
}

const millis = (value: number): string => value.toFixed(3);

/** What a report says beside its two tables. */
type Remarks = Pick<FunctionReport, "rebalanced" | "streamed">;

/** A report that prints as a table. */
export function makeReport(
  objectives: readonly ObjectiveReport[],
  ranks: readonly RankReport[],
  remarks: Remarks = { rebalanced: 0, streamed: [] },
): FunctionReport {
  return { objectives, ranks, ...remarks, toString: () => formatReport(objectives, ranks, remarks) };
}

function formatReport(
  objectives: readonly ObjectiveReport[],
  ranks: readonly RankReport[],
  { rebalanced, streamed }: Remarks,
): string {
  const parts = formatTable(
    ["objective", "rows", "sees", "rank", "device", "mode", "chunks", "calls", "ms", "kB"],
    objectives.map((o) => [
      o.name,
      `${o.rows[0]}:${o.rows[1]}`,
      String(o.dimX),
      o.parts.map(({ rank }) => rank).join(","),
      o.device,
      o.mode,
      o.parts.map(({ chunks }) => chunks).join("+"),
      String(o.calls),
      millis(o.milliseconds),
      (o.bytes / 1024).toFixed(1),
    ]),
  );
  const pool = formatTable(
    ["rank", "device", "thread", "busy ms", "idle ms"],
    ranks.map((r) => [String(r.rank), r.device, String(r.threadId), millis(r.busy), millis(r.idle)]),
  );
  const remarks = [
    ...(rebalanced > 0 ? [`placed anew ${rebalanced} times, by measured costs`] : []),
    ...streamed.map(
      ({ method, waves }) => `${method}: in ${waves} waves, since the heap cannot hold it at once`,
    ),
  ];
  return [parts, pool, ...(remarks.length > 0 ? [remarks.join("\n")] : [])].join("\n\n");
}

/** Bytes of an objective's constants and data. */
export function bytesOfEntry(entry: Entry): number {
  const { constants } = entry.program("linearize");
  return [...constants, ...entry.data].reduce((sum, { data }) => sum + data.byteLength, 0);
}

/** The report of a function that the calling thread evaluates. */
export function localReport(
  entries: readonly Entry[],
  times: readonly { readonly milliseconds: number; readonly calls: number }[],
): FunctionReport {
  const busy = times.reduce((sum, { milliseconds }) => sum + milliseconds, 0);
  return makeReport(
    entries.map((entry, i) => ({
      name: entry.name,
      rows: [entry.start, entry.start + entry.dimF] as const,
      dimX: entry.part.size,
      rank: 0,
      device: "wasm",
      mode: entry.residual.mode,
      chunks: 1,
      parts: [{ rank: 0, chunks: 1, milliseconds: at(times, i).milliseconds }],
      calls: at(times, i).calls,
      milliseconds: at(times, i).milliseconds,
      bytes: bytesOfEntry(entry),
    })),
    [{ rank: 0, device: "wasm", threadId: 0, busy, idle: 0 }],
  );
}
