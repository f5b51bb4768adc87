/**
 * Objectives evaluated one after the other in the calling thread: no pool, no plan, no waiting.
 */
import { at } from "../base/at.js";
import type { Storage } from "../base/dtype.js";
import { WasmBackend } from "../backends/wasm/backend.js";
import { placeConstant } from "../executor/constants.js";
import type { Block, Heap } from "../heap/heap.js";
import { sharedHeap } from "../heap/heap.js";
import type { Entry } from "./entry.js";
import type { Method } from "./programs.js";
import type { ObjectiveResult, PlacedObjective, PlacedProgram } from "./sync.js";
import { SyncEvaluator } from "./sync.js";

/** Compiles for the calling thread, each program once. */
const backend = new WasmBackend();

/** An entry with its data and constants in a heap. */
export function placeEntry(
  heap: Heap,
  entry: Entry,
  dimX: number,
): PlacedObjective & { readonly blocks: readonly Block[] } {
  const blocks: Block[] = [];
  const place = (data: Storage): number => {
    const block = placeConstant(heap, data, `an array of objective "${entry.name}"`);
    blocks.push(block);
    return block.address;
  };
  const programs = new Map<Method, PlacedProgram>();
  return {
    leaves: entry.part.leaves.map(({ start, size }) => ({ start, size })),
    dimX,
    dimF: entry.dimF,
    data: entry.data.map(({ data }) => place(data)),
    program: (method) => {
      let known = programs.get(method);
      if (known === undefined) {
        const { graph, constants } = entry.program(method);
        known = { graph, constants: constants.map(({ data }) => place(data.now)) };
        programs.set(method, known);
      }
      return known;
    },
    blocks,
  };
}

/** Evaluates entries in the calling thread, in the process's shared heap. */
export class LocalEngine {
  readonly #heap = sharedHeap();
  readonly #evaluators: readonly SyncEvaluator[];
  readonly #placed: readonly ReturnType<typeof placeEntry>[];
  readonly #blocks: Block[] = [];
  /** Milliseconds and calls by objective. */
  readonly times: { milliseconds: number; calls: number }[];

  constructor(entries: readonly Entry[], dimX: number) {
    this.#placed = entries.map((entry) => placeEntry(this.#heap, entry, dimX));
    this.times = entries.map(() => ({ milliseconds: 0, calls: 0 }));
    this.#evaluators = this.#placed.map((placed) => {
      const scratch = (bytes: number): number => {
        const block = this.#heap.allocate(bytes, "the calling thread's scratch memory");
        this.#blocks.push(block);
        return block.address;
      };
      return new SyncEvaluator(placed, this.#heap.memory, backend, scratch);
    });
  }

  /** One objective's result. */
  evaluate(objective: number, method: Method, x: Float64Array, extra: Float64Array | null): ObjectiveResult {
    const start = performance.now();
    const result = at(this.#evaluators, objective).evaluate(method, x, extra);
    const time = at(this.times, objective);
    time.milliseconds += performance.now() - start;
    time.calls++;
    return result;
  }

  /** Overwrites an array of an objective's data. */
  write(objective: number, leaf: number, data: Storage): void {
    const address = at(at(this.#placed, objective).data, leaf);
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    this.#heap.view("bool", address, data.byteLength).set(bytes);
  }

  /** Gives the memory back. */
  free(): void {
    for (const { blocks } of this.#placed) for (const block of blocks) block.free();
    for (const block of this.#blocks) block.free();
  }
}
