/**
 * Compiled graphs on the calling thread: inputs are copied into a private memory, the step runs there, and results are
 * copied out into arrays of their own.
 */
import { at } from "../base/at.js";
import type { Elements } from "../base/elements.js";
import type { Storage } from "../base/dtype.js";
import { itemSize } from "../base/dtype.js";
import { sizeOf } from "../base/shape.js";
import { WasmBackend } from "../backends/wasm/backend.js";
import type { Block } from "../heap/heap.js";
import type { Executable } from "../ir/executable.js";
import type { Aval, Graph } from "../ir/graph.js";
import { hoistConstants } from "../transform/hoist.js";
import { arena, viewAt } from "./arena.js";

/** Programs that were not used lately give their memory back when all together hold more than this. */
const budget = 512 * 1024 * 1024;

const backend = new WasmBackend();
/** Programs that hold memory, least recently used first. */
const live = new Set<Program>();
let held = 0;

const line = 64;
const roundUp = (bytes: number): number => Math.ceil(bytes / line) * line;

interface Place {
  readonly aval: Aval;
  readonly offset: number;
}

interface Bound {
  readonly block: Block;
  readonly bytes: number;
  readonly inputs: readonly Place[];
  readonly outputs: readonly Place[];
  readonly step: () => void;
}

/** A graph compiled for the calling thread. */
export class Program {
  readonly #executable: Executable;
  readonly #graph: Graph;
  readonly #constants: readonly Elements[];
  #bound: Bound | null = null;

  constructor(graph: Graph) {
    const hoisted = hoistConstants(graph);
    this.#graph = hoisted.graph;
    this.#constants = hoisted.constants.map(({ data }) => data);
    this.#executable = backend.compile(hoisted.graph);
  }

  /** The kernels' names in their order. */
  get kernels(): readonly string[] {
    return this.#executable.kernels;
  }

  /** Runs the step on the elements of the graph's inputs; returns new arrays. */
  run(inputs: readonly Storage[]): Storage[] {
    const bound = (this.#bound ??= this.#bind());
    live.delete(this);
    live.add(this);
    inputs.forEach((data, i) => view(at(bound.inputs, i)).set(data));
    bound.step();
    return bound.outputs.map((place) => view(place).slice());
  }

  #bind(): Bound {
    const graph = this.#graph;
    let bytes = 0;
    const place = (id: number): Place => {
      const aval = at(graph.avals, id);
      const offset = bytes;
      bytes += roundUp(sizeOf(aval.shape) * itemSize(aval.dtype));
      return { aval, offset };
    };
    const relative = { inputs: graph.inputs.map(place), outputs: graph.outputs.map(place) };
    const workspace = bytes;
    bytes += roundUp(this.#executable.workspaceBytes);
    makeRoom(bytes);
    const block = arena().allocate(bytes, "a compiled function");
    held += bytes;
    const move = ({ aval, offset }: Place): Place => ({ aval, offset: block.address + offset });
    const inputs = relative.inputs.map(move);
    const outputs = relative.outputs.map(move);
    const step = this.#executable.bind(arena().memory, {
      inputs,
      outputs,
      workspace: block.address + workspace,
    });
    const own = inputs.length - this.#constants.length;
    this.#constants.forEach((elements, i) => view(at(inputs, own + i)).set(elements.now));
    return { block, bytes, inputs, outputs, step };
  }

  /** Gives the memory back; the next run binds anew. */
  release(): void {
    if (this.#bound === null) return;
    this.#bound.block.free();
    held -= this.#bound.bytes;
    this.#bound = null;
    live.delete(this);
  }
}

function makeRoom(bytes: number): void {
  for (const program of live) {
    if (held + bytes <= budget) return;
    program.release();
  }
}

function view({ aval, offset }: Place): Storage {
  return viewAt(aval, offset);
}
