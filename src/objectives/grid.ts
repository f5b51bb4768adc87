/**
 * Where an objective may be cut: a fixed grid of chunks, rows of its residual or, where rows share too much, columns of
 * its Jacobian. The grid follows from the graph, its shapes and the declared memory alone, never from the number of ranks
 * or from measurements, so that a plan is the same wherever it is made.
 */
import { at } from "../base/at.js";
import { ArgumentError } from "../base/errors.js";
import { sizeOf } from "../base/shape.js";
import type { Graph } from "../ir/graph.js";
import type { Run } from "../primitives/sharding.js";
import type { AxisRun, Block } from "../transform/block.js";
import { blockGraph, grainOf } from "../transform/block.js";
import { bytesOf, workOf } from "../transform/work.js";
import type { Method } from "./programs.js";

/** One chunk of an objective: rows, or columns of one of the arrays of coefficients that it sees. */
export interface Chunk extends Run {
  /** The position of the array of coefficients; 0 for rows. */
  readonly leaf: number;
}

/** The chunks of an objective. */
export interface Grid {
  readonly along: "rows" | "columns";
  /** At least one. */
  readonly chunks: readonly Chunk[];
  /** The work of each in `linearize`, by the table. */
  readonly work: readonly number[];
  /** True if the objective would exceed the declared memory in one piece. */
  readonly required: boolean;
}

/** What a grid is made from. */
export interface GridRequest {
  /** The program of `linearize`: the residual, then the Jacobian in each array of coefficients. */
  readonly graph: Graph;
  readonly name: string;
  /** Rows or columns in a chunk. */
  readonly chunk: number | "auto";
  /** Bytes that the inputs and outputs of a chunk may take. */
  readonly memory: number;
}

/** Less work than this, about 100 µs, is not worth a chunk of its own. */
const leastWork = 1e5;
/** Chunks of an objective at most, unless memory or the user asks for more. */
const usualChunks = 64;
const mostChunks = 1024;
/** How much work all chunks together may do more than the objective in one piece. */
const mostWaste = 0.25;

/** The methods whose programs are cut along a grid; the others, which sum over rows, stay whole. */
export function isCut(grid: Grid, method: Method): boolean {
  if (grid.chunks.length < 2 || method === "vjp" || method === "gradient") return false;
  return grid.along === "rows" || method === "jacobian" || method === "linearize";
}

/** What a chunk computes of each output of a method's program; `null` for nothing. */
export function cutsOf(grid: Grid, index: number, method: Method, graph: Graph): (AxisRun | null)[] {
  const { leaf, start, extent } = at(grid.chunks, index);
  const jacobians = method === "linearize" ? 1 : 0;
  return graph.outputs.map((id, output) => {
    if (grid.along === "rows") return { axis: 0, start, extent };
    // The residual comes with the first columns.
    if (output < jacobians) {
      return index === 0 ? { axis: 0, start: 0, extent: at(at(graph.avals, id).shape, 0) } : null;
    }
    return output - jacobians === leaf ? { axis: 1, start, extent } : null;
  });
}

/** Bytes that must be copied before a block runs, since windows along later axes have gaps. */
function copiedBytes(graph: Graph, { inputs, graph: block }: Block): number {
  return inputs.reduce((sum, input, i) => {
    if (input.kind === "origin" || input.part === null) return sum;
    const { shape } = at(graph.avals, at(graph.inputs, input.position));
    const gaps = sizeOf(shape.slice(0, input.part.axis)) > 1;
    return gaps ? sum + bytesOf(block, [at(block.inputs, i)]) : sum;
  }, 0);
}

/** Runs of `size` positions. */
function runsOf(total: number, size: number): Run[] {
  return Array.from({ length: Math.ceil(total / size) }, (_, i) => ({
    start: i * size,
    extent: Math.min(size, total - i * size),
  }));
}

class GridMaker {
  readonly #request: GridRequest;
  /** The rows of the residual, and the columns in each array of coefficients. */
  readonly #rows: number;
  readonly #columns: readonly number[];
  readonly #whole: number;
  readonly #needed: number;

