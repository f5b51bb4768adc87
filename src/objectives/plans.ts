/**
 * The plan of each method: every rank runs the programs of its objectives, or of its chunks of them, and writes their
 * blocks straight to where they belong in the concatenated result.
 */
import { at } from "../base/at.js";
import type { Storage } from "../base/dtype.js";
import type { Shape } from "../base/shape.js";
import type { Aval, Graph } from "../ir/graph.js";
import type { Instruction, Plan, PlanProgram, Region, Window } from "../plan/plan.js";
import type { AxisRun, BlockInput } from "../transform/block.js";
import type { ChunkOutput, ChunkProgram } from "./chunks.js";
import type { Entry } from "./entry.js";
import type { ObjectivePlacement } from "./placement.js";
import { piecesOf } from "./placement.js";
import type { Method } from "./programs.js";

/** A plan with the arrays that its constant regions hold. */
export interface MethodPlan {
  readonly plan: Plan<Graph>;
  readonly constants: Readonly<Record<string, Storage>>;
}

/** The region of the extra vector that a method takes. */
export function extraRegion(method: Method): "tangent" | "cotangent" | null {
  return method === "jvp" ? "tangent" : method === "vjp" ? "cotangent" : null;
}

/** The region of an objective's own Jᵀw or Jᵀr. */
export function gradientRegion(objective: number): string {
  return `gradient ${objective}`;
}

/** The region of an array of an objective's data. */
export function dataRegion(objective: number, path: string): string {
  return `data ${objective}${path}`;
}

const avalsOf = (graph: Graph, ids: readonly number[]): Aval[] => ids.map((id) => at(graph.avals, id));

/** Scalars that tell chunks where they start; each number is one array, so that it lies in a heap once. */
const originData = new Map<number, Int32Array>();

function originOf(value: number): Int32Array {
  const known = originData.get(value) ?? Int32Array.of(value);
  originData.set(value, known);
  return known;
}

/** Where an input of a whole program comes from. */
interface Source {
  readonly region: string;
  /** Its extents, and where it starts in the region if it is not all of it. */
  readonly shape: Shape;
  readonly offset?: number;
}

function windowIn({ shape, offset }: Source, part: AxisRun | null): Window | undefined {
  if (part === null && offset === undefined) return undefined;
  const start = shape.map((_, axis) => (axis === part?.axis ? part.start : 0) + (offset ?? 0));
  return { start, extent: shape.map((extent, axis) => (axis === part?.axis ? part.extent : extent)) };
}

/** Builds the plan of a method. */
class PlanBuilder {
  readonly programs: Record<string, PlanProgram<Graph>> = {};
  readonly regions: Record<string, Region> = {};
  readonly constants: Record<string, Storage> = {};
  readonly lists: Instruction[][];
  readonly #method: Method;
  readonly #dimX: number;
  readonly #loaded: Set<string>[];
  readonly #constantNames = new Map<Storage, Map<string, string>>();

  constructor(method: Method, ranks: number, dimX: number) {
    this.#method = method;
    this.#dimX = dimX;
    this.lists = Array.from({ length: ranks }, () => []);
    this.#loaded = this.lists.map(() => new Set<string>());
  }

