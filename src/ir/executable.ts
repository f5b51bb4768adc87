/**
 * What a backend makes of a graph: a step that reads and writes one WebAssembly memory. Ranks, `jit` and eager arrays run
 * programs through these three interfaces and know nothing else of a backend.
 */
import type { Graph } from "./graph.js";

/** Where an array lies. */
export interface Placement {
  /** Bytes from the memory's start; a multiple of the item size. */
  readonly offset: number;
  /** In elements; row-major if left out. Only outputs may be strided. */
  readonly strides?: readonly number[];
}

/** A compiled graph. */
export interface Executable {
  /** Bytes of temporaries; the workspace starts at a multiple of 64. */
  readonly workspaceBytes: number;
  /** The kernels' names in their order, for reports. */
  readonly kernels: readonly string[];
  /** Fixes the places; the returned step runs synchronously and allocates nothing. */
  bind(
    memory: WebAssembly.Memory,
    places: {
      readonly inputs: readonly Placement[];
      readonly outputs: readonly Placement[];
      readonly workspace: number;
    },
  ): () => void;
}

/** A compiler from graphs to executables. */
export interface Backend {
  readonly name: string;
  /** `graph.constants` is empty: constants were made inputs. */
  compile(graph: Graph): Executable;
}
