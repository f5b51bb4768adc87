/**
 * Objectives on the ranks of a pool. Each method is a resident plan, loaded when it is first called.
 */
import { Lease } from "../arrays/index.js";
import { at } from "../base/at.js";
import type { Storage } from "../base/dtype.js";
import { ArgumentError, DTypeError } from "../base/errors.js";
import { coreOf } from "../executor/cores.js";
import type { Pool } from "../executor/pool.js";
import type { Arrays, LoadOptions, ResidentPlan } from "../executor/resident.js";
import { sharedHeap } from "../heap/heap.js";
import type { Plan } from "../plan/plan.js";
import { sharesHeap } from "../rank/devices.js";
import type { Engine, EvaluateOptions, FunctionResult } from "./engine.js";
import type { Entry } from "./entry.js";
import type { Layout } from "./layout.js";
import { placeEntry } from "./localEngine.js";
import type { Objective } from "./objective.js";
import type { ObjectivePlacement, RankBudget } from "./placement.js";
import { homeOf, isSplit, placeEntries, ranksOf, tasksOf } from "./placement.js";
import { dataRegion, extraRegion, gradientRegion, methodPlan } from "./plans.js";
import type { Method } from "./programs.js";
import type { FunctionReport } from "./report.js";
import { announce, residencyId } from "./residency.js";
import { bytesOfEntry, makeReport } from "./report.js";

function floats(region: Storage): Float64Array {
  if (!(region instanceof Float64Array)) throw new DTypeError({ operation: "collect", found: "not float64" });
  return region;
}

