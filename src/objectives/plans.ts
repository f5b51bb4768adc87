/**
 * The plan of each method: every rank runs the programs of its objectives, or of its chunks of them, and writes their
 * blocks straight to where they belong in the joined result.
 */
import { at } from "../base/at.js";
import type { Storage } from "../base/dtype.js";
import type { Elements } from "../base/elements.js";
import type { Aval, Graph } from "../ir/graph.js";
import type { Instruction, Plan, PlanProgram, Region, Window } from "../plan/plan.js";
import type { AxisRun, BlockInput } from "../transform/block.js";
import type { Source } from "./arguments.js";
import { dataRegion, resultsOf, sourcesOf, targetOf, vectorsOf } from "./arguments.js";
import type { ChunkProgram } from "./chunks.js";
import type { Entry } from "./entry.js";
import type { ObjectivePlacement } from "./placement.js";
import { piecesOf, taskOf } from "./placement.js";
import type { Method } from "./programs.js";

/** A plan with the arrays that its constant regions hold. */
export interface MethodPlan {
  readonly plan: Plan<Graph>;
  readonly constants: Readonly<Record<string, Storage | Elements>>;
}

/** A graph as a program of a plan. */
export function planProgram({ graph, hash }: ChunkProgram, label: string): PlanProgram<Graph> {
  const avals = (ids: readonly number[]): Aval[] => ids.map((id) => at(graph.avals, id));
  return { inputs: avals(graph.inputs), outputs: avals(graph.outputs), graph, hash, label };
}

/** Scalars that tell chunks where they start; each number is one array, so that it lies in a heap once. */
const originData = new Map<number, Int32Array>();

function originOf(value: number): Int32Array {
  const known = originData.get(value) ?? Int32Array.of(value);
  originData.set(value, known);
  return known;
}

/** The window of a region that a part of a source is; all of the region if `undefined`. */
export function windowIn(source: Source, part: AxisRun | null): Window | undefined {
  const { shape } = source.kind === "vector" ? source : source.aval;
  const offset = source.kind === "vector" ? source.offset : 0;
  if (part === null && source.kind !== "vector") return undefined;
  return {
    start: shape.map((_, axis) => offset + (axis === part?.axis ? part.start : 0)),
    extent: shape.map((extent, axis) => (axis === part?.axis ? part.extent : extent)),
  };
}

/** Builds the plan of a method. */
class PlanBuilder {
  readonly #programs: Record<string, PlanProgram<Graph>> = {};
  readonly #regions: Record<string, Region> = {};
  readonly #constants: Record<string, Storage | Elements> = {};
  readonly #lists: Instruction[][];
  readonly #method: Method;
  readonly #loaded: Set<string>[];
  readonly #constantNames = new Map<Storage | Elements, Map<string, string>>();

  constructor(method: Method, entries: readonly Entry[], ranks: number, dimX: number) {
    this.#method = method;
    this.#lists = Array.from({ length: ranks }, () => []);
    this.#loaded = this.#lists.map(() => new Set<string>());
    for (const { name, size } of vectorsOf(method, entries, dimX)) {
      this.#regions[name] = { dtype: "float64", shape: [size], role: "input" };
    }
    for (const { name, shape, covered } of resultsOf(method, entries, dimX)) {
      this.#regions[name] = {
        dtype: "float64",
        shape,
        role: "output",
        ...(covered ? {} : { zero: true }),
      };
    }
  }

  /** One region per array and shape, however many objectives refer to it. */
  #constantRegion({ dtype, shape }: Aval, data: Storage | Elements): string {
    const shapes = this.#constantNames.get(data) ?? new Map<string, string>();
    this.#constantNames.set(data, shapes);
    const key = shape.join(",");
    let name = shapes.get(key);
    if (name === undefined) {
      name = `constant ${Object.keys(this.#constants).length}`;
      this.#regions[name] = { dtype, shape, role: "constant" };
      this.#constants[name] = data;
      shapes.set(key, name);
    }
    return name;
  }

  #regionOf(source: Source, objective: number): string {
    if (source.kind === "vector") return source.region;
    if (source.kind === "constant") return this.#constantRegion(source.aval, source.data);
    const name = dataRegion(objective, source.path);
    this.#regions[name] = { ...source.aval, role: "constant" };
    this.#constants[name] = source.data;
    return name;
  }

  /** Emits the program of an objective, or of a chunk of it, on a rank. */
  run(entry: Entry, objective: number, rank: number, piece: ChunkProgram, task: string): void {
    const list = at(this.#lists, rank);
    const loaded = at(this.#loaded, rank);
    const sources = sourcesOf(entry, this.#method);
    const own: string[] = [];
    const load = (input: BlockInput): string => {
      const part = input.kind === "origin" ? null : input.part;
      const region =
        input.kind === "origin"
          ? this.#constantRegion({ dtype: "int32", shape: [] }, originOf(input.value))
          : this.#regionOf(at(sources, input.position), objective);
      const window = input.kind === "origin" ? undefined : windowIn(at(sources, input.position), part);
      const place = window === undefined ? "" : ` ${window.start.join(",")}:${window.extent.join(",")}`;
      const name = region + place;
      if (loaded.has(name) || own.includes(name)) return name;
      list.push({ kind: "load", buffer: name, region, ...(window === undefined ? {} : { window }) });
      // What only this chunk reads is let go with it, so that copies of windows share their memory.
      if (part === null) loaded.add(name);
      else own.push(name);
      return name;
    };
    const program = piece.label === "" ? `objective ${objective}` : `objective ${objective} ${piece.hash}`;
    this.#programs[program] = planProgram(piece, entry.name);
    const inputs = piece.inputs.map(load);
    const outputs = piece.outputs.map(({ output }) => `result ${output} of ${task}`);
    list.push({ kind: "run", program, inputs, outputs, task });
    piece.outputs.forEach(({ output, part }, position) => {
      const buffer = at(outputs, position);
      const target = targetOf(entry, objective, this.#method, output, part);
      list.push({ kind: "store", buffer, ...target }, { kind: "free", buffer });
    });
    for (const buffer of own) list.push({ kind: "free", buffer });
  }

  build(): MethodPlan {
    this.#lists.forEach((list, rank) => {
      for (const buffer of at(this.#loaded, rank)) list.push({ kind: "free", buffer });
    });
    return {
      plan: {
        version: 1,
        ranks: this.#lists.length,
        programs: this.#programs,
        regions: this.#regions,
        groups: {},
        lists: this.#lists,
      },
      constants: this.#constants,
    };
  }
}

/** Builds the plan of a method for objectives that are placed on ranks. */
export function methodPlan(
  method: Method,
  entries: readonly Entry[],
  placement: readonly ObjectivePlacement[],
  ranks: number,
  dimX: number,
): MethodPlan {
  const builder = new PlanBuilder(method, entries, ranks, dimX);
  entries.forEach((entry, objective) => {
    const place = at(placement, objective);
    for (const { rank, chunk } of piecesOf(place, method)) {
      const piece = entry.piece(method, place.grid, chunk);
      builder.run(entry, objective, rank, piece, taskOf(entry, place, chunk));
    }
  });
  return builder.build();
}
