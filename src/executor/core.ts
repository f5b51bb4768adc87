/**
 * What a pool is made of: the heap, the transport that reaches the ranks, the queue of calls and the plans that reside.
 * The public `Pool` is a thin face over it, so that its declarations name nothing that users do not need.
 */
import { at } from "../base/at.js";
import type { Storage } from "../base/dtype.js";
import { ArgumentError, EpochError, HeddleError, PoolClosedError } from "../base/errors.js";
import type { Heap } from "../heap/heap.js";
import type { Plan } from "../plan/plan.js";
import { verify } from "../plan/verify.js";
import { sharesHeap } from "../rank/devices.js";
import type { RankInfo } from "../transports/service.js";
import type { Transport } from "../transports/transport.js";
import { planWord } from "../transports/words.js";
import type { PoolEvent } from "./events.js";
import { stepError } from "./failures.js";
import { checkArrays } from "./inputs.js";
import type { PoolSettings } from "./options.js";
import type { PlacedPlan } from "./placement.js";
import { placePlan, tasksOf } from "./placement.js";
import { checkPrograms } from "./programs.js";
import type { CallContext } from "./queue.js";
import { CallQueue } from "./queue.js";
import type { RankBlocks } from "./blocks.js";
import type { Arrays, LoadOptions, ProgramReport, StepOptions } from "./resident.js";

/** A resident plan, inside. */
export interface Residency {
  readonly number: number;
  readonly plan: Plan;
  readonly label: string;
  readonly onRelease: (() => void) | undefined;
  readonly placed: PlacedPlan;
  /** Ranks that have something to do. */
  readonly active: readonly number[];
  readonly workspaces: Map<number, { readonly address: number; free(): void }>;
  programs: ProgramReport[];
  /** Input regions that have been written. */
  readonly written: Set<string>;
  epoch: number;
  disposed: boolean;
}

export class PoolCore {
  readonly settings: PoolSettings;
  readonly heap: Heap;
  readonly transport: Transport;
  readonly blocks: RankBlocks;
  readonly queue = new CallQueue();
  readonly residents = new Map<number, Residency>();
  readonly #tasks: string[] = [""];
  readonly #taskNumbers: Record<string, number> = Object.create(null) as Record<string, number>; // No inherited names.
  #nextPlan = 1;
  #nextLoop = 1;
  readonly #closers: (() => void)[] = [];
  #closing: Promise<void> | undefined;

  constructor(settings: PoolSettings, heap: Heap, transport: Transport, blocks: RankBlocks) {
    this.settings = settings;
    this.heap = heap;
    this.transport = transport;
    this.blocks = blocks;
  }

  get ranks(): RankInfo[] {
    return this.settings.devices.map((_, rank) => this.transport.link(rank).info);
  }

