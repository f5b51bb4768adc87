/** Starts what a pool is made of. */
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { Heap, sharedHeap } from "../heap/heap.js";
import { at } from "../base/at.js";
import { sharesHeap } from "../rank/devices.js";
import { runLoop } from "../rank/loop.js";
import { RankMachine } from "../rank/machine.js";
import { inProcess } from "../transports/in-process.js";
import type { Task } from "../transports/reply.js";
import { awaiting, blocking } from "../transports/reply.js";
import type { RankSetup } from "../transports/service.js";
import { threads } from "../transports/threads.js";
import { workerFlags } from "../transports/worker-flags.js";
import { RankBlocks } from "./blocks.js";
import { PoolCore } from "./core.js";
import type { PoolOptions } from "./options.js";
import { resolveOptions } from "./options.js";

/** What tests may replace. */
export interface OpenOverrides {
  readonly heap?: Heap;
  /** Words that make ranks fail; see `rank/faults.ts`. */
  readonly faults?: readonly (Int32Array | undefined)[];
}

/** Makes a pool whose ranks are not started yet. Throws `ArgumentError` for bad options. */
function preparePool(options: PoolOptions, overrides: OpenOverrides): PoolCore {
  const settings = resolveOptions(options);
  settings.signal?.throwIfAborted();
  const whole = overrides.heap ?? sharedHeap();
  const heap = settings.heap === undefined ? whole : new Heap({ limit: settings.heap, within: whole });
  const ranks = settings.devices.length;
  const blocks = new RankBlocks(heap, ranks);
  const scriptHeap = settings.scriptHeap === undefined ? {} : { scriptHeap: settings.scriptHeap };
  const own = { entry: fileURLToPath(new URL("../../workers/child.js", import.meta.url)), ...scriptHeap };
  const setups = settings.devices.map((device, rank): RankSetup => {
    const faults = overrides.faults?.[rank];
    return {
      rank,
      ranks,
      device,
      heap: heap.memory,
      control: blocks.address(rank),
      pool: blocks.pool,
      ...(settings.isolation === "process" ? { process: own } : {}),
      ...(faults === undefined ? {} : { faults }),
    };
  });
  const create = (setup: RankSetup): RankMachine => new RankMachine(setup, 0, runLoop);
  let lose: (rank: number, reason: string, task: number) => void = () => {};
  const transport = settings.inProcess
    ? inProcess(setups, create)
    : threads(setups, {
        thread: {
          entry: new URL("../../workers/rank.js", import.meta.url).href,
          execArgv: workerFlags(process.execArgv),
          ...scriptHeap,
        },
        supervisor: new URL("../../workers/supervisor.js", import.meta.url),
        pool: blocks.pool,
        processors: availableParallelism(),
        create,
        // What a test makes fail must fail on its rank.
        standIn: (rank) =>
          settings.isolation === "thread" &&
          sharesHeap(at(settings.devices, rank)) &&
          overrides.faults === undefined,
        onLost: (rank, reason, task) => lose(rank, reason, task),
      });
  const core = new PoolCore(settings, heap, transport, blocks);
  lose = (rank, reason, task) => core.emit({ type: "rankLost", rank, task: core.taskName(task), reason });
  return core;
}

/** Starts the ranks; the pool is closed if its signal is aborted. */
function* startRanks(core: PoolCore): Task<void> {
  yield* core.transport.start();
  const { signal } = core.settings;
  const close = (): void => void core.close();
  signal?.addEventListener("abort", close, { once: true });
  core.onClose(() => signal?.removeEventListener("abort", close));
}

/** Opens a pool. Rejects with `ArgumentError` for bad options. */
export async function openPool(options: PoolOptions, overrides: OpenOverrides = {}): Promise<PoolCore> {
  const core = preparePool(options, overrides);
  try {
    await awaiting(startRanks(core));
  } catch (error) {
    await core.close();
    throw error;
  }
  return core;
}

/** Opens a pool and blocks until its ranks are there. */
export function openPoolNow(options: PoolOptions, overrides: OpenOverrides = {}): PoolCore {
  const core = preparePool(options, overrides);
  try {
    blocking(startRanks(core));
  } catch (error) {
    core.closeNow();
    throw error;
  }
  return core;
}
