/**
 * Objectives that do not fit in the heap, cut into waves that do: each wave is a plan of some chunks whose windows of
 * arrays are inputs, written before the step, and whose results are copied out after it. The chunks are those of the grid,
 * so the bits are too.
 */
import { at } from "../base/at.js";
import type { Storage } from "../base/dtype.js";
import { allocate, itemSize } from "../base/dtype.js";
import type { Elements } from "../base/elements.js";
import { storageNow } from "../base/elements.js";
import { sizeOf } from "../base/shape.js";
import { copyBox, denseSide, windowSide } from "../heap/box.js";
import type { Aval, Graph } from "../ir/graph.js";
import type { Instruction, Plan, PlanProgram, Region, Window } from "../plan/plan.js";
import { byteSize, isContiguous } from "../plan/plan.js";
import { balance } from "../planner/balance.js";
import type { BalanceItem } from "../planner/balance.js";
import type { BlockInput } from "../transform/block.js";
import type { Source, Target, VectorName } from "./arguments.js";
import { sourcesOf, targetOf, vectorsOf } from "./arguments.js";
import type { ChunkProgram } from "./chunks.js";
import type { Entry } from "./entry.js";
import type { Grid } from "./grid.js";
import { isCut } from "./grid.js";
import { planProgram, windowIn } from "./plans.js";
import type { Method } from "./programs.js";

/** What is evaluated in waves. */
export interface WaveRequest {
  readonly method: Method;
  readonly entries: readonly Entry[];
  readonly grids: readonly Grid[];
  readonly ranks: number;
  readonly dimX: number;
}

/** The vectors of a call. */
export type Vectors = Readonly<Partial<Record<VectorName, Float64Array>>>;

/** An input region of a wave, and what is written there. */
interface WaveInput {
  readonly region: string;
  readonly data: (vectors: Vectors) => Storage;
}

/** An output region of a wave, and the box of a joined result that it is. */
interface WaveOutput extends Target {
  readonly from: string;
}

/** Some chunks that are computed in one step. */
export interface Wave {
  readonly plan: Plan<Graph>;
  /** Equal keys mean equal plans. */
  readonly key: string;
  readonly inputs: readonly WaveInput[];
  readonly outputs: readonly WaveOutput[];
}

/** One chunk, or an objective in one piece. */
interface Piece {
  readonly objective: number;
  readonly program: ChunkProgram;
  readonly work: number;
}

/** A window of an array as an array of its own; in place where it has no gaps. */
function partOf(data: Storage, { dtype, shape }: Aval, window: Window | undefined): Storage {
  if (window === undefined) return data;
  const size = sizeOf(window.extent);
  const item = itemSize(dtype);
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const from = windowSide(bytes, 0, shape, window.start, item);
  if (isContiguous(window, shape)) return data.subarray(from.offset / item, from.offset / item + size);
  const part = allocate(dtype, size);
  const to = denseSide(new Uint8Array(part.buffer), 0, window.extent, item);
  copyBox(to, from, window.extent, item);
  return part;
}

/** Copies a dense array into a box of a row-major one. */
export function placeBox(to: Float64Array, shape: readonly number[], window: Window, from: Storage): void {
  const bytesOf = (data: Storage): Uint8Array =>
    new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const target = windowSide(bytesOf(to), 0, shape, window.start, 8);
  copyBox(target, denseSide(bytesOf(from), 0, window.extent, 8), window.extent, 8);
}

/** Builds the plan of one wave. */
class WaveBuilder {
  readonly #request: WaveRequest;
  readonly #programs: Record<string, PlanProgram<Graph>> = {};
  readonly #regions: Record<string, Region> = {};
  readonly #lists: Instruction[][];
  readonly #inputs: WaveInput[] = [];
  readonly #outputs: WaveOutput[] = [];
  /** Arrays that are in the wave in one piece, by shape. */
  readonly #arrays = new Map<Storage | Elements, Map<string, string>>();
  readonly #loads: Map<string, string>[];

  constructor(request: WaveRequest) {
    this.#request = request;
    this.#lists = Array.from({ length: request.ranks }, () => []);
    this.#loads = this.#lists.map(() => new Map<string, string>());
    for (const { name, size } of vectorsOf(request.method, request.entries, request.dimX)) {
      this.#regions[name] = { dtype: "float64", shape: [size], role: "input" };
      this.#inputs.push({ region: name, data: (vectors) => vectors[name] ?? new Float64Array(size) });
    }
  }

