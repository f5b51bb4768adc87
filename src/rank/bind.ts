/**
 * Turns one rank's list into operations with every address fixed: which programs run where, what is copied between the
 * heap and the device, and how ranks meet. Nothing is looked up or allocated while a step runs.
 */
import { at } from "../base/at.js";
import { itemSize } from "../base/dtype.js";
import { sameShape, sizeOf, stridesOf } from "../base/shape.js";
import type { Device } from "../devices/device.js";
import { copyBox, denseSide, windowSide } from "../heap/box.js";
import { freshBuffer } from "../heap/heap.js";
import type { Executable, Placement } from "../ir/executable.js";
import { definitions } from "../plan/flow.js";
import type {
  BufferName,
  BufferType,
  CollectiveInstruction,
  Instruction,
  LoadInstruction,
  RunInstruction,
  StoreInstruction,
} from "../plan/plan.js";
import { byteSize, entryOf, isContiguous, windowOf } from "../plan/plan.js";
import { channelKey } from "../plan/traffic.js";
import type { PlanPart } from "../transports/service.js";
import { planWord, poolWord } from "../transports/words.js";
import { computeCollective } from "./collectives.js";
import type { Operation } from "./interpreter.js";
import { ringBell } from "./interpreter.js";
import type { Timeline } from "./timeline.js";

/** What binding needs besides the part itself. */
export interface BindContext {
  readonly part: PlanPart;
  readonly device: Device;
  readonly heap: WebAssembly.Memory;
  /** Address of the pool's words. */
  readonly pool: number;
  readonly timeline: Timeline;
  /** Address of the private buffers: in the heap if the device shares it, else in the device's memory. */
  readonly buffers: number;
  /** Address of the programs' temporaries, in the same memory. */
  readonly temporaries: number;
  readonly executables: ReadonlyMap<string, Executable>;
  /** Called before each run; tests make it throw. */
  readonly beforeRun: () => void;
}

/** A bound list: its operations, and what must happen before each step. */
export interface BoundList {
  readonly operations: readonly Operation[];
  /** The plan's words, for the interpreter. */
  readonly words: Int32Array;
  /** Takes note of the epoch that this step computes at. */
  start(): void;
}

/** Binds a part. */
export function bindList(context: BindContext): BoundList {
  const binder = new Binder(context);
  binder.walk(context.part.list);
  return binder;
}

class Binder implements BoundList {
  readonly operations: Operation[] = [];
  readonly words: Int32Array;
  readonly #context: BindContext;
  /** Views of the heap as it was when the part was made; everything that the part names lies in it. */
  readonly #bytes: Uint8Array;
  readonly #allWords: Int32Array;
  readonly #poolWords: Int32Array;
  readonly #types = new Map<BufferName, BufferType>();
  /** Collectives entered in this step, by group. */
  readonly #entered = new Map<string, number>();
  #stores = 0;
  #epoch = 0;

  constructor(context: BindContext) {
    this.#context = context;
    const buffer = freshBuffer(context.heap, context.part.heapBytes);
    this.#bytes = new Uint8Array(buffer);
    this.#allWords = new Int32Array(buffer);
    this.words = new Int32Array(buffer, context.part.words, planWord.first);
    this.#poolWords = new Int32Array(buffer, context.pool, poolWord.count);
  }

  start(): void {
    this.#epoch = Atomics.load(this.words, planWord.epoch);
    this.#entered.clear();
  }

  walk(list: readonly Instruction[]): void {
    for (const instruction of list) {
      this.#emit(instruction);
    }
  }

