/** Reads and checks what a loop is asked to be. */
import { ArgumentError } from "../base/errors.js";
import { requireKnownOptions } from "../base/options.js";
import type { Schedule } from "../closure/job.js";
import type { Pool } from "./pool.js";
import { requireTimeout } from "./timeout.js";

/** Integers from `from` (0 by default) up to, and without, `to`. */
export interface Range {
  readonly from?: number;
  readonly to: number;
  /** 1 by default; negative to count down; not 0. */
  readonly step?: number;
}

/** How iterations are dealt to ranks. */
export type ScheduleOption =
  | "static"
  | "dynamic"
  | "guided"
  | "auto"
  | { readonly kind: "static" | "dynamic" | "guided"; readonly chunk?: number }
  | { readonly kind: "auto" };

/** Options of a loop. */
export interface LoopOptions<W extends object = object> {
  /**
   * Values for the body by name: members of its second argument, and of its free variables those of the same name, which
   * are then not looked for. Everything but shared memory is copied, once per rank.
   */
  readonly with?: W;
  /** Default: a pool that is made when it is first needed. It keeps the process alive only while a call is under way. */
  readonly pool?: Pool;
  /**
   * `"static"`: one block of neighbours per rank, or chunks in turn. `"dynamic"`: who is free takes the next chunk (of 1).
   * `"guided"`: the same with shrinking chunks. `"auto"` (default): dynamic, with chunks sized by measured times.
   */
  readonly schedule?: ScheduleOption;
  /** At most this many ranks take part. */
  readonly ranks?: number;
  /** `false`: the calling thread runs all iterations, by the same rules of capture and copying. */
  readonly if?: boolean;
  /** Gives the loop up: what has not started does not start. */
  readonly signal?: AbortSignal;
  /**
   * Milliseconds from the loop's start after which it fails with `TimeoutError`. Ranks that are still in a body then are
   * ended and started again, so a body that never returns holds nobody up.
   */
  readonly timeout?: number;
  /** Told now and then how many iterations are done, and at the end. */
  readonly onProgress?: (done: number, total: number) => void;
}

/** What is looped over, checked. */
export interface LoopRange {
  readonly count: number;
  readonly iterations:
    { readonly from: number; readonly step: number } | { readonly items: readonly unknown[] };
}

/** More iterations than this are not counted in 32 bits. */
const mostIterations = 2 ** 31 - 1;

function refuse(argument: string, found: unknown, expected: string, remedy?: string): never {
  throw new ArgumentError({
    operation: "parallelFor",
    argument,
    found: typeof found === "string" ? JSON.stringify(found) : String(found),
    expected,
    ...(remedy === undefined ? {} : { remedy }),
  });
}

function checkCount(argument: string, count: number): number {
  if (!Number.isSafeInteger(count) || count < 0) refuse(argument, count, "an integer that is not negative");
  if (count > mostIterations) {
    refuse(argument, count, `at most ${mostIterations}`, "loop over blocks, and over elements in the body");
  }
  return count;
}

/** Reads a number, a range or an iterable. */
export function resolveRange(over: unknown): LoopRange {
  if (typeof over === "number") return { count: checkCount("n", over), iterations: { from: 0, step: 1 } };
  if (typeof over !== "object" || over === null) {
    refuse(
      "n",
      typeof over === "function" ? "a function" : over,
      "a number, { from, to, step } or an iterable",
    );
  }
  if (Symbol.iterator in over) {
    const items: unknown[] = Array.from(over as Iterable<unknown>); // It has an iterator.
    return { count: items.length, iterations: { items } };
  }
  if (Symbol.asyncIterator in over) {
    refuse(
      "items",
      "an async iterable",
      "an iterable",
      "collect its items first: for await (const item of ...)",
    );
  }
  if (!("to" in over)) refuse("n", "an object without `to`", "a number, { from, to, step } or an iterable");
  const { from = 0, to, step = 1 } = over as Range; // Its fields are checked here.
  for (const [name, value] of Object.entries({ from, to, step })) {
    if (!Number.isSafeInteger(value)) refuse(name, value, "an integer");
  }
  if (step === 0) refuse("step", step, "not 0");
  return {
    count: checkCount("the number of iterations", Math.max(0, Math.ceil((to - from) / step))),
    iterations: { from, step },
  };
}

/** Reads a schedule. */
export function resolveSchedule(schedule: unknown): Schedule {
  const given = typeof schedule === "object" && schedule !== null ? schedule : { kind: schedule };
  const { kind, chunk } = given as { kind?: unknown; chunk?: unknown };
  if (chunk !== undefined) {
    if (!Number.isSafeInteger(chunk) || (chunk as number) < 1)
      refuse("schedule.chunk", chunk, "an integer of at least 1");
    if (kind === "auto") refuse("schedule.chunk", chunk, "none: the auto schedule sizes its chunks itself");
  }
  const size = chunk as number | undefined; // Checked above.
  switch (kind) {
    case "static":
      return size === undefined ? { kind } : { kind, chunk: size };
    case "dynamic":
    case "guided":
      return { kind, chunk: size ?? 1 };
    case "auto":
      return { kind };
    default:
      return refuse("schedule", kind, '"static", "dynamic", "guided" or "auto"');
  }
}

const known = ["with", "pool", "schedule", "ranks", "if", "signal", "timeout", "onProgress"];

/** Refuses options that do not exist or are of the wrong type. */
export function checkLoopOptions(options: LoopOptions): void {
  requireKnownOptions("parallelFor", options, known);
  const { ranks, signal, onProgress } = options;
  if (ranks !== undefined && (!Number.isSafeInteger(ranks) || ranks < 1)) {
    refuse("options.ranks", ranks, "an integer of at least 1");
  }
  if (options.if !== undefined && typeof options.if !== "boolean")
    refuse("options.if", options.if, "true or false");
  if (signal !== undefined && !(signal instanceof AbortSignal))
    refuse("options.signal", signal, "an AbortSignal");
  requireTimeout("parallelFor", options.timeout);
  if (onProgress !== undefined && typeof onProgress !== "function") {
    refuse("options.onProgress", onProgress, "a function");
  }
}