  constructor(request: GridRequest) {
    this.#request = request;
    const { graph, memory } = request;
    const [residual, ...jacobians] = graph.outputs.map((id) => at(graph.avals, id).shape);
    this.#rows = residual?.[0] ?? 1;
    this.#columns = jacobians.map((shape) => at(shape, 1));
    this.#whole = workOf(graph);
    this.#needed = Math.ceil(bytesOf(graph, [...graph.inputs, ...graph.outputs]) / Math.max(1, memory));
  }

  get #required(): boolean {
    return this.#needed > 1;
  }

  make(): Grid {
    const { chunk, graph } = this.#request;
    const whole: Grid = {
      along: "rows",
      chunks: [{ leaf: 0, start: 0, extent: this.#rows }],
      work: [this.#whole],
      required: false,
    };
    if (chunk === "auto" && !this.#required && this.#whole < 2 * leastWork) return whole;
    const grain = grainOf(graph, at(graph.outputs, 0), 0);
    return this.#cut("rows", 2 * grain > this.#rows ? 1 : grain) ?? this.#cut("columns", 1) ?? whole;
  }

  #chunks(along: Grid["along"], size: number): Chunk[] {
    const totals = along === "rows" ? [this.#rows] : this.#columns;
    return totals.flatMap((total, leaf) => runsOf(total, size).map((run) => ({ leaf, ...run })));
  }

  #gridOf(along: Grid["along"], size: number): Grid {
    const { graph } = this.#request;
    const chunks = this.#chunks(along, size);
    const grid: Grid = { along, chunks, work: [], required: this.#required };
    // Chunks of one size do the same work; the first one may compute the residual too.
    const known = new Map<string, number>();
    const work = chunks.map(({ leaf, extent }, index) => {
      const key = `${leaf}.${extent}.${index === 0}`;
      let own = known.get(key);
      if (own === undefined) {
        const block = blockGraph(graph, cutsOf(grid, index, "linearize", graph));
        own = workOf(block.graph) + (2 * copiedBytes(graph, block)) / 8;
        known.set(key, own);
      }
      return own;
    });
    return { ...grid, work };
  }

  /** The work that every chunk but one does again. */
  #repeated({ work }: Grid): number {
    const all = work.reduce((sum, own) => sum + own, 0);
    return Math.max(0, (all - this.#whole) / (work.length - 1));
  }

  /** The grid along rows or columns, unless its chunks would do too much of the work again. */
  #cut(along: Grid["along"], grain: number): Grid | null {
    const { chunk, name } = this.#request;
    const total = along === "rows" ? this.#rows : this.#columns.reduce((sum, size) => sum + size, 0);
    if (total < 2) return null;
    if (chunk !== "auto") {
      if (chunk >= total) return null;
      const count = this.#chunks(along, chunk).length;
      if (count > mostChunks) {
        throw new ArgumentError({
          operation: `objective "${name}"`,
          argument: "chunk",
          found: `${chunk}, which makes ${count} chunks of ${total} ${along}`,
          expected: `at least ${Math.ceil(total / mostChunks)}`,
        });
      }
      const grid = this.#gridOf(along, chunk);
      // Where each chunk does most of everything again, chunks are no parts.
      return this.#repeated(grid) < this.#whole / 2 ? grid : null;
    }
    const sizeFor = (count: number): number => Math.ceil(total / count / grain) * grain;
    const wanted = Math.min(usualChunks, Math.floor(this.#whole / leastWork));
    const count = Math.max(1, Math.min(mostChunks, total, Math.max(wanted, this.#needed)));
    const first = this.#gridOf(along, sizeFor(count));
    const pieces = first.chunks.length;
    if (pieces < 2) return null;
    // Work that every chunk repeats bounds how many are worth it.
    const worth = Math.floor(1 + (mostWaste * this.#whole) / Math.max(this.#repeated(first), 1e-300));
    if (worth >= pieces || this.#required) return first;
    return worth < 2 ? null : this.#gridOf(along, sizeFor(worth));
  }
}

/** The grid of an objective. Throws `ArgumentError` for chunks so small that there would be too many. */
export function gridOf(request: GridRequest): Grid {
  return new GridMaker(request).make();
}
