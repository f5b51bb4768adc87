/**
 * The first door: a loop whose iterations are independent, run by the ranks of a pool. The body is plain JavaScript, so
 * no plan is made; ranks take iterations through a work-sharing schedule, and results come back in order.
 */
import { ArgumentError } from "../base/errors.js";
import { captureBody } from "../closure/body.js";
import type { AnyFunction } from "../closure/source.js";
import { isRankThread } from "../rank/thread.js";
import { awaiting, blocking } from "../transports/reply.js";
import { coreOf } from "./cores.js";
import { defaultPool, defaultPoolNow } from "./defaultPool.js";
import type { LoopOptions, Range } from "./loop-options.js";
import { checkLoopOptions, resolveRange, resolveSchedule } from "./loop-options.js";
import { runHere } from "./loop-here.js";
import type { LoopResults, PreparedLoop } from "./loop-job.js";
import { callOf } from "./loop-run.js";

/** What a body is told besides its item. The values given by `with` are there too, by name. */
export interface LoopContext {
  /** The rank that runs the iteration. */
  readonly rank: number;
  /** How many ranks take part in the loop. */
  readonly numRanks: number;
  /** The loop's index; for items, the item's position. */
  readonly index: number;
  /** Aborted when the loop is given up. */
  readonly signal: AbortSignal;
  /** What `init` made when the key was first asked for on this rank; kept for the pool's life. */
  local<T>(key: string, init: () => T): T;
}

/** The results of a loop in the order of its indices: numbers in one typed array, everything else in a list. */
export type LoopResult<T> = [T] extends [number] ? Float64Array : T[];

/** Everything that is known of a loop before a pool is needed. */
interface Loop {
  readonly prepared: PreparedLoop;
  readonly options: LoopOptions;
  /** The calling thread runs it. */
  readonly here: boolean;
}

function prepare(operation: string, over: unknown, body: AnyFunction, options: LoopOptions): Loop {
  checkLoopOptions(options);
  const range = resolveRange(over);
  const items = "items" in range.iterations ? range.iterations.items : undefined;
  const captured = captureBody(operation, body, options.with ?? {}, items);
  const schedule = resolveSchedule(options.schedule ?? "auto");
  // A closed pool and one of another kind are refused before anything runs.
  if (options.pool !== undefined) coreOf(options.pool);
  options.signal?.throwIfAborted();
  const here = options.if === false || (options.pool === undefined && isRankThread());
  return { prepared: { range, schedule, captured }, options, here };
}

async function runAwaited(over: unknown, body: AnyFunction, given: LoopOptions = {}): Promise<LoopResults> {
  const { prepared, options, here } = prepare("parallelFor", over, body, given);
  if (here) return awaiting(runHere(prepared, options, false));
  const core = options.pool === undefined ? undefined : coreOf(options.pool);
  if (prepared.range.count === 0 && core?.queue.closed !== true) return new Float64Array(0);
  // A call that waits must not see what its caller does to the values meanwhile.
  const own =
    core?.prompt === true ? prepared : { ...prepared, captured: structuredClone(prepared.captured) };
  const pool = options.pool ?? (await defaultPool());
  const target = core ?? coreOf(pool);
  return target.awaited(callOf(own, options, pool, target));
}

function runBlocked(over: unknown, body: AnyFunction, given: LoopOptions = {}): LoopResults {
  const operation = "parallelFor.sync";
  if (Object.prototype.toString.call(body) === "[object AsyncFunction]") {
    throw new ArgumentError({
      operation,
      argument: "body",
      found: "an async function",
      expected: "a function that is done when it returns",
      remedy: "use await parallelFor(...), or make the body synchronous",
    });
  }
  const { prepared, options, here } = prepare(operation, over, body, given);
  if (here) return blocking(runHere(prepared, options, true));
  if (prepared.range.count === 0 && options.pool?.closed !== true) return new Float64Array(0);
  const pool = options.pool ?? defaultPoolNow(operation);
  const core = coreOf(pool);
  return core.blocked(callOf(prepared, options, pool, core));
}

/** A loop in its awaited form, and as `sync` in its blocking one. */
export interface ParallelFor {
  <T, W extends object = object>(
    over: number | Range,
    body: (index: number, context: LoopContext & W) => T,
    options?: LoopOptions<W>,
  ): Promise<LoopResult<Awaited<T>>>;
  <I, T, W extends object = object>(
    over: Iterable<I>,
    body: (item: I, context: LoopContext & W) => T,
    options?: LoopOptions<W>,
  ): Promise<LoopResult<Awaited<T>>>;
  /**
   * The same loop for code that cannot await: it blocks the calling thread until the ranks are done, and returns their
   * results. Bodies run on the ranks all the same, and may not be async.
   *
   * Throws what the awaited form rejects with, and `BlockingError` while an asynchronous call is under way on the pool.
   */
  readonly sync: {
    <T, W extends object = object>(
      over: number | Range,
      body: (index: number, context: LoopContext & W) => T,
      options?: LoopOptions<W>,
    ): LoopResult<T>;
    <I, T, W extends object = object>(
      over: Iterable<I>,
      body: (item: I, context: LoopContext & W) => T,
      options?: LoopOptions<W>,
    ): LoopResult<T>;
  };
}

/**
 * Runs `body` for every index or item on the ranks of a pool, and resolves to its results in order.
 *
 * What the body uses from outside is found by itself, at its values of the moment: plain data and typed arrays are copied,
 * arrays on shared memory (`sharedArray`) are the same memory, functions bring along what they use. Writing to a copy is
 * refused, since it would be lost. Where nothing can read a function's captures (a bundler that renames, a runtime without
 * Node's inspector), they are given by name in `with`. A body may be async. A body that throws keeps what has not started
 * from starting.
 *
 * Rejects with `RankError` (index, rank, the worker's stack; `cause` is what was thrown), `RankLostError` if a rank
 * ends, `TimeoutError`, `CaptureError` for what cannot cross, `ArgumentError`, `PoolClosedError`, or the signal's reason.
 * @example
 * const squares = await parallelFor(100, (i) => i * i);
 */
// The two functions take and give what the interface says; its overloads cannot be written on an assignment.
export const parallelFor = Object.assign(runAwaited, { sync: runBlocked }) as unknown as ParallelFor;
