/**
 * What a pool is made of: the heap, the transport that reaches the ranks, the queue of calls and the plans that reside.
 * The public `Pool` is a thin face over it, so that its declarations name nothing that users do not need. What it does
 * is written once, as calls that callers may await or block for.
 */
import { at } from "../base/at.js";
import type { Storage } from "../base/dtype.js";
import { ArgumentError, EpochError, HeddleError, RankLostError } from "../base/errors.js";
import type { Heap } from "../heap/heap.js";
import type { Plan } from "../plan/plan.js";
import { verify } from "../plan/verify.js";
import { sharesHeap } from "../rank/devices.js";
import type { RankInfo } from "../transports/service.js";
import type { Task } from "../transports/reply.js";
import { all, answered, awaiting, blocking, finished, together } from "../transports/reply.js";
import type { StepMode, Transport } from "../transports/transport.js";
import { controlFloat, planWord } from "../transports/words.js";
import type { PoolEvent } from "./events.js";
import { stepError, timeoutError } from "./failures.js";
import { checkArrays } from "./inputs.js";
import { constantsChanged, watchConstants } from "./constants.js";
import { Ledger } from "./ledger.js";
import type { PoolSettings } from "./options.js";
import type { PlacedPlan } from "./placement.js";
import { placePlan, tasksOf } from "./placement.js";
import { checkPrograms } from "./programs.js";
import type { CallContext } from "./queue.js";
import { CallQueue } from "./queue.js";
import type { RankBlocks } from "./blocks.js";
import type { Arrays, LoadOptions, ProgramReport, StepOptions } from "./resident.js";
import { StepModes } from "./step-mode.js";
import { requireTimeout } from "./timeout.js";
import { Trace } from "./trace.js";

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
  /** Who carries out steps of callers that await, and of callers that block. */
  modes: { readonly awaiting: StepModes; readonly blocking: StepModes } | undefined;
  /** Steps that the calling thread carried out alone. */
  inlined: number;
}

/** What somebody asks of a pool, to be awaited or blocked for. */
export interface PoolCall<T> {
  readonly operation: string;
  readonly signal: AbortSignal | undefined;
  readonly task: (context: PoolCallContext) => Task<T>;
}

/** What a running call knows. */
export interface PoolCallContext extends CallContext {
  /** True if its caller blocks. */
  readonly blocks: boolean;
}

export class PoolCore {
  readonly settings: PoolSettings;
  readonly heap: Heap;
  readonly transport: Transport;
  readonly blocks: RankBlocks;
  readonly queue = new CallQueue();
  readonly ledger: Ledger;
  readonly #trace: Trace | undefined;
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
    this.ledger = new Ledger(blocks, settings.devices.length);
    this.onClose(watchConstants(heap, blocks.poolWords));
    if (settings.trace !== undefined) {
      const trace = new Trace(
        settings.trace,
        settings.devices,
        (task) => this.taskName(task),
        () => this.#bookAll(),
      );
      this.ledger.onEntry = (rank, timeline, slot) => trace.add(rank, timeline, slot);
      this.#trace = trace;
    }
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

  /** Writes the trace as it is now. Throws `ArgumentError` if the pool keeps none. */
  writeTrace(path: string | undefined): void {
    if (this.#trace === undefined) {
      throw new ArgumentError({
        operation: "pool.writeTrace",
        found: "a pool that keeps no trace",
        remedy: 'make it with createPool({ trace: "file.json" })',
      });
    }
    this.#trace.write(this.#bookAll(), path);
  }

