/** Starts what a pool is made of. */
import type { Heap } from "../heap/heap.js";
import { sharedHeap } from "../heap/heap.js";
import { RankMachine } from "../rank/machine.js";
import { inProcess } from "../transports/in-process.js";
import type { RankSetup } from "../transports/service.js";
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
      ...(faults === undefined ? {} : { faults }),
    };
  });
  const transport = inProcess(setups, (setup) => new RankMachine(setup, 0));
  const core = new PoolCore(settings, heap, transport, blocks);
  try {
    await transport.start();
  } catch (error) {
    await core.close();
    throw error;
  }
  settings.signal?.addEventListener("abort", () => void core.close(), { once: true });
  return core;
}