  /** The number of a task; numbers are what ranks write into shared words. */
  taskNumber(name: string): number {
    return (this.#taskNumbers[name] ??= this.#tasks.push(name) - 1);
  }

  taskName(number: number): string | undefined {
    return number === 0 ? undefined : this.#tasks[number];
  }

  /** True if a call that is made now starts before it returns. */
  get prompt(): boolean {
    return this.queue.idle && this.transport.lost.size === 0;
  }

  /** A number for a new loop. */
  nextLoop(): number {
    return this.#nextLoop++;
  }

  /** Tells the user. What their listener throws is theirs to catch, and stops nothing here. */
  emit(event: PoolEvent): void {
    const { onEvent } = this.settings;
    if (onEvent !== undefined) queueMicrotask(() => onEvent(event));
  }

  /** Queues a call; lost ranks are healed before it starts. */
  call<T>(
    operation: string,
    signal: AbortSignal | undefined,
    task: (context: CallContext) => Promise<T>,
  ): Promise<T> {
    return this.queue.run(operation, signal, async (context) => {
      if (this.transport.lost.size > 0) await this.#heal();
      return task(context);
    });
  }

  async load(plan: unknown, options: LoadOptions): Promise<Residency> {
    const { label = "plan", constants = {}, signal, onRelease } = options;
    const shares = (rank: number): boolean => sharesHeap(at(this.settings.devices, rank));
    const allShare = this.settings.devices.every((_, rank) => shares(rank));
    verify(plan, { memory: this.settings.memory, sharesHeap: allShare });
    if (plan.ranks > this.settings.devices.length) {
      throw new ArgumentError({
        operation: "pool.load",
        argument: "plan",
        found: `a plan for ${plan.ranks} ranks`,
        expected: `at most ${this.settings.devices.length}, the ranks of the pool`,
        remedy: "make a pool with more ranks, or plan for fewer",
      });
    }
    checkPrograms(plan);
    checkArrays("pool.load", "constants", plan, "constant", constants);
    for (const [name, region] of Object.entries(plan.regions)) {
      if (region.role !== "constant" || Object.hasOwn(constants, name)) continue;
      throw new ArgumentError({ operation: "pool.load", argument: `constants.${name}`, found: "missing" });
    }
    const number = this.#nextPlan++;
    const tasks: Record<string, number> = {};
    for (const task of tasksOf(plan)) tasks[task] = this.taskNumber(task);
    return this.call("pool.load", signal, async (context) => {
      const residency: Residency = {
        number,
        plan,
        label,
        onRelease,
        placed: placePlan(this.heap, plan, constants, shares, label),
        active: plan.lists.flatMap((list, rank) => (list.length > 0 ? [rank] : [])),
        workspaces: new Map(),
        programs: [],
        written: new Set(),
        epoch: 0,
        disposed: false,
      };
      try {
        await Promise.all(residency.active.map((rank) => this.#loadOn(rank, residency, tasks)));
      } catch (error) {
        await this.#release(residency);
        throw error;
      }
      // Nobody will ever dispose of a plan whose load was given up.
      if (context.givenUp) await this.#release(residency);
      else this.residents.set(number, residency);
      return residency;
    });
  }

  async run<T>(
    residency: Residency,
    inputs: Arrays,
    collect: (region: (name: string) => Storage) => T,
    { signal, prepare }: StepOptions,
  ): Promise<T> {
    const { plan, label } = residency;
    if (residency.disposed && !this.queue.closed) throw disposedError(label);
    checkArrays(label, "inputs", plan, "input", inputs);
    // A call that waits must not see what its caller does to the arrays meanwhile.
    const own = this.prompt
      ? inputs
      : Object.fromEntries(Object.entries(inputs).map(([name, data]) => [name, data.slice()]));
    return this.call(label, signal, async (context) => {
      if (residency.disposed) throw disposedError(label);
      prepare?.();
      this.#publish(residency, own);
      await this.#step(residency, context);
      return collect((name) => this.region(residency, name));
    });
  }

  /** Overwrites a constant region, after the calls before. */
  async write(residency: Residency, name: string, data: Storage): Promise<void> {
    checkArrays(residency.label, "write", residency.plan, "constant", { [name]: data });
    const own = data.slice();
    await this.call(residency.label, undefined, async () => {
      // Checked: the region has the array's type.
      (this.region(residency, name) as Float64Array).set(own);
      return Promise.resolve();
    });
  }

  region(residency: Residency, name: string): Storage {
    const region = Object.hasOwn(residency.placed.regions, name) ? residency.placed.regions[name] : undefined;
    if (region === undefined || residency.disposed) {
      throw new ArgumentError({
        operation: residency.label,
        argument: "region",
        found: residency.disposed ? "disposed of" : JSON.stringify(name),
        expected: `one of ${Object.keys(residency.placed.regions).join(", ")}`,
      });
    }
    const size = region.shape.reduce((product, extent) => product * extent, 1);
    return this.heap.view(region.dtype, region.address, size);
  }

  async dispose(residency: Residency): Promise<void> {
    if (residency.disposed) return;
    residency.disposed = true;
    if (this.queue.closed) return;
    try {
      await this.queue.run(residency.label, undefined, () => this.#release(residency));
    } catch (error) {
      if (!(error instanceof PoolClosedError)) throw error; // Closing has released it.
    }
  }

  /** Runs `closer` when the pool is closed. */
  onClose(closer: () => void): void {
    this.#closers.push(closer);
  }

  close(): Promise<void> {
    this.#closing ??= (async () => {
      for (const closer of this.#closers) closer();
      // A rank may be in a body that never ends: ending the threads is what makes the queue let go.
      const drained = this.queue.close();
      await this.transport.close();
      await drained;
      for (const residency of this.residents.values()) {
        residency.disposed = true;
        this.#freeMemory(residency);
      }
      this.residents.clear();
      this.blocks.free();
    })();
    return this.#closing;
  }

  async #loadOn(rank: number, residency: Residency, tasks: Readonly<Record<string, number>>): Promise<void> {
    const link = this.transport.link(rank);
    const loaded = await link.load(residency.placed.part(rank, residency.number, tasks));
    let workspace = residency.workspaces.get(rank);
    if (workspace === undefined) {
      workspace = this.heap.allocate(
        loaded.workspaceBytes,
        `the workspace of ${residency.label} on rank ${rank}`,
      );
      residency.workspaces.set(rank, workspace);
    }
    await link.place(residency.number, workspace.address);
    residency.programs = [
      ...residency.programs.filter((report) => report.rank !== rank),
      ...Object.entries(loaded.kernels).map(([program, kernels]) => ({
        program,
        rank,
        backend: loaded.backend,
        kernels,
      })),
    ];
  }

  async #release(residency: Residency): Promise<void> {
    this.residents.delete(residency.number);
    await Promise.allSettled(
      residency.active.map((rank) => this.transport.link(rank).unload(residency.number)),
    );
    this.#freeMemory(residency);
  }

  #freeMemory(residency: Residency): void {
    residency.onRelease?.();
    residency.placed.free();
    for (const workspace of residency.workspaces.values()) workspace.free();
  }

