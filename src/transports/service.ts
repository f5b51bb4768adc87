/**
 * What a rank does for its pool, wherever it lives: the in-process transport calls it directly, the others through a
 * control channel. Everything that crosses is structured-cloneable.
 */
import type { LoopJob, LoopReply } from "../closure/job.js";
import type { DeviceKind } from "../base/device-kind.js";
import type { Graph } from "../ir/graph.js";
import type { RankLayout } from "../plan/layout.js";
import type { BufferType, Instruction, PlanProgram } from "../plan/plan.js";

/** What a rank is told when it starts. */
export interface RankSetup {
  readonly rank: number;
  /** Number of ranks of the pool. */
  readonly ranks: number;
  readonly device: DeviceKind;
  readonly heap: WebAssembly.Memory;
  /** Address of the rank's control block. */
  readonly control: number;
  /** Address of the pool's words. */
  readonly pool: number;
  /** The rank's device lives in a process of its own, which runs this module. */
  readonly process?: { readonly entry: string; readonly scriptHeap?: number };
  /** For tests: words that make the next run fail; see `rank/faults.ts`. */
  readonly faults?: Int32Array;
}

/** What a rank says of itself. */
export interface RankInfo {
  readonly rank: number;
  readonly device: DeviceKind;
  readonly backend: string;
  readonly sharesHeap: boolean;
  readonly threadId: number;
}

/** A region with its place in the heap. */
export interface PlacedRegion extends BufferType {
  readonly role: "input" | "constant" | "output" | "scratch";
  readonly address: number;
}

/** Room of a one-way channel: a word (1 while a message lies there) and the message. */
export interface ChannelRoom {
  readonly word: number;
  readonly data: number;
}

/** Room of a group: per member a count of arrivals, a count of departures, and its input. */
export interface GroupRoom {
  readonly words: number;
  readonly data: readonly number[];
}

/** One rank's part of a plan, with addresses of everything that it shares. */
export interface PlanPart {
  /** The pool's number of the resident plan. */
  readonly plan: number;
  readonly rank: number;
  readonly list: readonly Instruction[];
  readonly programs: Readonly<Record<string, PlanProgram<Graph>>>;
  readonly regions: Readonly<Record<string, PlacedRegion>>;
  readonly groups: Readonly<Record<string, readonly number[]>>;
  readonly layout: RankLayout;
  /** Address of the plan's words. */
  readonly words: number;
  /** Address of this rank's first store word: each store leaves the epoch there, in depth-first order. */
  readonly storeWords: number;
  readonly channels: Readonly<Record<string, ChannelRoom>>;
  readonly rooms: Readonly<Record<string, GroupRoom>>;
  /** Bytes of the heap when the part was made: a view must reach this far to see everything named here. */
  readonly heapBytes: number;
  /** Numbers of tasks, for timelines and errors. */
  readonly tasks: Readonly<Record<string, number>>;
}

/** What a rank answers when it has compiled its part. */
export interface Loaded {
  /** Bytes of the heap that it needs as its workspace for this plan. */
  readonly workspaceBytes: number;
  /** Names of kernels, by program. */
  readonly kernels: Readonly<Record<string, readonly string[]>>;
  readonly backend: string;
}

/** What a step waits for. */
export type Waiting =
  /** The plan's bell: go on when it differs from `value`. */
  | { readonly on: "bell"; readonly words: Int32Array; readonly value: number }
  | { readonly on: "device"; readonly promise: Promise<unknown> };

/** A step under way. */
export interface Resumable {
  /** Goes on as far as it can. `undefined`: done. Throws when the step fails. */
  step(): Waiting | undefined;
}

/** A loop under way, which stops at promises of its bodies, and now and then so that the event loop can have a turn. */
export type LoopWork = Generator<PromiseLike<unknown> | typeof eventTurn, LoopReply, unknown>;

/** Asks for a turn of the event loop. */
export const eventTurn = Symbol("eventTurn");

/** Thrown in a rank that gives up a step because another failed or the caller aborted. */
export class StepAborted extends Error {}

/** A rank, as its pool sees it. */
export interface RankService {
  hello(): RankInfo;
  /** Compiles a part; `place` must follow. */
  load(part: PlanPart): Loaded | Promise<Loaded>;
  /** Gives a loaded plan its workspace. */
  place(plan: number, workspace: number): void;
  unload(plan: number): void;
  /** Starts a step of a bound plan. */
  begin(plan: number): Resumable;
  /** Makes a failed step known to the other ranks. */
  abandon(plan: number): void;
  /** Runs this rank's iterations of a loop. */
  evaluate(job: LoopJob): LoopWork;
  /** Tells the bodies of a loop, through their signal, that it was given up. */
  cancel(loop: number): void;
  close(): void | Promise<void>;
}
