/**
 * Objectives on the ranks of a pool. Each method is a resident plan, loaded when it is first called.
 */
import { Lease } from "../arrays/index.js";
import { at } from "../base/at.js";
import type { Storage } from "../base/dtype.js";
import { ArgumentError, DTypeError, MemoryError } from "../base/errors.js";
import type { PoolCore } from "../executor/core.js";
import { coreOf } from "../executor/cores.js";
import type { Routine } from "../executor/doors.js";
import { awaitRoutine, blockRoutine, through } from "../executor/doors.js";
import type { Pool } from "../executor/pool.js";
import type { ResidentPlan } from "../executor/resident.js";
import { sharesHeap } from "../rank/devices.js";
import { dataRegion, extraRegion, gradientRegion } from "./arguments.js";
import type { Engine, EvaluateOptions, FunctionResult } from "./engine.js";
import type { Entry } from "./entry.js";
import type { Layout } from "./layout.js";
import { placeEntry } from "./localEngine.js";
import { Measurements } from "./measure.js";
import type { Objective } from "./objective.js";
import type { ObjectivePlacement, RankBudget } from "./placement.js";
import { homeOf, isSplit, placeEntries, ranksOf, tasksOf } from "./placement.js";
import { methodPlan } from "./plans.js";
import type { Method } from "./programs.js";
import type { FunctionReport } from "./report.js";
import { bytesOfEntry, makeReport } from "./report.js";
import { announce, residencyId } from "./residency.js";
import { ResidentPlans } from "./residentPlans.js";
import type { Results } from "./streaming.js";
import { Streamer } from "./streaming.js";

function floats(region: Storage): Float64Array {
  if (!(region instanceof Float64Array)) throw new DTypeError({ operation: "collect", found: "not float64" });
  return region;
}

function vectorsIn(
  method: Method,
  x: Float64Array,
  extra: Float64Array | null,
): Record<string, Float64Array> {
  const name = extraRegion(method);
  return name === null || extra === null ? { x } : { x, [name]: extra };
}

/** Refuses a rank that the pool does not have. */
function requireRanks(entries: readonly Entry[], ranks: number): void {
  for (const { name, definition } of entries) {
    const { rank } = definition.options;
    if (rank !== undefined && rank >= ranks) {
      throw new ArgumentError({
        operation: `objective "${name}"`,
        argument: "rank",
        found: String(rank),
        expected: `a rank of the pool, from 0 to ${ranks - 1}`,
        remedy: "make a pool with more ranks, or leave the placement to heddle",
      });
    }
  }
}

/** Evaluates entries on a pool. */
export class PoolEngine implements Engine {
  readonly pool: Pool;
  readonly #core: PoolCore;
  readonly #entries: readonly Entry[];
  readonly #layout: Layout;
  /** Where each objective is; plans follow when they are called next. */
  #placement: readonly ObjectivePlacement[];
  readonly #measurements: Measurements;
  #rebalanced = 0;
  readonly #plans: ResidentPlans;
  /** Methods whose regions the heap cannot hold. */
  readonly #streamed = new Set<Method>();
  readonly #streamer: Streamer;
  /** The end of what streams, or writes what streams read. */
  #tail: Promise<unknown> = Promise.resolve();
  /** Objectives whose arrays lie in the heap for loops. */
  readonly #placed = new Map<number, ReturnType<typeof placeEntry>>();
  /** What takes back that the ranks hold the objectives. */
  readonly #withdrawals: (() => void)[] = [];
  readonly #busyBefore: readonly number[];
  /** Milliseconds that ranks had worked on the names of the objectives before. */
  readonly #workedBefore: readonly (readonly number[])[];
  #calls = 0;
  /** Milliseconds of the calls so far. */
  #elapsed = 0;

