/** Starts what a pool is made of. */
import { availableParallelism } from "node:os";
import type { Heap } from "../heap/heap.js";
import { sharedHeap } from "../heap/heap.js";
import { RankMachine } from "../rank/machine.js";
import { inProcess } from "../transports/in-process.js";
import type { RankSetup } from "../transports/service.js";
import { threads } from "../transports/threads.js";
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

/** Milliseconds that a thread spins for a quick answer before it parks. */
const spinTime = 0.1;

/**
 * How long ranks spin. Where main and they do not all have a processor of their own, a rank that spins keeps another
 * from working: measured on 2 processors, an empty step of 2 ranks takes 110 to 200 µs with it and 50 µs without.
 */
function spinning(ranks: number): number {
  return ranks < availableParallelism() ? spinTime : 0;
}

/** Opens a pool. Rejects with `ArgumentError` for bad options. */
export async function openPool(options: PoolOptions, overrides: OpenOverrides = {}): Promise<PoolCore> {
  const settings = resolveOptions(options);
  settings.signal?.throwIfAborted();
  const heap = overrides.heap ?? sharedHeap();
  const ranks = settings.devices.length;
  const blocks = new RankBlocks(heap, ranks);
  const setups = settings.devices.map((device, rank): RankSetup => {
    const faults = overrides.faults?.[rank];
    return {
      rank,
      ranks,
      device,
      heap: heap.memory,
      control: blocks.address(rank),
      pending: blocks.pending,
      spin: settings.inProcess ? 0 : spinning(ranks),
      ...(faults === undefined ? {} : { faults }),
    };
  });
  let lose: (rank: number, reason: string, task: number) => void = () => {};
  const transport = settings.inProcess
    ? inProcess(setups, (setup) => new RankMachine(setup, 0))
    : threads(setups, {
        entry: new URL("../../workers/rank.js", import.meta.url),
        pending: blocks.pending,
        spin: spinTime,
        onLost: (rank, reason, task) => lose(rank, reason, task),
      });
  const core = new PoolCore(settings, heap, transport, blocks);
  lose = (rank, reason, task) => core.emit({ type: "rankLost", rank, task: core.taskName(task), reason });
  try {
    await transport.start();
  } catch (error) {
    await core.close();
    throw error;
  }
  const close = (): void => void core.close();
  settings.signal?.addEventListener("abort", close, { once: true });
  core.onClose(() => settings.signal?.removeEventListener("abort", close));
  return core;
}
