/**
 * A device in a process of its own: a rank that must not take the others with it when its memory runs out, or whose adapter
 * needs a process for itself. Plans go on working as with any device that has memory of its own; loop bodies run in that
 * process too. The process ends with the rank's thread, however that ends.
 */
import type { ChildProcess } from "node:child_process";
import { fork } from "node:child_process";
import type { DeviceKind } from "../base/device-kind.js";
import { HeddleError, MemoryError } from "../base/errors.js";
import type { LoopJob, LoopReply } from "../closure/job.js";
import { loopWord } from "../closure/job.js";
import type { Device, DevicePlaces } from "../devices/device.js";
import { Allocator, granule } from "../heap/allocator.js";
import type { Executable } from "../ir/executable.js";
import type { Graph } from "../ir/graph.js";
import { processEnded } from "../transports/control.js";
import type { LoopWork } from "../transports/service.js";
import { Chunks, indexAt } from "./chunks.js";
import type { LoopHost } from "./loop.js";
import { Messages } from "./messages.js";

/** What a process answers when it has compiled a program. */
export interface CompiledThere {
  readonly executable: number;
  readonly kernels: readonly string[];
  readonly workspaceBytes: number;
}

/** Iterations that a process is given to run: positions of the loop. */
export type DealtChunk = readonly number[] | undefined;

/** How a device process is made. */
export interface ProcessStart {
  /** The module that it runs. */
  readonly entry: string;
  readonly kind: DeviceKind;
  readonly rank: number;
  /** Bytes of JavaScript objects that bodies may keep. */
  readonly scriptHeap?: number;
}

/** The addresses of a wasm memory, less its first page. */
const memoryBytes = 2 ** 32 - 65_536;

/** A loop that runs in the process. */
interface LoopThere {
  readonly chunks: Chunks;
  readonly host: LoopHost;
  readonly job: LoopJob;
}

class ThereExecutable implements Executable {
  readonly number: number;
  readonly kernels: readonly string[];
  readonly workspaceBytes: number;

  constructor({ executable, kernels, workspaceBytes }: CompiledThere) {
    this.number = executable;
    this.kernels = kernels;
    this.workspaceBytes = workspaceBytes;
  }

  bind(): never {
    throw new HeddleError("HEDDLE_INTERNAL", "a program of another process was bound here");
  }
}

export class ProcessDevice implements Device {
  readonly kind: DeviceKind;
  readonly backend: string;
  readonly sharesHeap = false;
  readonly #child: ChildProcess;
  readonly #messages: Messages;
  readonly #allocator = new Allocator(granule, granule);
  readonly #loops: Map<number, LoopThere>;
  /** Ranges that were reserved, with what is bound in each. */
  readonly #ranges = new Map<number, { readonly end: number; readonly bounds: number[] }>();
  #nextBound = 1;

  private constructor(
    kind: DeviceKind,
    backend: string,
    child: ChildProcess,
    messages: Messages,
    loops: Map<number, LoopThere>,
  ) {
    this.kind = kind;
    this.backend = backend;
    this.#child = child;
    this.#messages = messages;
    this.#loops = loops;
    this.#allocator.extend(memoryBytes);
  }