  /** One region per array and shape, however many objectives refer to it. */
  #constantRegion({ dtype, shape }: Aval, data: Storage): string {
    const shapes = this.#constantNames.get(data) ?? new Map<string, string>();
    this.#constantNames.set(data, shapes);
    const key = shape.join(",");
    let name = shapes.get(key);
    if (name === undefined) {
      name = `constant ${Object.keys(this.constants).length}`;
      this.regions[name] = { dtype, shape, role: "constant" };
      this.constants[name] = data;
      shapes.set(key, name);
    }
    return name;
  }

  #sources(entry: Entry, objective: number): Source[] {
    const vectors = (region: string): Source[] =>
      entry.part.leaves.map(({ start, size }) => ({ region, shape: [size], offset: start }));
    const extra = extraRegion(this.#method);
    return [
      ...vectors("x"),
      ...entry.data.map(({ path, dtype, shape, data }) => {
        const region = dataRegion(objective, path);
        this.regions[region] = { dtype, shape, role: "constant" };
        this.constants[region] = data;
        return { region, shape };
      }),
      ...(extra === "tangent" ? vectors(extra) : []),
      ...(extra === "cotangent" ? [{ region: extra, shape: [entry.dimF], offset: entry.start }] : []),
      ...entry.program(this.#method).constants.map(({ aval, data }) => {
        return { region: this.#constantRegion(aval, data), shape: aval.shape };
      }),
    ];
  }

  /** Emits the program of an objective, or of a chunk of it, on a rank. */
  run(entry: Entry, objective: number, rank: number, piece: ChunkProgram): void {
    const list = at(this.lists, rank);
    const loaded = at(this.#loaded, rank);
    const sources = this.#sources(entry, objective);
    const own: string[] = [];
    const load = (input: BlockInput): string => {
      const source =
        input.kind === "origin"
          ? { region: this.#constantRegion({ dtype: "int32", shape: [] }, originOf(input.value)), shape: [] }
          : at(sources, input.position);
      const part = input.kind === "origin" ? null : input.part;
      const window = windowIn(source, part);
      const place = window === undefined ? "" : ` ${window.start.join(",")}:${window.extent.join(",")}`;
      const name = source.region + place;
      if (loaded.has(name) || own.includes(name)) return name;
      list.push({
        kind: "load",
        buffer: name,
        region: source.region,
        ...(window === undefined ? {} : { window }),
      });
      // What only this chunk reads is let go with it, so that copies of windows share their memory.
      if (part === null) loaded.add(name);
      else own.push(name);
      return name;
    };
    const { graph, hash, label } = piece;
    const task = label === "" ? entry.name : `${entry.name} ${label}`;
    const program = label === "" ? `objective ${objective}` : `objective ${objective} ${hash}`;
    this.programs[program] = {
      inputs: avalsOf(graph, graph.inputs),
      outputs: avalsOf(graph, graph.outputs),
      graph,
      hash,
      label: entry.name,
    };
    const inputs = piece.inputs.map(load);
    const outputs = piece.outputs.map(({ output }) => `result ${objective}.${output} ${label}`);
    list.push({ kind: "run", program, inputs, outputs, task });
    piece.outputs.forEach((output, position) =>
      this.#store(entry, objective, list, output, at(outputs, position)),
    );
    for (const buffer of own) list.push({ kind: "free", buffer });
  }

  #store(entry: Entry, objective: number, list: Instruction[], output: ChunkOutput, buffer: string): void {
    const [region, whole] = this.#target(entry, objective, output.output);
    const { part } = output;
    const start = [...whole.start];
    const extent = [...whole.extent];
    if (part !== null) {
      start[part.axis] = at(start, part.axis) + part.start;
      extent[part.axis] = part.extent;
    }
    list.push({ kind: "store", buffer, region, window: { start, extent } }, { kind: "free", buffer });
  }

  /** The window that an output of the whole program fills. */
  #target(entry: Entry, objective: number, output: number): readonly [region: string, window: Window] {
    const rows = (region: string): [string, Window] => [
      region,
      { start: [entry.start], extent: [entry.dimF] },
    ];
    const leaf = (position: number) => at(entry.part.leaves, position);
    switch (this.#method) {
      case "residual":
        return rows("residual");
      case "jvp":
        return rows("product");
      case "jacobian":
      case "linearize": {
        const first = this.#method === "linearize" ? 1 : 0;
        if (output < first) return rows("residual");
        const { start, size } = leaf(output - first);
        return ["jacobian", { start: [entry.start, start], extent: [entry.dimF, size] }];
      }
      case "vjp":
      case "gradient": {
        const { start, size } = leaf(output);
        return [gradientRegion(objective), { start: [start], extent: [size] }];
      }
    }
  }

  /** Declares the regions of coefficients and results. */
  declare(entries: readonly Entry[]): void {
    const dimX = this.#dimX;
    const dimF = entries.reduce((sum, entry) => sum + entry.dimF, 0);
    const zero = (covers: boolean): { readonly zero?: true } => (covers ? {} : { zero: true });
    const declare = (name: string, shape: Shape, role: "input" | "output", covers = true): void => {
      this.regions[name] = { dtype: "float64", shape, role, ...zero(covers) };
    };
    declare("x", [dimX], "input");
    const extra = extraRegion(this.#method);
    if (extra !== null) declare(extra, [extra === "tangent" ? dimX : dimF], "input");
    const covers = entries.every(({ part }) => part.size === dimX);
    switch (this.#method) {
      case "residual":
        declare("residual", [dimF], "output");
        return;
      case "linearize":
        declare("residual", [dimF], "output");
        declare("jacobian", [dimF, dimX], "output", covers);
        return;
      case "jacobian":
        declare("jacobian", [dimF, dimX], "output", covers);
        return;
      case "jvp":
        declare("product", [dimF], "output");
        return;
      case "vjp":
      case "gradient":
        entries.forEach(({ part }, objective) => {
          declare(gradientRegion(objective), [dimX], "output", part.size === dimX);
        });
    }
  }

  build(): MethodPlan {
    this.lists.forEach((list, rank) => {
      for (const buffer of at(this.#loaded, rank)) list.push({ kind: "free", buffer });
    });
    const { programs, regions, lists, constants } = this;
    return { plan: { version: 1, ranks: lists.length, programs, regions, groups: {}, lists }, constants };
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
  const builder = new PlanBuilder(method, ranks, dimX);
  builder.declare(entries);
  entries.forEach((entry, objective) => {
    const place = at(placement, objective);
    for (const { rank, chunk } of piecesOf(place, method)) {
      builder.run(entry, objective, rank, entry.piece(method, place.grid, chunk));
    }
  });
  return builder.build();
}