  #emit(instruction: Instruction): void {
    const defined = definitions(this.#context.part, instruction, (name) => this.#typeOf(name));
    for (const [name, type] of defined) this.#types.set(name, type);
    switch (instruction.kind) {
      case "run":
        this.#run(instruction);
        return;
      case "load":
        this.#load(instruction);
        return;
      case "store":
        this.#store(instruction);
        return;
      case "send": {
        const { from, word, data } = this.#channel(this.#context.part.rank, instruction.to, instruction.tag);
        const bytes = this.#heapBytes(data, byteSize(this.#typeOf(instruction.buffer)));
        this.#until(() => Atomics.load(this.#allWords, word) === 0);
        this.#do(() => from.read(this.#addressOf(instruction.buffer), bytes));
        this.#signal(word, 1);
        return;
      }
      case "recv": {
        const { from, word, data } = this.#channel(
          instruction.from,
          this.#context.part.rank,
          instruction.tag,
        );
        const bytes = this.#heapBytes(data, byteSize(instruction));
        this.#until(() => Atomics.load(this.#allWords, word) === 1);
        this.#do(() => from.write(this.#addressOf(instruction.buffer), bytes));
        this.#signal(word, 0);
        return;
      }
      case "collective":
        this.#collective(instruction);
        return;
      case "loop": {
        const to = this.operations.length;
        this.walk(instruction.body);
        this.operations.push({ kind: "repeat", to, count: instruction.count });
        return;
      }
      case "free":
        // Places were decided before the plan ran; nothing is released while it does.
        return;
    }
  }

  #do(run: () => void | Promise<void>): void {
    this.operations.push({ kind: "do", run });
  }

  #until(ready: () => boolean): void {
    this.operations.push({ kind: "until", ready });
  }

  #signal(word: number, value: number): void {
    this.#do(() => {
      Atomics.store(this.#allWords, word, value);
      ringBell(this.words);
    });
  }

  #typeOf(name: BufferName): BufferType {
    return this.#types.get(name) ?? missing(name);
  }

  #heapBytes(address: number, length: number): Uint8Array {
    return this.#bytes.subarray(address, address + length);
  }

  #channel(from: number, to: number, tag: string): { from: Device; word: number; data: number } {
    const room = entryOf(this.#context.part.channels, "channel", channelKey(from, to, tag));
    return { from: this.#context.device, word: room.word / 4, data: room.data };
  }

  /** Where a buffer lies: a dense one by its address, one inside a region by address and strides. */
  #placement(name: BufferName): Placement {
    const { part, buffers } = this.#context;
    const place = part.layout.places.get(name) ?? missing(name);
    if (place.kind === "private") return { offset: buffers + place.offset };
    const region = entryOf(part.regions, "region", place.region);
    const { start } = place.window;
    const strides = stridesOf(region.shape);
    const shift = start.reduce((sum, first, axis) => sum + first * at(strides, axis), 0);
    const offset = region.address + shift * itemSize(region.dtype);
    return isContiguous(place.window, region.shape) ? { offset } : { offset, strides };
  }

  #addressOf(name: BufferName): number {
    return this.#placement(name).offset;
  }

  #isRegion(name: BufferName): boolean {
    return this.#context.part.layout.places.get(name)?.kind === "region";
  }

  #run(instruction: RunInstruction): void {
    const { part, device, executables, temporaries, timeline, beforeRun } = this.#context;
    const program = entryOf(part.programs, "program", instruction.program);
    const executable = executables.get(program.hash) ?? missing(instruction.program);
    const step = device.bind(executable, {
      inputs: instruction.inputs.map((name) => this.#placement(name)),
      outputs: instruction.outputs.map((name) => this.#placement(name)),
      workspace: temporaries,
    });
    const task = part.tasks[instruction.task ?? program.label ?? instruction.program] ?? 0;
    const bytes = [...program.inputs, ...program.outputs].reduce((sum, type) => sum + byteSize(type), 0);
    this.#do(() => {
      timeline.begin(task);
      beforeRun();
      const result = step();
      if (result === undefined) {
        timeline.end(task, bytes);
        return undefined;
      }
      return result.then(() => timeline.end(task, bytes));
    });
  }

  #load(instruction: LoadInstruction): void {
    if (this.#isRegion(instruction.buffer)) return;
    const { device, part } = this.#context;
    const region = entryOf(part.regions, "region", instruction.region);
    const window = windowOf(instruction, region);
    const item = itemSize(region.dtype);
    const from = windowSide(this.#bytes, region.address, region.shape, window.start, item);
    const address = this.#addressOf(instruction.buffer);
    const dense = new Uint8Array(sizeOf(window.extent) * item);
    const to = denseSide(dense, 0, window.extent, item);
    const pinned = part.layout.pinned.has(instruction.buffer);
    /** The version of constants that the device has. */
    let held: number | undefined;
    this.#do(() => {
      const version = Atomics.load(this.#poolWords, poolWord.constants);
      if (pinned && held === version) return undefined;
      held = version;
      copyBox(to, from, window.extent, item);
      return device.write(address, dense);
    });
  }

  #store(instruction: StoreInstruction): void {
    const { device, part } = this.#context;
    const word = part.storeWords / 4 + this.#stores++;
    const mark = (): void => {
      Atomics.store(this.#allWords, word, this.#epoch);
    };
    if (this.#isRegion(instruction.buffer) && this.#inPlace(instruction)) {
      this.#do(mark);
      return;
    }
    const region = entryOf(part.regions, "region", instruction.region);
    const window = windowOf(instruction, region);
    const item = itemSize(region.dtype);
    const to = windowSide(this.#bytes, region.address, region.shape, window.start, item);
    const address = this.#addressOf(instruction.buffer);
    const dense = new Uint8Array(sizeOf(window.extent) * item);
    const from = denseSide(dense, 0, window.extent, item);
    this.#do(() => device.read(address, dense));
    this.#do(() => {
      copyBox(to, from, window.extent, item);
      mark();
    });
  }

  /** True if the buffer is the very window that the store writes. */
  #inPlace(instruction: StoreInstruction): boolean {
    const place = this.#context.part.layout.places.get(instruction.buffer);
    if (place?.kind !== "region" || place.region !== instruction.region) return false;
    const window = windowOf(instruction, entryOf(this.#context.part.regions, "region", instruction.region));
    return sameShape(place.window.start, window.start) && sameShape(place.window.extent, window.extent);
  }

  #collective(instruction: CollectiveInstruction): void {
    const { part, device } = this.#context;
    const members = entryOf(part.groups, "group", instruction.group);
    const room = entryOf(part.rooms, "group", instruction.group);
    const self = members.indexOf(part.rank);
    const input = this.#typeOf(instruction.input);
    const output = this.#typeOf(instruction.output);
    const inputs = room.data.map((address) => this.#heapBytes(address, byteSize(input)));
    const result = new Uint8Array(byteSize(output));
    const count = members.length;
    const arrived = room.words / 4;
    const left = arrived + count;
    const entered = (): number => this.#entered.get(instruction.group) ?? 0;
    const all = (first: number, least: number): boolean => {
      for (let member = 0; member < count; member++) {
        if (Atomics.load(this.#allWords, first + member) < least) return false;
      }
      return true;
    };
    // Nobody overwrites its input while another may still read the last round's.
    this.#until(() => all(left, entered()));
    this.#do(() => device.read(this.#addressOf(instruction.input), at(inputs, self)));
    this.#do(() => {
      Atomics.store(this.#allWords, arrived + self, entered() + 1);
      ringBell(this.words);
    });
    this.#until(() => all(arrived, entered() + 1));
    this.#do(() => {
      computeCollective({ instruction, members, self, input, output }, inputs, result);
      Atomics.store(this.#allWords, left + self, entered() + 1);
      this.#entered.set(instruction.group, entered() + 1);
      ringBell(this.words);
      return device.write(this.#addressOf(instruction.output), result);
    });
  }
}

function missing(name: string): never {
  throw new RangeError(`${name} has no place in a plan that was verified`);
}
