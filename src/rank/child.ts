/**
 * A rank's own process, from inside: it compiles and runs programs in a memory of its own, and runs the bodies of loops. It
 * ends when the line to its rank is cut, whatever it is doing: a thread of its own waits for that.
 */
import { Socket } from "node:net";
import { isMainThread, Worker } from "node:worker_threads";
import type { DeviceKind } from "../base/device-kind.js";
import { HeddleError, MemoryError } from "../base/errors.js";
import { at } from "../base/at.js";
import type { LoopJob, LoopReply } from "../closure/job.js";
import { loopWord } from "../closure/job.js";
import type { DevicePlaces, DeviceStep } from "../devices/device.js";
import type { Executable } from "../ir/executable.js";
import type { Graph } from "../ir/graph.js";
import { driveLoop } from "../transports/loop-work.js";
import { createDevice } from "./devices.js";
import { LoopSignal } from "./loop-signal.js";
import { runLoop } from "./loop.js";
import { Messages } from "./messages.js";
import type { CompiledThere, DealtChunk } from "./process-device.js";
import { becomeRankThread } from "./thread.js";

const pageBytes = 65_536;
const mostPages = 65_536;
/** The file descriptor of the line to the rank. */
const line = 4;

/**
 * Ends this process when the rank's side of the line is closed. A thread of its own waits for that, since the main thread
 * may be in an endless loop; it waits in its event loop, so that it keeps nobody from ending.
 */
export function watchLine(entry: URL): void {
  if (isMainThread) {
    new Worker(entry, { execArgv: [] }).unref();
    return;
  }
  const end = (): void => {
    process.kill(process.pid, "SIGKILL");
  };
  new Socket({ fd: line, readable: true, writable: false }).on("close", end).on("error", end).resume();
}

/** Serves the rank whose device this process is. */
export function serveProcess(kind: DeviceKind, rank: number, loadLibrary: () => Promise<void>): void {
  becomeRankThread();
  const memory = new WebAssembly.Memory({ initial: 1, maximum: mostPages, shared: true });
  const device = createDevice(kind, memory);
  const executables: Executable[] = [];
  const steps = new Map<number, DeviceStep>();
  const locals = new Map<string, unknown>();
  const loops = new Map<number, { readonly words: Int32Array; readonly signal: LoopSignal }>();
  let library: Promise<void> | undefined;

  /** Makes sure that the memory reaches this far. */
  const reach = (end: number): void => {
    const missing = Math.ceil((end - memory.buffer.byteLength) / pageBytes);
    if (missing <= 0) return;
    try {
      memory.grow(missing);
    } catch (cause) {
      throw new MemoryError({
        operation: "a rank's process",
        found: `${end} bytes, more than it gets`,
        cause,
      });
    }
  };

  /** Why the memory does not reach as far as plans were given it. */
  let short: { readonly error: unknown } | undefined;
  const send = (message: unknown): void => {
    process.send?.(message);
  };
  const messages = new Messages(send, {
    compile: async (graph: Graph): Promise<CompiledThere> => {
      const compiled = await device.compile(graph);
      const { kernels, workspaceBytes } = compiled;
      return { executable: executables.push(compiled) - 1, kernels, workspaceBytes };
    },
    reserve: (end: number) => {
      try {
        reach(end);
        short = undefined;
      } catch (error) {
        short = { error };
      }
    },
    bind: ({ bound, executable, places }: { bound: number; executable: number; places: DevicePlaces }) => {
      steps.set(bound, device.bind(at(executables, executable), places));
    },
    run: (bound: number) => {
      if (short !== undefined) throw short.error;
      const step = steps.get(bound);
      if (step === undefined) throw new HeddleError("HEDDLE_INTERNAL", `step ${bound} is not bound`);
      return step();
    },
    unbind: (bounds: readonly number[]) => {
      for (const bound of bounds) steps.delete(bound);
    },
    write: ({ address, bytes }: { address: number; bytes: Uint8Array }) => {
      reach(address + bytes.length);
      return device.write(address, bytes);
    },
    read: ({ address, length }: { address: number; length: number }) => {
      reach(address + length);
      return new Uint8Array(memory.buffer, address, length).slice();
    },
    cancel: (loop: number) => {
      const known = loops.get(loop);
      if (known === undefined) return;
      Atomics.store(known.words, loopWord.cancel, 1);
      known.signal.abort();
    },
    evaluate: async (given: Omit<LoopJob, "words">): Promise<LoopReply> => {
      await (library ??= loadLibrary());
      const words = new Int32Array(new SharedArrayBuffer(4 * loopWord.count));
      const signal = new LoopSignal(words);
      const job: LoopJob = { ...given, words: words.buffer }; // Just made.
      loops.set(job.loop, { words, signal });
      const dealt = {
        next: async () => {
          const positions = await messages.ask<DealtChunk>("next", job.loop);
          if (positions === undefined) return undefined;
          return { length: positions.length, position: (i: number) => at(positions, i) };
        },
        took: () => {},
      };
      try {
        const host = {
          rank,
          words,
          memory,
          locals,
          signal,
          hold: () => {},
          chunkDone: (_task: number, start: number, iterations: number) => {
            const milliseconds = performance.now() - start;
            messages.tell("took", [job.loop, iterations, milliseconds, performance.timeOrigin + start]);
          },
        };
        return await driveLoop(runLoop(job, host, dealt));
      } finally {
        loops.delete(job.loop);
      }
    },
  });
  process.on("message", (message) => messages.receive(message));
  messages.tell("ready", device.backend);
}