  /** Brings the books up to date; answers how many entries they miss. */
  #bookAll(): number {
    this.ledger.book();
    return this.ledger.dropped;
  }

  /** Tells the user. What their listener throws is theirs to catch, and stops nothing here. */
  emit(event: PoolEvent): void {
    const { onEvent } = this.settings;
    this.#trace?.event(event);
    if (onEvent !== undefined) queueMicrotask(() => onEvent(event));
  }

  /** A task with its span in the trace, and the books brought up to date when it ends. */
  *#booked<T>(operation: string, blocks: boolean, task: Task<T>): Task<T> {
    const start = performance.now();
    // Long calls would overwrite what they wrote first.
    const timer = this.#trace === undefined || blocks ? undefined : setInterval(() => this.ledger.book(), 20);
    timer?.unref();
    try {
      return yield* task;
    } finally {
      clearInterval(timer);
      this.ledger.book();
      this.#trace?.call(operation, start, performance.now(), blocks);
    }
  }

  /** Queues a call; lost ranks are healed before it starts. */
  awaited<T>({ operation, signal, task }: PoolCall<T>): Promise<T> {
    return this.queue.run(operation, signal, (context) =>
      awaiting(
        this.#booked(
          operation,
          false,
          this.#healed(
            // `givenUp` changes while the call runs.
            Object.create(context, { blocks: { value: false } }) as PoolCallContext,
            task,
          ),
        ),
      ),
    );
  }

  /** Makes a call and blocks until it is done. Throws `BlockingError` while another call is under way. */
  blocked<T>({ operation, signal, task }: PoolCall<T>): T {
    return this.queue.runNow(operation, signal, (context) =>
      blocking(this.#booked(operation, true, this.#healed({ ...context, blocks: true }, task))),
    );
  }

  *#healed<T>(context: PoolCallContext, task: (context: PoolCallContext) => Task<T>): Task<T> {
    if (this.transport.lost.size > 0) yield* this.#heal();
    return yield* task(context);
  }

  load(plan: unknown, options: LoadOptions): PoolCall<Residency> {
    const { label = "plan", constants = {}, signal, onRelease } = options;
    const shares = (rank: number): boolean =>
      this.settings.isolation === "thread" && sharesHeap(at(this.settings.devices, rank));
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
    return {
      operation: "pool.load",
      signal,
      task: (context) =>
        this.#reside(context, tasks, {
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
          modes: undefined,
          inlined: 0,
        }),
    };
  }

  /** Loads a placed plan on its ranks. */
  *#reside(
    context: PoolCallContext,
    tasks: Readonly<Record<string, number>>,
    residency: Residency,
  ): Task<Residency> {
    try {
      yield* together(residency.active.map((rank) => this.#loadOn(rank, residency, tasks)));
    } catch (error) {
      yield* this.#release(residency);
      throw error;
    }
    // Nobody will ever dispose of a plan whose load was given up.
    if (context.givenUp) yield* this.#release(residency);
    else this.residents.set(residency.number, residency);
    return residency;
  }

  run<T>(
    residency: Residency,
    inputs: Arrays,
    collect: (region: (name: string) => Storage) => T,
    { signal, timeout, prepare }: StepOptions,
  ): PoolCall<T> {
    const { plan, label } = residency;
    if (residency.disposed && !this.queue.closed) throw disposedError(label);
    checkArrays(label, "inputs", plan, "input", inputs);
    requireTimeout(label, timeout);
    // A call that waits must not see what its caller does to the arrays meanwhile.
    const own = this.prompt
      ? inputs
      : Object.fromEntries(Object.entries(inputs).map(([name, data]) => [name, data.slice()]));
    return {
      operation: label,
      signal,
      task: (context) => this.#advance(context, residency, own, collect, timeout, prepare),
    };
  }

  /** One step, from the publication of its inputs to its collected results. */
  *#advance<T>(
    context: PoolCallContext,
    residency: Residency,
    inputs: Arrays,
    collect: (region: (name: string) => Storage) => T,
    timeout: number | undefined,
    prepare: (() => void) | undefined,
  ): Task<T> {
    if (residency.disposed) throw disposedError(residency.label);
    prepare?.();
    this.#publish(residency, inputs);
    yield* this.#step(residency, context, timeout);
    return collect((name) => this.region(residency, name));
  }

  /** Overwrites a constant region, after the calls before. */
  write(residency: Residency, name: string, data: Storage): PoolCall<void> {
    checkArrays(residency.label, "write", residency.plan, "constant", { [name]: data });
    const own = data.slice();
    return {
      operation: residency.label,
      signal: undefined,
      task: () => {
        // Checked: the region has the array's type.
        (this.region(residency, name) as Float64Array).set(own);
        constantsChanged(this.heap);
        return finished(undefined);
      },
    };
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

  /** Unloads a plan, after the calls before; `undefined` if there is nothing left to do. */
  dispose(residency: Residency): PoolCall<void> | undefined {
    if (residency.disposed) return undefined;
    residency.disposed = true;
    // Closing releases what is still there.
    if (this.queue.closed) return undefined;
    return {
      operation: residency.label,
      signal: undefined,
      task: () => this.#release(residency),
    };
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
      await awaiting(this.transport.close());
      await drained;
      const dropped = this.#bookAll();
      this.#freeAll();
      this.#trace?.end(dropped);
    })();
    return this.#closing;
  }

  /** Closes and blocks until the ranks have ended. */
  closeNow(): void {
    if (this.#closing !== undefined) return;
    for (const closer of this.#closers) closer();
    this.#closing = this.queue.close();
    blocking(this.transport.close());
    const dropped = this.#bookAll();
    this.#freeAll();
    this.#trace?.end(dropped);
  }

  #freeAll(): void {
    for (const residency of this.residents.values()) {
      residency.disposed = true;
      this.#freeMemory(residency);
    }
    this.residents.clear();
    this.blocks.free();
  }

  *#loadOn(rank: number, residency: Residency, tasks: Readonly<Record<string, number>>): Task<void> {
    const link = this.transport.link(rank);
    const loaded = yield* answered(link.load(residency.placed.part(rank, residency.number, tasks)));
    let workspace = residency.workspaces.get(rank);
    if (workspace === undefined) {
      workspace = this.heap.allocate(
        loaded.workspaceBytes,
        `the workspace of ${residency.label} on rank ${rank}`,
      );
      residency.workspaces.set(rank, workspace);
    }
    yield* answered(link.place(residency.number, workspace.address));
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

  *#release(residency: Residency): Task<void> {
    this.residents.delete(residency.number);
    yield* answered(all(residency.active.map((rank) => this.transport.link(rank).unload(residency.number))));
    this.#freeMemory(residency);
  }

  #freeMemory(residency: Residency): void {
    residency.onRelease?.();
    residency.placed.free();
    for (const workspace of residency.workspaces.values()) workspace.free();
  }

  *#heal(): Task<void> {
    for (const rank of [...this.transport.lost]) {
      yield* this.transport.heal(rank);
      for (const residency of this.residents.values()) {
        if (!residency.active.includes(rank)) continue;
        const tasks = Object.fromEntries(
          tasksOf(residency.plan).map((task) => [task, this.taskNumber(task)]),
        );
        yield* this.#loadOn(rank, residency, tasks);
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

  /** Milliseconds that the ranks of a plan have computed so far. */
  #computed(residency: Residency): number {
    return residency.active.reduce(
      (sum, rank) => sum + at(this.blocks.view(rank).floats, controlFloat.busy),
      0,
    );
  }

  *#step(residency: Residency, context: PoolCallContext, timeout: number | undefined): Task<void> {
    const words = this.#words(residency);
    context.onGiveUp(() => {
      Atomics.store(words, planWord.abort, 1);
      Atomics.add(words, planWord.bell, 1);
      Atomics.notify(words, planWord.bell);
    });
    const modesOfRanks = this.transport.modes(residency.active);
    const available = this.settings.inline ? modesOfRanks : modesOfRanks.filter((one) => one !== "inline");
    residency.modes ??= {
      awaiting: new StepModes(available, false),
      blocking: new StepModes(available, true),
    };
    const modes = context.blocks ? residency.modes.blocking : residency.modes.awaiting;
    const mode: StepMode = modes.next();
    const computed = this.#computed(residency);
    const start = performance.now();
    const outcomes = yield* this.transport.step(residency.number, residency.active, {
      mode,
      until: timeout === undefined ? Infinity : start + timeout,
      reason: `it overran the timeout of ${timeout} ms`,
    });
    const end = performance.now();
    const failure = stepError(residency.active, outcomes, (task) => this.taskName(task));
    const overran = timeout !== undefined && end - start >= timeout;
    if (failure !== undefined) {
      throw overran && failure instanceof RankLostError ? timeoutError(timeout, failure) : failure;
    }
    const gaveUp = outcomes.findIndex((outcome) => outcome.kind === "aborted");
    if (overran && gaveUp >= 0) {
      throw timeoutError(timeout, {
        operation: `${residency.label} on rank ${at(residency.active, gaveUp)}`,
        rank: at(residency.active, gaveUp),
      });
    }
    if (gaveUp >= 0) {
      throw new HeddleError("HEDDLE_ABORTED", { operation: residency.label, found: "the step was given up" });
    }
    modes.took(mode, end - start, this.#computed(residency) - computed);
    if (mode === "inline") residency.inlined++;
    const inline = modes.news();
    if (inline !== undefined) this.emit({ type: "stepMode", plan: residency.label, inline });
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
