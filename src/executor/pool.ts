/** A pool of ranks, as its users see it. */
import type { DeviceKind } from "../base/device-kind.js";
import type { DType, Storage } from "../base/dtype.js";
import { PoolClosedError } from "../base/errors.js";
import type { Shape } from "../base/shape.js";
import type { Plan } from "../plan/plan.js";
import type { PoolCore, Residency } from "./core.js";
import { adoptCore, coreOf } from "./cores.js";
import type { PoolOptions } from "./options.js";
import { openPool, openPoolNow } from "./open.js";
import type {
  Arrays,
  LoadOptions,
  ProgramReport,
  ResidentPlan,
  ResidentPlanSync,
  StepOptions,
} from "./resident.js";
import type { TimelineEntry } from "./timeline.js";

/** What is known of a rank. */
export interface RankDescription {
  readonly rank: number;
  readonly device: DeviceKind;
  /** The compiler of its programs. */
  readonly backend: string;
  /** The id of its worker thread; 0 if it takes turns in the calling thread. */
  readonly threadId: number;
}

/** What a pool has and has done. */
export interface PoolReport {
  readonly ranks: readonly (RankDescription & {
    /** Milliseconds spent in programs and loop bodies. */
    readonly busy: number;
    readonly steps: number;
    readonly iterations: number;
  })[];
  readonly plans: readonly {
    readonly label: string;
    readonly steps: number;
    /** Steps that the calling thread carried out alone, because they compute less than waking the ranks costs. */
    readonly inlined: number;
    readonly programs: readonly ProgramReport[];
  }[];
  /** The heap that all pools of this thread share. */
  readonly heap: { readonly usedBytes: number; readonly capacity: number; readonly limit: number };
}

/** An array as plain data. */
export interface ArrayData {
  readonly dtype: DType;
  readonly shape: Shape;
  /** Row-major. */
  readonly data: Storage;
}

/**
 * Ranks that run plans and loop bodies. Calls queue: each sees the pool to itself. An idle pool never keeps the process
 * alive; one that is not needed any more is closed, by `await using` or by `close()`.
 */
export class Pool {
  /** The ranks, by number. */
  get ranks(): readonly RankDescription[] {
    return coreOf(this).ranks.map(({ rank, device, backend, threadId }) => ({
      rank,
      device,
      backend,
      threadId,
    }));
  }

  /** True after `close()`. */
  get closed(): boolean {
    return coreOf(this).queue.closed;
  }

  /** The pool's calls as functions that block the calling thread until they are done. */
  get sync(): PoolSync {
    return new PoolSync(this);
  }

  /** Verifies a plan, places it in the shared heap and compiles its programs on its ranks. */
  async load(plan: Plan, options: LoadOptions = {}): Promise<ResidentPlan> {
    const core = coreOf(this);
    return new Resident(core, await core.awaited(core.load(plan, options)));
  }

  /**
   * Runs a plan once.
   * @param arrays the data of its `input` and `constant` regions
   * @returns a copy of each `output` region
   */
  async run(
    plan: Plan,
    arrays: Arrays = {},
    options: { readonly signal?: AbortSignal; readonly timeout?: number } = {},
  ): Promise<Record<string, ArrayData>> {
    const { constants, inputs } = byRole(plan, arrays);
    const resident = await this.load(plan, { ...options, constants });
    try {
      return await resident.run(inputs, (region) => copyOutputs(plan, region), options);
    } finally {
      await resident.dispose();
    }
  }

  /** What the ranks are and what they have done. */
  report(): PoolReport {
    const core = coreOf(this);
    const { usedBytes, capacity, limit } = core.heap.report();
    return {
      ranks: this.ranks.map((description) => ({ ...description, ...core.blocks.counters(description.rank) })),
      plans: [...core.residents.values()].map(({ label, epoch, inlined, programs }) => ({
        label,
        steps: epoch,
        inlined,
        programs,
      })),
      heap: { usedBytes, capacity, limit },
    };
  }

  /** What each rank worked on lately: the last 1024 programs and chunks of iterations. */
  timeline(): TimelineEntry[] {
    const core = coreOf(this);
    return core.settings.devices.flatMap((_, rank) =>
      core.blocks.timeline(rank, (task) => core.taskName(task)),
    );
  }

  /** Writes the trace as it is now, to the file that the pool was made with or to another. */
  writeTrace(path?: string): void {
    coreOf(this).writeTrace(path);
  }

