/** A rank's part in a loop: takes chunks of iterations until none are left, and runs the body for each. */
import { at } from "../base/at.js";
import { ArgumentError } from "../base/errors.js";
import { Decoder, Encoder } from "../closure/codec.js";
import "../closure/codecs.js";
import { errorToWire } from "../closure/error-wire.js";
import { compile, compileClosed } from "../closure/functions.js";
import type { LoopJob, LoopReply } from "../closure/job.js";
import { loopWord } from "../closure/job.js";
import type { AnyFunction } from "../closure/source.js";
import type { LoopWork } from "../transports/service.js";
import { eventTurn } from "../transports/service.js";
import type { Chunk, Dealer } from "./chunks.js";
import { Chunks, indexAt } from "./chunks.js";
import type { LoopSignal } from "./loop-signal.js";

/** What a rank brings to a loop. */
export interface LoopHost {
  readonly rank: number;
  readonly words: Int32Array;
  /** The shared heap. */
  readonly memory: WebAssembly.Memory;
  /** Kept for the pool's life, for `ctx.local`. */
  readonly locals: Map<string, unknown>;
  /** Aborted when the loop is given up. */
  readonly signal: LoopSignal;
  /** Told which iterations the rank holds, so that they can be named if it is lost. */
  hold(index: number, end: number): void;
  /** Told of each chunk that is done. */
  chunkDone(task: number, start: number, iterations: number): void;
}

type Body = (item: unknown, context: object) => unknown;

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

/** How long iterations may go on, in milliseconds, before the event loop is served. */
const patience = 10;

/** What a body that is not done when it returns meets in a loop that blocks its caller. */
function refusePromise(promise: PromiseLike<unknown>): never {
  promise.then(
    () => {},
    () => {}, // What it rejects with has nobody to go to.
  );
  throw new ArgumentError({
    operation: "parallelFor.sync",
    argument: "body",
    found: "a function that returns a promise",
    expected: "a function that is done when it returns",
    remedy: "use await parallelFor(...), or make the body synchronous",
  });
}

/** Runs the iterations that fall to this rank, or that `dealer` gives it. A body that throws ends the loop for everybody. */
export function* runLoop(job: LoopJob, host: LoopHost, dealer?: Dealer): LoopWork {
  const { words } = host;
  const decoders = new Map(
    Object.entries(job.body.decoders).map(([name, source]) => {
      const decode: AnyFunction = compileClosed(source);
      return [name, decode as (data: unknown) => unknown]; // A decoder, by the contract of codecs.
    }),
  );
  const scratch = job.scratch === undefined ? undefined : { ...job.scratch, memory: host.memory };
  const decoder = new Decoder(decoders, scratch, true);
  const captures: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(job.body.captures as Record<string, unknown>)) {
    captures[name] = decoder.decode(value);
  }
  const body = compile(
    job.body.source,
    job.body.values.map((value) => decoder.decode(value)),
  ) as Body; // A loop's body, by the contract of `parallelFor`.
  const base = {
    rank: host.rank,
    numRanks: job.members,
    get signal(): AbortSignal {
      return host.signal.signal;
    },
    local: (key: string, init: () => unknown): unknown => {
      if (!host.locals.has(key)) host.locals.set(key, init());
      return host.locals.get(key);
    },
    ...captures,
  };
  const { iterations } = job;
  const indexOf = (position: number): number => indexAt(job, position);
  const itemOf = (position: number): unknown =>
    iterations.kind === "range" ? indexOf(position) : decoder.decode(iterations.items[position]);

  const runs: number[] = [];
  const values: unknown[] = [];
  let numeric = true;
  let failure: LoopReply["failure"];
  let served = performance.now();
  const chunks = dealer ?? new Chunks(job, words);
  while (failure === undefined) {
    const dealt = chunks.next();
    // What a dealer promises is a chunk.
    const chunk = (isThenable(dealt) ? yield dealt : dealt) as Chunk | undefined;
    if (chunk === undefined) break;
    const start = performance.now();
    const end = indexOf(chunk.position(chunk.length - 1));
    for (let i = 0; i < chunk.length; i++) {
      const position = chunk.position(i);
      if (Atomics.load(words, loopWord.cancel) !== 0) break;
      const index = indexOf(position);
      host.hold(index, end);
      try {
        // Each iteration has a context of its own: an async body may outlive its turn.
        const context: object = Object.create(base, { index: { value: index, enumerable: true } }) as object;
        const result = body(itemOf(position), context);
        if (job.blocking && isThenable(result)) refusePromise(result);
        const value: unknown = isThenable(result) ? yield result : result;
        numeric &&= typeof value === "number";
        values.push(value);
        if (runs.length > 0 && at(runs, runs.length - 2) + at(runs, runs.length - 1) === position) {
          runs[runs.length - 1] = at(runs, runs.length - 1) + 1;
        } else runs.push(position, 1);
      } catch (error) {
        failure = { index, error: errorToWire(error) };
        Atomics.store(words, loopWord.cancel, 1);
        break;
      }
      Atomics.add(words, loopWord.done, 1);
    }
    const now = performance.now();
    chunks.took(chunk.length, now - start);
    host.chunkDone(job.task, start, chunk.length);
    if (Atomics.load(words, loopWord.cancel) !== 0) break;
    if (now - served > patience) {
      yield eventTurn;
      served = performance.now();
    }
  }
  host.hold(-1, -1);
  if (failure !== undefined) return { runs: [], failure };
  if (numeric) return { runs, numbers: Float64Array.from(values as number[]) };
  return encodeValues(runs, values, indexOf);
}

function encodeValues(
  runs: readonly number[],
  values: readonly unknown[],
  indexOf: (position: number) => number,
): LoopReply {
  const positions = runs.flatMap((first, i) =>
    i % 2 === 0 ? Array.from({ length: at(runs, i + 1) }, (_, offset) => first + offset) : [],
  );
  const encoder = new Encoder("parallelFor", "from");
  const encoded: unknown[] = [];
  for (let i = 0; i < values.length; i++) {
    const index = indexOf(at(positions, i));
    try {
      encoded.push(encoder.encode(values[i], `the result of iteration ${index}`));
    } catch (error) {
      return { runs: [], failure: { index, error: errorToWire(error) } };
    }
  }
  return { runs, values: encoded };
}
