/** A rank: one device for life, the plans that reside on it, and the diary of what it did. */
import { at } from "../base/at.js";
import { HeddleError } from "../base/errors.js";
import type { LoopJob } from "../closure/job.js";
import { loopWord } from "../closure/job.js";
import type { Device } from "../devices/device.js";
import { freshBuffer } from "../heap/heap.js";
import type { Executable } from "../ir/executable.js";
import type {
  Loaded,
  LoopWork,
  PlanPart,
  RankInfo,
  RankService,
  RankSetup,
  Resumable,
} from "../transports/service.js";
import { controlBlock, controlBytes, controlFloat, planWord } from "../transports/words.js";
import type { BoundList } from "./bind.js";
import { bindList } from "./bind.js";
import { createDevice } from "./devices.js";
import { faultHook } from "./faults.js";
import { Interpreter, ringBell } from "./interpreter.js";
import { LoopSignal } from "./loop-signal.js";
import type { runLoop } from "./loop.js";
import type { ProcessDevice } from "./process-device.js";
import { Timeline } from "./timeline.js";

interface Resident {
  readonly part: PlanPart;
  readonly temporaryBytes: number;
  bound?: BoundList;
  /** Private memory of a device that does not share the heap. */
  reserved?: number;
}

/** Temporaries start at whole cache lines. */
function align(bytes: number): number {
  return Math.ceil(bytes / 64) * 64;
}

/** The one implementation of a rank; transports decide where it lives. */
export class RankMachine implements RankService {
  readonly #setup: RankSetup;
  readonly #threadId: number;
  readonly #runLoop: typeof runLoop;
  readonly #device: Device;
  /** The device, if it has a process of its own. */
  readonly #process: ProcessDevice | undefined;
  readonly #timeline: Timeline;
  readonly #floats: Float64Array;
  readonly #beforeRun: () => void;
  readonly #executables = new Map<string, Executable>();
  readonly #residents = new Map<number, Resident>();
  readonly #loops = new Map<number, LoopSignal>();
  readonly #locals = new Map<string, unknown>();
  /** Its words may belong to somebody else now; bodies that go on in this thread write to them no more. */
  #closed = false;

  /** `loop` is what runs iterations; a rank's thread loads it when the first loop comes. */
  constructor(setup: RankSetup, threadId: number, loop: typeof runLoop, device?: ProcessDevice) {
    this.#setup = setup;
    this.#runLoop = loop;
    this.#threadId = threadId;
    this.#process = device;
    this.#device = device ?? createDevice(setup.device, setup.heap);
    const block = controlBlock(freshBuffer(setup.heap, setup.control + controlBytes), setup.control);
    this.#timeline = new Timeline(block);
    this.#floats = block.floats;
    this.#beforeRun = faultHook(setup.faults);
  }

  hello(): RankInfo {
    const { kind, backend, sharesHeap } = this.#device;
    return { rank: this.#setup.rank, device: kind, backend, sharesHeap, threadId: this.#threadId };
  }

  load(part: PlanPart): Loaded | Promise<Loaded> {
    const missing = Object.values(part.programs).filter(({ hash }) => !this.#executables.has(hash));
    const keep = (executables: readonly Executable[]): Loaded => {
      missing.forEach(({ hash }, i) => this.#executables.set(hash, at(executables, i)));
      return this.#loaded(part);
    };
    const done: Executable[] = [];
    const promised: Promise<Executable>[] = [];
    for (const { graph } of missing) {
      const compiled = this.#device.compile(graph);
      if (compiled instanceof Promise) promised.push(compiled);
      else done.push(compiled);
    }
    // A device compiles all of its programs in one way or the other.
    return promised.length === 0 ? keep(done) : Promise.all(promised).then(keep);
  }

  #loaded(part: PlanPart): Loaded {
    let temporaryBytes = 0;
    const kernels: Record<string, readonly string[]> = {};
    for (const [name, program] of Object.entries(part.programs)) {
      const executable = this.#executables.get(program.hash);
      if (executable === undefined) throw new HeddleError("HEDDLE_INTERNAL", `${name} was not compiled`);
      kernels[name] = executable.kernels;
      temporaryBytes = Math.max(temporaryBytes, executable.workspaceBytes);
    }
    this.#residents.set(part.plan, { part, temporaryBytes });
    const own = align(part.layout.bytes) + temporaryBytes;
    return { workspaceBytes: this.#device.sharesHeap ? own : 0, kernels, backend: this.#device.backend };
  }

  place(plan: number, workspace: number): void {
    const resident = this.#resident(plan);
    const { part, temporaryBytes } = resident;
    let buffers = workspace;
    if (!this.#device.sharesHeap) {
      buffers = this.#device.reserve(align(part.layout.bytes) + temporaryBytes);
      resident.reserved = buffers;
    }
    resident.bound = bindList({
      part,
      device: this.#device,
      heap: this.#setup.heap,
      pool: this.#setup.pool,
      timeline: this.#timeline,
      buffers,
      temporaries: buffers + align(part.layout.bytes),
      executables: this.#executables,
      beforeRun: this.#beforeRun,
    });
  }

  unload(plan: number): void {
    const resident = this.#residents.get(plan);
    if (resident?.reserved !== undefined) this.#device.release(resident.reserved);
    this.#residents.delete(plan);
  }

  begin(plan: number): Resumable {
    const { bound } = this.#resident(plan);
    if (bound === undefined)
      throw new HeddleError("HEDDLE_INTERNAL", `plan ${plan} was loaded but not placed`);
    bound.start();
    this.#floats[controlFloat.steps] = (this.#floats[controlFloat.steps] ?? 0) + 1;
    return new Interpreter(bound.operations, bound.words);
  }

  abandon(plan: number): void {
    const words = this.#residents.get(plan)?.bound?.words;
    if (words === undefined) return;
    Atomics.store(words, planWord.abort, 1);
    ringBell(words);
  }

  *evaluate(job: LoopJob): LoopWork {
    const address = typeof job.words === "number" ? job.words : 0;
    const buffer =
      typeof job.words === "number" ? freshBuffer(this.#setup.heap, address + 4 * loopWord.count) : job.words;
    const words = new Int32Array(buffer, address, loopWord.count);
    const signal = new LoopSignal(words);
    this.#loops.set(job.loop, signal);
    const floats = this.#floats;
    this.#timeline.begin(job.task);
    try {
      return yield* (this.#process?.evaluate.bind(this.#process) ?? this.#runLoop)(job, {
        rank: this.#setup.rank,
        words,
        memory: this.#setup.heap,
        locals: this.#locals,
        signal,
        hold: (index, end) => {
          if (this.#closed) return;
          floats[controlFloat.index] = index;
          floats[controlFloat.chunkEnd] = end;
        },
        chunkDone: (task, start, iterations) => {
          if (this.#closed) return;
          this.#timeline.record(task, start, performance.now(), 0, iterations);
          floats[controlFloat.iterations] = (floats[controlFloat.iterations] ?? 0) + iterations;
        },
      });
    } finally {
      if (!this.#closed) this.#timeline.leave();
      this.#loops.delete(job.loop);
    }
  }

  cancel(loop: number): void {
    this.#loops.get(loop)?.abort();
  }

  close(): void | Promise<void> {
    this.#closed = true;
    this.#residents.clear();
    this.#executables.clear();
    return this.#device.close();
  }

  #resident(plan: number): Resident {
    const resident = this.#residents.get(plan);
    if (resident === undefined) throw new HeddleError("HEDDLE_INTERNAL", `plan ${plan} is not loaded`);
    return resident;
  }
}
