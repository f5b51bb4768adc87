/** A plan that stays on a pool's ranks: loaded and placed once, stepped many times. */
import type { Storage } from "../base/dtype.js";
import type { Plan } from "../plan/plan.js";

/** Arrays by the name of their region. */
export type Arrays = Readonly<Record<string, Storage>>;

/** How a plan is made resident. */
export interface LoadOptions {
  /** The data of every region whose role is `constant`; row-major. */
  readonly constants?: Arrays;
  /** What errors and reports call the plan. */
  readonly label?: string;
  readonly signal?: AbortSignal;
  /** Called before the plan's memory is given back, by `dispose` or because the pool closes. */
  readonly onRelease?: () => void;
}

/** What a step may be given. */
export interface StepOptions {
  readonly signal?: AbortSignal;
  /** Milliseconds from the step's start after which ranks that are still at work are ended, with `TimeoutError`. */
  readonly timeout?: number;
  /** Called when it is this step's turn, before anything is overwritten. */
  readonly prepare?: () => void;
}

/** Where a program runs, and as what. */
export interface ProgramReport {
  readonly program: string;
  readonly rank: number;
  readonly backend: string;
  readonly kernels: readonly string[];
}

/** A resident plan. */
export interface ResidentPlan {
  readonly plan: Plan;
  readonly label: string;
  /** Programs by rank, with the backend that compiled them. */
  readonly programs: readonly ProgramReport[];
  /** How often inputs were published. */
  readonly epoch: number;
  /**
   * One step: publishes `inputs` (regions left out keep what they had), runs all ranks, and hands the regions to
   * `collect`, which copies what it wants before it returns: the next step overwrites them. Calls queue.
   *
   * Rejects with `RankError` if a program throws, `RankLostError` if a rank ends, `EpochError` if a block belongs to
   * other inputs, `PoolClosedError`, or the signal's reason.
   */
  run<T>(
    inputs: Arrays,
    collect: (region: (name: string) => Storage) => T,
    options?: StepOptions,
  ): Promise<T>;
  /** Overwrites a constant region between steps; every plan that was loaded with the same array sees it. */
  write(region: string, data: Storage): Promise<void>;
  /** The memory of a region itself. It changes whenever the plan runs. */
  region(name: string): Storage;
  /** Unloads the plan and gives its memory back, after the calls before it. */
  dispose(): Promise<void>;
  /** The same calls for callers that cannot await. */
  readonly sync: ResidentPlanSync;
}

/**
 * A resident plan's calls as functions that block the calling thread until they are done. The calling thread carries out
 * the first rank's part itself. They throw what the asynchronous ones reject with, and `BlockingError` while an
 * asynchronous call is under way on the same pool.
 */
export interface ResidentPlanSync {
  run<T>(inputs: Arrays, collect: (region: (name: string) => Storage) => T, options?: StepOptions): T;
  write(region: string, data: Storage): void;
  dispose(): void;
}
