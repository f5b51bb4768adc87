/**
 * The programs of an objective's chunks: what each reads of the inputs of the whole program, and which part of which
 * result it gives.
 */
import { at } from "../base/at.js";
import type { Graph } from "../ir/graph.js";
import { hashGraph } from "../ir/hash.js";
import type { AxisRun, BlockInput } from "../transform/block.js";
import { blockGraph } from "../transform/block.js";
import type { Grid } from "./grid.js";
import { cutsOf } from "./grid.js";
import type { Method, ObjectiveProgram } from "./programs.js";

/** One output of a chunk's program. */
export interface ChunkOutput {
  /** Which output of the whole program. */
  readonly output: number;
  /** Its positions there; all if absent. */
  readonly part: AxisRun | null;
}

/** A program of an objective, or of a chunk of it. */
export interface ChunkProgram {
  readonly graph: Graph;
  readonly hash: string;
  readonly inputs: readonly BlockInput[];
  readonly outputs: readonly ChunkOutput[];
  /** What of the objective it is, for people: `rows 0:512`; empty for all of it. */
  readonly label: string;
}

/** A program in one piece, as a chunk. */
export function wholeProgram({ graph, hash }: ObjectiveProgram & { readonly hash: string }): ChunkProgram {
  return {
    graph,
    hash,
    inputs: graph.inputs.map((_, position) => ({ kind: "input", position, part: null })),
    outputs: graph.outputs.map((_, output) => ({ output, part: null })),
    label: "",
  };
}

/** What people call a chunk. */
export function chunkLabel({ along, chunks }: Grid, index: number): string {
  const { leaf, start, extent } = at(chunks, index);
  const several = along === "columns" && chunks.some((chunk) => chunk.leaf !== 0);
  return `${along} ${start}:${start + extent}${several ? ` of array ${leaf}` : ""}`;
}

/** The program of a chunk. */
export function chunkProgram(
  program: ObjectiveProgram,
  grid: Grid,
  index: number,
  method: Method,
): ChunkProgram {
  const cuts = cutsOf(grid, index, method, program.graph);
  const { graph, inputs } = blockGraph(program.graph, cuts);
  return {
    graph,
    hash: hashGraph(graph),
    inputs,
    outputs: cuts.flatMap((part, output) => (part === null ? [] : [{ output, part }])),
    label: chunkLabel(grid, index),
  };
}