  #addInput({ dtype, shape }: Aval, data: WaveInput["data"]): string {
    const region = `input ${this.#inputs.length}`;
    this.#regions[region] = { dtype, shape, role: "input" };
    this.#inputs.push({ region, data });
    return region;
  }

  /** The region of an input, and the window of it. */
  #regionOf(
    input: BlockInput,
    sources: readonly Source[],
  ): { readonly region: string; readonly window?: Window } {
    if (input.kind === "origin") {
      const value = Int32Array.of(input.value);
      return { region: this.#addInput({ dtype: "int32", shape: [] }, () => value) };
    }
    const source = at(sources, input.position);
    const window = windowIn(source, input.part);
    if (source.kind === "vector") {
      const { region } = source;
      if (input.part === null && window !== undefined) return { region, window };
      // Chunks read other parts: as an input of its own, waves of equal chunks have equal plans.
      const [start = 0] = window?.start ?? [];
      const shape = window?.extent ?? source.shape;
      return {
        region: this.#addInput({ dtype: "float64", shape }, (vectors) =>
          (vectors[region] ?? new Float64Array(0)).subarray(start, start + sizeOf(shape)),
        ),
      };
    }
    const { aval, data } = source;
    if (window !== undefined) {
      const own = { dtype: aval.dtype, shape: window.extent };
      return { region: this.#addInput(own, () => partOf(storageNow(data), aval, window)) };
    }
    const known = this.#arrays.get(data) ?? new Map<string, string>();
    this.#arrays.set(data, known);
    const key = aval.shape.join(",");
    const region = known.get(key) ?? this.#addInput(aval, () => storageNow(data));
    known.set(key, region);
    return { region };
  }

  add({ objective, program }: Piece, rank: number): void {
    const { method, entries } = this.#request;
    const entry = at(entries, objective);
    const sources = sourcesOf(entry, method);
    const list = at(this.#lists, rank);
    const loads = at(this.#loads, rank);
    const inputs = program.inputs.map((input) => {
      const { region, window } = this.#regionOf(input, sources);
      const key =
        window === undefined ? region : `${region} ${window.start.join(",")}:${window.extent.join(",")}`;
      if (!loads.has(key)) {
        list.push({ kind: "load", buffer: key, region, ...(window === undefined ? {} : { window }) });
        loads.set(key, key);
      }
      return key;
    });
    this.#programs[program.hash] = planProgram(program, entry.name);
    const outputs = program.outputs.map(({ output, part }, position) => {
      const target = targetOf(entry, objective, method, output, part);
      const from = `output ${this.#outputs.length}`;
      this.#regions[from] = { ...at(planProgram(program, "").outputs, position), role: "output" };
      this.#outputs.push({ ...target, from });
      return from;
    });
    list.push({ kind: "run", program: program.hash, inputs, outputs, task: entry.name });
    for (const buffer of outputs)
      list.push({ kind: "store", buffer, region: buffer }, { kind: "free", buffer });
  }

  build(): Wave {
    this.#lists.forEach((list, rank) => {
      for (const buffer of at(this.#loads, rank).keys()) list.push({ kind: "free", buffer });
    });
    const plan: Plan<Graph> = {
      version: 1,
      ranks: this.#lists.length,
      programs: this.#programs,
      regions: this.#regions,
      groups: {},
      lists: this.#lists,
    };
    return {
      plan,
      key: JSON.stringify([plan.regions, plan.lists]),
      inputs: this.#inputs,
      outputs: this.#outputs,
    };
  }
}

/** Bytes that a wave of these pieces takes, arrays that several of them read counted once. */
class WaveSize {
  readonly #request: WaveRequest;
  readonly #seen = new Set<Storage | Elements>();
  bytes = 0;

  constructor(request: WaveRequest) {
    this.#request = request;
  }

  add({ objective, program }: Piece): void {
    const { entries, method } = this.#request;
    const sources = sourcesOf(at(entries, objective), method);
    const { inputs, outputs } = planProgram(program, "");
    program.inputs.forEach((input, position) => {
      const own = byteSize(at(inputs, position));
      const source = input.kind === "origin" ? undefined : at(sources, input.position);
      if (input.kind === "input" && input.part === null && source !== undefined && source.kind !== "vector") {
        if (this.#seen.has(source.data)) return;
        this.#seen.add(source.data);
      }
      this.bytes += own;
    });
    for (const type of outputs) this.bytes += byteSize(type);
  }
}

function piecesOf({ method, entries, grids }: WaveRequest): Piece[][] {
  return entries.map((entry, objective) => {
    const grid = at(grids, objective);
    if (!isCut(grid, method)) {
      return [{ objective, program: entry.piece(method, grid, null), work: entry.work }];
    }
    return grid.work.map((work, chunk) => ({ objective, program: entry.piece(method, grid, chunk), work }));
  });
}

/** The most pieces, from the first on, that fit; at least one. */
function fitting(request: WaveRequest, pieces: readonly Piece[], budget: number): number {
  const size = new WaveSize(request);
  let count = 0;
  for (const piece of pieces) {
    size.add(piece);
    if (size.bytes > budget && count > 0) break;
    count++;
  }
  return count;
}

/** Lays the pieces of a wave over the ranks, neighbours together. */
function build(request: WaveRequest, pieces: readonly Piece[]): Wave {
  const pinned = pieces.map(({ objective }) => at(request.entries, objective).definition.options.rank);
  const free = pieces.filter((_, i) => pinned[i] === undefined);
  const work = free.map((piece) => piece.work);
  const items: BalanceItem[] = pieces.flatMap((piece, i) => {
    const rank = pinned[i];
    return rank === undefined ? [] : [{ cost: piece.work, pieces: [], rank }];
  });
  const total = work.reduce((sum, own) => sum + own, 0);
  const { parts } = balance([...items, { cost: total, pieces: work }], request.ranks);
  const spread = at(parts, items.length);
  const builder = new WaveBuilder(request);
  let next = 0;
  pieces.forEach((piece, i) => {
    const position = pinned[i] === undefined ? next++ : -1;
    const own = spread.find(({ from, to }) => from <= position && position < to);
    builder.add(piece, pinned[i] ?? own?.rank ?? 0);
  });
  return builder.build();
}

/** Cuts a method into waves that take about `budget` bytes each. */
export function wavesOf(request: WaveRequest, budget: number): Wave[] {
  const waves: Wave[] = [];
  let open: Piece[] = [];
  const close = (): void => {
    if (open.length > 0) waves.push(build(request, open));
    open = [];
  };
  for (const pieces of piecesOf(request)) {
    if (fitting(request, [...open, ...pieces], budget) === open.length + pieces.length) {
      open.push(...pieces);
      continue;
    }
    close();
    // Waves of equally many chunks have equal plans.
    const most = fitting(request, pieces, budget);
    const even = Math.ceil(pieces.length / Math.ceil(pieces.length / most));
    for (let from = 0; from < pieces.length; from += even) {
      open = pieces.slice(from, from + even);
      if (from + even < pieces.length) close();
    }
  }
  close();
  return waves;
}