  constructor(pool: Pool, entries: readonly Entry[], layout: Layout, objectives: readonly Objective[]) {
    const core = coreOf(pool);
    const { ranks } = pool.report();
    requireRanks(entries, ranks.length);
    this.pool = pool;
    this.#core = core;
    this.#entries = entries;
    this.#layout = layout;
    this.#placement = placeEntries(entries, this.#budget);
    this.#measurements = new Measurements(entries, core.ledger, (task) => core.taskNumber(task));
    this.#plans = new ResidentPlans(pool, (method, placement) =>
      methodPlan(method, entries, placement, this.#budget.ranks, layout.size),
    );
    const grids = this.#placement.map(({ grid }) => grid);
    this.#streamer = new Streamer(pool, entries, grids, layout.size);
    this.#busyBefore = ranks.map(({ busy }) => busy);
    this.#workedBefore = entries.map((_, i) => this.#workedBy(i));
    entries.forEach((entry, i) => {
      const rankOf = (): number => homeOf(at(this.#placement, i));
      const withdraw = announce(at(objectives, i), {
        id: residencyId(),
        pool,
        get rank() {
          return rankOf();
        },
        entry,
        layout,
        placed: () => this.#place(i),
      });
      this.#withdrawals.push(withdraw);
    });
    this.#announceSplits(this.#placement.map(() => null));
  }

  /** What a placement may count on. */
  get #budget(): RankBudget {
    const { devices, isolation, memory } = this.#core.settings;
    const shares = isolation === "thread" && devices.every(sharesHeap);
    return { ranks: devices.length, memory, sharesHeap: shares };
  }

  /** An objective's arrays in the heap, for loops. */
  #place(objective: number): ReturnType<typeof placeEntry> {
    let placed = this.#placed.get(objective);
    if (placed === undefined) {
      placed = placeEntry(this.#core.heap, at(this.#entries, objective), this.#layout.size);
      this.#placed.set(objective, placed);
    }
    return placed;
  }

  /** Milliseconds that each rank has worked on an objective and its chunks. */
  #workedBy(objective: number): number[] {
    const { ledger, settings } = this.#core;
    const tasks = tasksOf(at(this.#entries, objective), at(this.#placement, objective));
    const numbers = tasks.map((task) => this.#core.taskNumber(task));
    return settings.devices.map((_, rank) =>
      numbers.reduce((sum, task) => sum + ledger.total(rank, task).milliseconds, 0),
    );
  }

  /** Tells the user which objectives are computed in chunks now, and were not, or elsewhere. */
  #announceSplits(before: readonly (ObjectivePlacement | null)[]): void {
    this.#placement.forEach((placement, i) => {
      const ranks = ranksOf(placement);
      const then = before[i] ?? null;
      const known = then !== null && isSplit(then) && ranksOf(then).join() === ranks.join();
      if (!isSplit(placement) || known) return;
      this.#core.emit({
        type: "split",
        objective: at(this.#entries, i).name,
        along: placement.grid.along,
        chunks: placement.grid.chunks.length,
        ranks,
      });
    });
  }

  /** Places anew what measurements say is badly placed. Plans are loaded anew when they are called next. */
  #reconsider(): void {
    const found = this.#measurements.consider(this.#placement, this.#budget);
    if (found === undefined) return;
    const before = this.#placement;
    this.#placement = found.placement;
    this.#rebalanced++;
    const moved = this.#entries.filter(
      (_, i) => JSON.stringify(at(before, i).parts) !== JSON.stringify(at(found.placement, i).parts),
    );
    this.#core.emit({
      type: "rebalanced",
      moved: moved.map(({ name }) => name),
      before: found.before,
      after: found.after,
    });
    this.#announceSplits(before);
  }

  /** The plan of a method, or `null` if the heap cannot hold its regions. */
  *#residentPlan(method: Method): Routine<ResidentPlan | null> {
    if (this.#streamed.has(method)) return null;
    try {
      return yield* this.#plans.planOf(method, this.#placement);
    } catch (error) {
      if (!(error instanceof MemoryError)) throw error;
      this.#streamed.add(method);
      return null;
    }
  }

  *#evaluate(
    method: Method,
    x: Float64Array,
    extra: Float64Array | null,
    { signal, timeout, inPlace }: EvaluateOptions,
  ): Routine<FunctionResult> {
    signal?.throwIfAborted();
    const vectors = vectorsIn(method, x, extra);
    const plan = yield* this.#residentPlan(method);
    const start = performance.now();
    try {
      const step = {
        ...(signal === undefined ? {} : { signal }),
        ...(timeout === undefined ? {} : { timeout }),
      };
      if (plan === null) {
        const routine = (): Routine<Results> =>
          this.#streamer.evaluate(method, vectors, step, () => this.#plans.dropAll());
        const results = yield* this.#inTurn(routine);
        const own = (name: string): Float64Array => results.get(name) ?? new Float64Array(0);
        return this.#collect(method, (name) => new Lease(own(name), "own"), own);
      }
      const collect = (region: (name: string) => Storage): FunctionResult =>
        this.#collect(
          method,
          (name) => this.#plans.lend(method, region(name), inPlace ? "lent" : "lent unread"),
          (name) => floats(region(name)).slice(),
        );
      const options = { ...step, prepare: () => this.#plans.detach(method) };
      const measured = this.#measurements.begin(method, this.#plans.placementOf(method) ?? this.#placement);
      const result = yield* through({
        awaited: () => plan.run(vectors, collect, options),
        blocked: () => plan.sync.run(vectors, collect, options),
      });
      if (measured !== undefined) {
        measured();
        this.#reconsider();
      }
      return result;
    } finally {
      this.#calls++;
      this.#elapsed += performance.now() - start;
    }
  }

  /** What streams, one after the other. */
  *#inTurn<T>(routine: () => Routine<T>): Routine<T> {
    return yield* through({
      awaited: () => {
        const turn = this.#tail.then(() => awaitRoutine(routine()));
        this.#tail = turn.catch(() => undefined);
        return turn;
      },
      blocked: () => blockRoutine(routine()),
    });
  }

  async evaluate(
    method: Method,
    x: Float64Array,
    extra: Float64Array | null,
    options: EvaluateOptions,
  ): Promise<FunctionResult> {
    return awaitRoutine(this.#evaluate(method, x, extra, options));
  }

  evaluateNow(
    method: Method,
    x: Float64Array,
    extra: Float64Array | null,
    options: EvaluateOptions,
  ): FunctionResult {
    return blockRoutine(this.#evaluate(method, x, extra, options));
  }

  /** A method's result from its regions: arrays that may stay where they are, and vectors of its own. */
  #collect(
    method: Method,
    lease: (region: string) => Lease,
    vector: (region: string) => Float64Array,
  ): FunctionResult {
    switch (method) {
      case "residual":
        return { residual: lease("residual") };
      case "jacobian":
        return { jacobian: lease("jacobian") };
      case "linearize":
        return { residual: lease("residual"), jacobian: lease("jacobian") };
      case "jvp":
        return { product: vector("product") };
      case "vjp":
      case "gradient":
        return { gradients: this.#entries.map((_, i) => vector(gradientRegion(i))) };
    }
  }

  /** All plans hold the same copy of an array of data, so writing it through one changes it for all. */
  *#write(objective: number, leaf: number, data: Storage): Routine<void> {
    const own = at(at(this.#entries, objective).data, leaf);
    const plan = this.#plans.any ?? (yield* this.#residentPlan("residual"));
    const region = dataRegion(objective, own.path);
    if (plan !== null) {
      yield* through({
        awaited: () => plan.write(region, data),
        blocked: () => plan.sync.write(region, data),
      });
    }
    yield* this.#inTurn(() => this.#overwrite(objective, leaf, data));
  }

  /** What waves and plans that are loaded later read, and what loops read where no plan holds it. */
  // eslint-disable-next-line require-yield -- nothing here has to be waited for
  *#overwrite(objective: number, leaf: number, data: Storage): Routine<void> {
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    const { data: own } = at(at(this.#entries, objective).data, leaf);
    new Uint8Array(own.buffer, own.byteOffset, own.byteLength).set(bytes);
    const address = this.#placed.get(objective)?.data[leaf];
    if (address !== undefined) this.#core.heap.view("bool", address, bytes.length).set(bytes);
  }

  async write(objective: number, leaf: number, data: Storage): Promise<void> {
    return awaitRoutine(this.#write(objective, leaf, data));
  }

  writeNow(objective: number, leaf: number, data: Storage): void {
    blockRoutine(this.#write(objective, leaf, data));
  }

  report(): FunctionReport {
    const { ranks } = this.pool.report();
    return makeReport(
      this.#entries.map((entry, i) => {
        const placement = at(this.#placement, i);
        const before = at(this.#workedBefore, i);
        const worked = this.#workedBy(i).map((milliseconds, rank) => milliseconds - at(before, rank));
        const rank = homeOf(placement);
        return {
          name: entry.name,
          rows: [entry.start, entry.start + entry.dimF] as const,
          dimX: entry.part.size,
          rank,
          device: at(ranks, rank).device,
          mode: entry.residual.mode,
          chunks: isSplit(placement) ? placement.grid.chunks.length : 1,
          parts: placement.parts.map(({ rank: holder, from, to }) => ({
            rank: holder,
            chunks: isSplit(placement) ? to - from : 1,
            milliseconds: at(worked, holder),
          })),
          calls: this.#calls,
          milliseconds: worked.reduce((sum, own) => sum + own, 0),
          bytes: bytesOfEntry(entry),
        };
      }),
      ranks.map(({ rank, device, threadId, busy }) => {
        const own = busy - at(this.#busyBefore, rank);
        return { rank, device, threadId, busy: own, idle: Math.max(0, this.#elapsed - own) };
      }),
      { rebalanced: this.#rebalanced, streamed: this.#streamer.methods },
    );
  }

  #withdraw(): void {
    for (const withdraw of this.#withdrawals) withdraw();
    for (const { blocks } of this.#placed.values()) for (const block of blocks) block.free();
    this.#placed.clear();
  }

  *#release(): Routine<void> {
    yield* this.#streamer.release();
    yield* this.#plans.dropAll();
  }

  async dispose(): Promise<void> {
    this.#withdraw();
    await Promise.allSettled([this.#plans.settled(), this.#tail]);
    await awaitRoutine(this.#release());
  }

  disposeNow(): void {
    this.#withdraw();
    blockRoutine(this.#release());
  }
}
