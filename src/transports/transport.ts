/** How a pool reaches its ranks. A transport starts them, carries calls, runs steps on all of them at once, and tells of losses. */
import type { ErrorWire } from "../closure/error-wire.js";
import type { LoopJob, LoopReply } from "../closure/job.js";
import type { Loaded, PlanPart, RankInfo } from "./service.js";

/** How a rank's part of a step ended. */
export type StepOutcome =
  | { readonly kind: "done" }
  /** It gave up because another rank failed, or because the caller aborted. */
  | { readonly kind: "aborted" }
  | { readonly kind: "failed"; readonly error: ErrorWire; readonly task: number }
  | { readonly kind: "lost"; readonly task: number; readonly reason: string };

/** Calls to one rank. Each settles: it rejects with `RankLostError` when the rank ends before it answers. */
export interface RankLink {
  readonly info: RankInfo;
  load(part: PlanPart): Promise<Loaded>;
  place(plan: number, workspace: number): Promise<void>;
  unload(plan: number): Promise<void>;
  evaluate(job: LoopJob): Promise<LoopReply>;
  cancel(loop: number): Promise<void>;
}

export interface Transport {
  readonly kind: "inProcess" | "threads";
  /** Starts all ranks. */
  start(): Promise<void>;
  link(rank: number): RankLink;
  /** One step of a resident plan on the given ranks. */
  step(plan: number, ranks: readonly number[]): Promise<readonly StepOutcome[]>;
  /** Ranks that were lost since they were last healed. */
  readonly lost: ReadonlySet<number>;
  /** Starts a lost rank again; what it had loaded must be loaded again. */
  heal(rank: number): Promise<void>;
  close(): Promise<void>;
}