  /** Starts the process. `onEnd` is told when it ends, and why. */
  static async start(
    { entry, kind, rank, scriptHeap }: ProcessStart,
    onEnd: (reason: string) => void,
  ): Promise<ProcessDevice> {
    const limit = scriptHeap === undefined ? [] : [`--max-old-space-size=${Math.ceil(scriptHeap / 2 ** 20)}`];
    const child = fork(entry, [kind, String(rank)], {
      serialization: "advanced",
      execArgv: [...process.execArgv, ...limit],
      // The last is a line that is silent for life: the process ends itself when it is cut.
      stdio: ["ignore", "inherit", "inherit", "ipc", "pipe"],
    });
    let up = false;
    return new Promise((resolve, reject) => {
      const loops = new Map<number, LoopThere>();
      const messages = new Messages((message) => child.send(message as object), {
        ready: (backend: string) => {
          up = true;
          resolve(new ProcessDevice(kind, backend, child, messages, loops));
        },
        next: (loop: number): DealtChunk => {
          const known = loops.get(loop);
          const chunk = known?.chunks.next();
          if (known === undefined || chunk === undefined) return undefined;
          const positions = Array.from({ length: chunk.length }, (_, i) => chunk.position(i));
          const [first = 0] = positions;
          known.host.hold(indexAt(known.job, first), indexAt(known.job, positions.at(-1) ?? first));
          return positions;
        },
        took: ([loop, iterations, milliseconds, start]: [number, number, number, number]) => {
          const known = loops.get(loop);
          if (known === undefined) return;
          known.chunks.took(iterations, milliseconds);
          known.host.chunkDone(known.job.task, start - performance.timeOrigin, iterations);
          Atomics.add(known.host.words, loopWord.done, iterations);
        },
      });
      child.on("message", (message) => messages.receive(message));
      child.once("error", reject);
      child.once("exit", (code, signal) => {
        const memory = signal === "SIGABRT" || code === 134 ? " (out of memory?)" : "";
        const how = signal === null ? `with exit code ${code}` : `by ${signal}`;
        const reason = `${processEnded} ${how}${memory}`;
        if (up) onEnd(reason);
        else reject(new HeddleError("HEDDLE_INTERNAL", { operation: "a rank's process", found: reason }));
      });
    });
  }

  async compile(graph: Graph): Promise<Executable> {
    return new ThereExecutable(await this.#messages.ask<CompiledThere>("compile", graph));
  }

  bind(executable: Executable, places: DevicePlaces): () => Promise<void> {
    if (!(executable instanceof ThereExecutable)) {
      throw new HeddleError("HEDDLE_INTERNAL", "a program of this process was bound in another");
    }
    const bound = this.#nextBound++;
    for (const [start, { end, bounds }] of this.#ranges) {
      if (places.workspace >= start && places.workspace <= end) bounds.push(bound);
    }
    // Messages stay in order, so nobody need wait for this one.
    this.#messages.tell("bind", { bound, executable: executable.number, places });
    return () => this.#messages.ask("run", bound);
  }

  reserve(bytes: number): number {
    const address = this.#allocator.take(bytes);
    if (address === undefined) {
      throw new MemoryError({
        operation: "a rank's process",
        found: `${bytes} bytes more than it has`,
        expected: `at most ${memoryBytes} bytes in all`,
      });
    }
    this.#ranges.set(address, { end: address + bytes, bounds: [] });
    // If there is no room, the first step says so.
    this.#messages.tell("reserve", address + bytes);
    return address;
  }

  release(address: number): void {
    const range = this.#ranges.get(address);
    if (range !== undefined) this.#messages.tell("unbind", range.bounds);
    this.#ranges.delete(address);
    this.#allocator.give(address);
  }

  write(address: number, bytes: Uint8Array): void {
    // Shared memory does not cross. The message is made before this returns.
    const own = bytes.buffer instanceof SharedArrayBuffer ? bytes.slice() : bytes;
    this.#messages.tell("write", { address, bytes: own });
  }

  async read(address: number, into: Uint8Array): Promise<void> {
    into.set(await this.#messages.ask<Uint8Array>("read", { address, length: into.length }));
  }

  /** Runs a rank's part of a loop in the process; iterations are dealt out here. */
  *evaluate(job: LoopJob, host: LoopHost): LoopWork {
    const { words } = host;
    this.#loops.set(job.loop, { chunks: new Chunks(job, words), host, job });
    const watch = setInterval(() => {
      if (Atomics.load(words, loopWord.cancel) !== 0) this.#messages.tell("cancel", job.loop);
    }, 20);
    try {
      const { words: _words, scratch: _scratch, ...rest } = job;
      const reply = (yield this.#messages.ask<LoopReply>("evaluate", rest)) as LoopReply; // What `evaluate` answers.
      if (reply.failure !== undefined) Atomics.store(words, loopWord.cancel, 1);
      return reply;
    } finally {
      clearInterval(watch);
      this.#loops.delete(job.loop);
      host.hold(-1, -1);
    }
  }

  close(): void {
    this.#child.removeAllListeners("exit");
    this.#child.kill("SIGKILL");
  }
}