  /** Ends the ranks. Calls under way reject with `PoolClosedError`. Closing twice is fine. */
  async close(): Promise<void> {
    await coreOf(this).close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** A pool's calls for callers that cannot await. They throw what the asynchronous ones reject with. */
export class PoolSync {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** As `pool.load`. */
  load(plan: Plan, options: LoadOptions = {}): ResidentPlan {
    const core = coreOf(this.#pool);
    return new Resident(core, core.blocked(core.load(plan, options)));
  }

  /** As `pool.run`. */
  run(
    plan: Plan,
    arrays: Arrays = {},
    options: { readonly signal?: AbortSignal; readonly timeout?: number } = {},
  ): Record<string, ArrayData> {
    const { constants, inputs } = byRole(plan, arrays);
    const resident = this.load(plan, { ...options, constants });
    try {
      return resident.sync.run(inputs, (region) => copyOutputs(plan, region), options);
    } finally {
      resident.sync.dispose();
    }
  }

  /** Ends the ranks, and blocks until they have ended. */
  close(): void {
    coreOf(this.#pool).closeNow();
  }
}

/** Arrays of constant regions, and the others. */
function byRole(plan: Plan, arrays: Arrays): { readonly constants: Arrays; readonly inputs: Arrays } {
  const role = (name: string): string | undefined =>
    Object.hasOwn(plan.regions, name) ? plan.regions[name]?.role : undefined;
  const pick = (constant: boolean): Arrays =>
    Object.fromEntries(Object.entries(arrays).filter(([name]) => (role(name) === "constant") === constant));
  return { constants: pick(true), inputs: pick(false) };
}

function copyOutputs(plan: Plan, region: (name: string) => Storage): Record<string, ArrayData> {
  return Object.fromEntries(
    Object.entries(plan.regions)
      .filter(([, { role }]) => role === "output")
      .map(([name, { dtype, shape }]) => [name, { dtype, shape, data: region(name).slice() }]),
  );
}

class Resident implements ResidentPlan {
  readonly sync: ResidentPlanSync;
  readonly #core: PoolCore;
  readonly #residency: Residency;

  constructor(core: PoolCore, residency: Residency) {
    this.#core = core;
    this.#residency = residency;
    this.sync = {
      run: (inputs, collect, options = {}) => core.blocked(core.run(residency, inputs, collect, options)),
      write: (region, data) => core.blocked(core.write(residency, region, data)),
      dispose: () => {
        const call = core.dispose(residency);
        if (call !== undefined) core.blocked(call);
      },
    };
  }

  get plan(): Plan {
    return this.#residency.plan;
  }

  get label(): string {
    return this.#residency.label;
  }

  get programs(): readonly ProgramReport[] {
    return this.#residency.programs;
  }

  get epoch(): number {
    return this.#residency.epoch;
  }

  async run<T>(
    inputs: Arrays,
    collect: (region: (name: string) => Storage) => T,
    options: StepOptions = {},
  ): Promise<T> {
    return this.#core.awaited(this.#core.run(this.#residency, inputs, collect, options));
  }

  async write(region: string, data: Storage): Promise<void> {
    await this.#core.awaited(this.#core.write(this.#residency, region, data));
  }

  region(name: string): Storage {
    return this.#core.region(this.#residency, name);
  }

  async dispose(): Promise<void> {
    const call = this.#core.dispose(this.#residency);
    if (call === undefined) return;
    try {
      await this.#core.awaited(call);
    } catch (error) {
      if (!(error instanceof PoolClosedError)) throw error; // Closing has released it.
    }
  }
}

async function startPool(options: PoolOptions = {}): Promise<Pool> {
  const pool = new Pool();
  adoptCore(pool, await openPool(options));
  return pool;
}

function startPoolNow(options: PoolOptions = {}): Pool {
  const pool = new Pool();
  adoptCore(pool, openPoolNow(options));
  return pool;
}

/**
 * Starts a pool of ranks, one worker thread each. `createPool.sync` blocks until they are there.
 *
 * Rejects with `ArgumentError` for options that no pool can have.
 * @example
 * await using pool = await createPool({ ranks: 2 });
 */
export const createPool: {
  (options?: PoolOptions): Promise<Pool>;
  /** The same for callers that cannot await. */
  sync(options?: PoolOptions): Pool;
} = Object.assign(startPool, { sync: startPoolNow });