function inputsOf(method: Method, x: Float64Array, extra: Float64Array | null): Arrays {
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

/** What a placement may count on. */
function budgetOf(pool: Pool): RankBudget {
  const { devices, memory } = coreOf(pool).settings;
  return { ranks: devices.length, memory, sharesHeap: devices.every(sharesHeap) };
}

/** Evaluates entries on a pool. */
export class PoolEngine implements Engine {
  readonly pool: Pool;
  /** Where each objective is. */
  readonly #placement: readonly ObjectivePlacement[];
  readonly #entries: readonly Entry[];
  readonly #layout: Layout;
  readonly #plans = new Map<Method, ResidentPlan>();
  /** Plans on their way. */
  readonly #loading = new Map<Method, Promise<ResidentPlan>>();
  /** Arrays that read a plan's regions in place, by method. */
  readonly #leases = new Map<Method, Lease[]>();
  /** What takes back that the ranks hold the objectives. */
  readonly #withdrawals: (() => void)[] = [];
  readonly #busyBefore: readonly number[];
  /** Milliseconds that ranks had worked on the names of the objectives before. */
  readonly #workedBefore: readonly (readonly number[])[];
  #calls = 0;
  /** Milliseconds of the calls so far. */
  #elapsed = 0;

  constructor(pool: Pool, entries: readonly Entry[], layout: Layout, objectives: readonly Objective[]) {
    const { ranks } = pool.report();
    requireRanks(entries, ranks.length);
    this.pool = pool;
    this.#entries = entries;
    this.#layout = layout;
    this.#placement = placeEntries(entries, budgetOf(pool));
    this.#busyBefore = ranks.map(({ busy }) => busy);
    this.#workedBefore = entries.map((_, i) => this.#workedBy(i));
    const home = (i: number): number => homeOf(at(this.#placement, i));
    entries.forEach((entry, i) => {
      let placed: ReturnType<typeof placeEntry> | undefined;
      const residency = {
        id: residencyId(),
        pool,
        get rank() {
          return home(i);
        },
        entry,
        layout,
        placed: () => (placed ??= placeEntry(sharedHeap(), entry, layout.size)),
      };
      const withdraw = announce(at(objectives, i), residency);
      this.#withdrawals.push(() => {
        withdraw();
        for (const block of placed?.blocks ?? []) block.free();
      });
    });
    this.#announceSplits();
  }

  /** Milliseconds that each rank has worked on an objective and its chunks. */
  #workedBy(objective: number): number[] {
    const { ledger, settings } = coreOf(this.pool);
    const tasks = tasksOf(at(this.#entries, objective), at(this.#placement, objective));
    const numbers = tasks.map((task) => coreOf(this.pool).taskNumber(task));
    return settings.devices.map((_, rank) =>
      numbers.reduce((sum, task) => sum + ledger.total(rank, task).milliseconds, 0),
    );
  }

  /** Tells the user which objectives are computed in chunks. */
  #announceSplits(): void {
    this.#placement.forEach((placement, i) => {
      if (!isSplit(placement)) return;
      coreOf(this.pool).emit({
        type: "split",
        objective: at(this.#entries, i).name,
        along: placement.grid.along,
        chunks: placement.grid.chunks.length,
        ranks: ranksOf(placement),
      });
    });
  }

  /** The plan of a method as `load` takes it. */
  #build(method: Method): { readonly plan: Plan; readonly options: LoadOptions } {
    const ranks = this.pool.ranks.length;
    const built = methodPlan(method, this.#entries, this.#placement, ranks, this.#layout.size);
    const onRelease = (): void => this.#detach(method);
    return { plan: built.plan, options: { constants: built.constants, label: method, onRelease } };
  }

  async #plan(method: Method): Promise<ResidentPlan> {
    const known = this.#plans.get(method);
    if (known !== undefined) return known;
    let loading = this.#loading.get(method);
    if (loading === undefined) {
      const { plan, options } = this.#build(method);
      loading = this.pool
        .load(plan, options)
        .then((loaded) => {
          this.#plans.set(method, loaded);
          return loaded;
        })
        // A plan that could not be loaded is tried again by the next call.
        .finally(() => this.#loading.delete(method));
      this.#loading.set(method, loading);
    }
    return loading;
  }

  #planNow(method: Method): ResidentPlan {
    const known = this.#plans.get(method);
    if (known !== undefined) return known;
    const { plan, options } = this.#build(method);
    // If the same plan is being loaded by a call that awaits, the pool refuses this one.
    const loaded = this.pool.sync.load(plan, options);
    this.#plans.set(method, loaded);
    return loaded;
  }

  async evaluate(
    method: Method,
    x: Float64Array,
    extra: Float64Array | null,
    { signal, timeout, inPlace }: EvaluateOptions,
  ): Promise<FunctionResult> {
    signal?.throwIfAborted();
    const plan = await this.#plan(method);
    const start = performance.now();
    try {
      return await plan.run(inputsOf(method, x, extra), (region) => this.#collect(method, region, inPlace), {
        prepare: () => this.#detach(method),
        ...(signal === undefined ? {} : { signal }),
        ...(timeout === undefined ? {} : { timeout }),
      });
    } finally {
      this.#count(start);
    }
  }

  evaluateNow(
    method: Method,
    x: Float64Array,
    extra: Float64Array | null,
    { timeout, inPlace }: EvaluateOptions,
  ): FunctionResult {
    const plan = this.#planNow(method);
    const start = performance.now();
    try {
      return plan.sync.run(inputsOf(method, x, extra), (region) => this.#collect(method, region, inPlace), {
        prepare: () => this.#detach(method),
        ...(timeout === undefined ? {} : { timeout }),
      });
    } finally {
      this.#count(start);
    }
  }

  #count(start: number): void {
    this.#calls++;
    this.#elapsed += performance.now() - start;
  }

  /** Arrays that still read the regions of a method's plan get memory of their own. */
  #detach(method: Method): void {
    for (const lease of this.#leases.get(method) ?? []) lease.detach();
    this.#leases.delete(method);
  }

  #collect(method: Method, region: (name: string) => Storage, inPlace: boolean): FunctionResult {
    const lease = (name: string): Lease => {
      if (!inPlace) return new Lease(floats(region(name)).slice());
      const made = new Lease(region(name));
      this.#leases.set(method, [...(this.#leases.get(method) ?? []), made]);
      return made;
    };
    switch (method) {
      case "residual":
        return { residual: lease("residual") };
      case "jacobian":
        return { jacobian: lease("jacobian") };
      case "linearize":
        return { residual: lease("residual"), jacobian: lease("jacobian") };
      case "jvp":
        return { product: floats(region("product")).slice() };
      case "vjp":
      case "gradient":
        return { gradients: this.#entries.map((_, i) => floats(region(gradientRegion(i))).slice()) };
    }
  }

  #dataRegion(objective: number, leaf: number): string {
    return dataRegion(objective, at(at(this.#entries, objective).data, leaf).path);
  }

  /** All plans hold the same copy of an array of data, so writing it through one changes it for all. */
  async write(objective: number, leaf: number, data: Storage): Promise<void> {
    const plan = await this.#plan("residual");
    await plan.write(this.#dataRegion(objective, leaf), data);
  }

  writeNow(objective: number, leaf: number, data: Storage): void {
    this.#planNow("residual").sync.write(this.#dataRegion(objective, leaf), data);
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
    );
  }

  async dispose(): Promise<void> {
    for (const withdraw of this.#withdrawals) withdraw();
    await Promise.allSettled(this.#loading.values());
    await Promise.all([...this.#plans.values()].map((plan) => plan.dispose()));
  }

  disposeNow(): void {
    for (const withdraw of this.#withdrawals) withdraw();
    for (const plan of this.#plans.values()) plan.sync.dispose();
  }
}
