/**
 * How a pool reaches its ranks. A transport starts them, carries calls, runs steps on all of them at once, and tells of
 * losses. Whatever takes time is a reply or a task, so that the pool's callers may await or block.
 */
import type { ErrorWire } from "../closure/error-wire.js";
import type { LoopJob, LoopReply } from "../closure/job.js";
import type { Reply, Task } from "./reply.js";
import type { Loaded, PlanPart, RankInfo } from "./service.js";

/** How a rank's part of a step ended. */
export type StepOutcome =
  | { readonly kind: "done" }
  /** It gave up because another rank failed, or because the caller aborted. */
  | { readonly kind: "aborted" }
  | { readonly kind: "failed"; readonly error: ErrorWire; readonly task: number }
  | { readonly kind: "lost"; readonly task: number; readonly reason: string };

/**
 * Who carries a step out: every rank its own part; or the calling thread that of the first rank, while the others do
 * theirs; or the calling thread all of it. The parts, their programs and their bits are the same.
 */
export type StepMode = "ranks" | "joined" | "inline";

/** How a step is carried out. */
export interface StepOptions {
  readonly mode: StepMode;
  /** When ranks that are still at work are ended, on the clock of `performance.now()`; `reason` is what they are said to be lost for. */
  readonly until: number;
  readonly reason: string;
}

/** Calls to one rank. Each settles: with `RankLostError` when the rank ends before it answers. */
export interface RankLink {
  readonly info: RankInfo;
  load(part: PlanPart): Reply<Loaded>;
  place(plan: number, workspace: number): Reply<void>;
  unload(plan: number): Reply<void>;
  evaluate(job: LoopJob): Reply<LoopReply>;
  cancel(loop: number): Reply<void>;
}

export interface Transport {
  readonly kind: "inProcess" | "threads";
  /** Starts all ranks. */
  start(): Task<void>;
  link(rank: number): RankLink;
  /** Modes that a step of these ranks may have besides `"ranks"`. */
  modes(ranks: readonly number[]): readonly StepMode[];
  /** One step of a resident plan on the given ranks. */
  step(plan: number, ranks: readonly number[], options: StepOptions): Task<readonly StepOutcome[]>;
  /** Ranks that were lost since they were last healed. */
  readonly lost: ReadonlySet<number>;
  /** Starts a lost rank again; what it had loaded must be loaded again. */
  heal(rank: number): Task<void>;
  /** Ends a rank that does not answer, and says when it has ended; whoever waits for it is told `reason`. */
  kill(rank: number, reason: string): Reply<void>;
  close(): Task<void>;
}