  async #heal(): Promise<void> {
    for (const rank of [...this.transport.lost]) {
      await this.transport.heal(rank);
      for (const residency of this.residents.values()) {
        if (!residency.active.includes(rank)) continue;
        const tasks = Object.fromEntries(
          tasksOf(residency.plan).map((task) => [task, this.taskNumber(task)]),
        );
        await this.#loadOn(rank, residency, tasks);
      }
      this.emit({ type: "rankHealed", rank, threadId: this.transport.link(rank).info.threadId });
    }
  }

  #words(residency: Residency): Int32Array {
    return this.heap.view("int32", residency.placed.words, residency.placed.wordCount);
  }

  #publish(residency: Residency, inputs: Arrays): void {
    for (const [name, data] of Object.entries(inputs)) {
      // Checked: the region has the array's type.
      (this.region(residency, name) as Float64Array).set(data);
      residency.written.add(name);
    }
    for (const [name, region] of Object.entries(residency.plan.regions)) {
      if (region.role !== "input" || residency.written.has(name)) continue;
      throw new ArgumentError({
        operation: residency.label,
        argument: `inputs.${name}`,
        found: "never given",
        expected: "an array in the first call",
      });
    }
    residency.epoch = (residency.epoch + 1) | 0;
    const words = this.#words(residency);
    words.fill(0, residency.placed.firstTrafficWord);
    Atomics.store(words, planWord.abort, 0);
    Atomics.store(words, planWord.epoch, residency.epoch);
  }

  async #step(residency: Residency, context: CallContext): Promise<void> {
    const words = this.#words(residency);
    context.onGiveUp(() => {
      Atomics.store(words, planWord.abort, 1);
      Atomics.add(words, planWord.bell, 1);
      Atomics.notify(words, planWord.bell);
    });
    const outcomes = await this.transport.step(residency.number, residency.active);
    const error = stepError(residency.active, outcomes, (task) => this.taskName(task));
    if (error !== undefined) throw error;
    if (outcomes.some((outcome) => outcome.kind === "aborted")) {
      throw new HeddleError("HEDDLE_ABORTED", { operation: residency.label, found: "the step was given up" });
    }
    for (const mark of residency.placed.marks) {
      const found = Atomics.load(words, mark.word);
      if (found === residency.epoch) continue;
      throw new EpochError({
        operation: `${mark.task} on rank ${mark.rank}`,
        argument: `its block of region "${mark.region}"`,
        found: `of epoch ${found}`,
        expected: `epoch ${residency.epoch}, the one that was published`,
        remedy: "this is an error of heddle or of whoever wrote to its memory; do not use the result",
      });
    }
  }
}

function disposedError(label: string): ArgumentError {
  return new ArgumentError({ operation: label, found: "it was disposed of", remedy: "load it again" });
}
