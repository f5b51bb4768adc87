/**
 * One objective within an objective function: its traced residual, its place in the concatenated result, and its
 * programs, each derived when it is first asked for.
 */
import { toArray } from "../arrays/index.js";
import type { ArrayInput } from "../arrays/index.js";
import type { Storage } from "../base/dtype.js";
import { ArgumentError, DTypeError, ShapeError } from "../base/errors.js";
import { formatShape, sameShape, sizeOf } from "../base/shape.js";
import { flattenWithPaths } from "../base/tree.js";
import type { LeafWithPath } from "../base/tree.js";
import type { Aval } from "../ir/graph.js";
import { hashGraph } from "../ir/hash.js";
import { workOf } from "../transform/work.js";
import type { ChunkProgram } from "./chunks.js";
import { chunkProgram, wholeProgram } from "./chunks.js";
import type { Grid } from "./grid.js";
import { gridOf } from "./grid.js";
import type { Layout, LayoutPart } from "./layout.js";
import { selectParts } from "./layout.js";
import type { ObjectiveOptions } from "./options.js";
import { checkOptions } from "./options.js";
import type { Method, ObjectiveProgram, ResidualFunction } from "./programs.js";
import { programOf, residualFunction } from "./programs.js";
import type { DataParts, ObjectiveFunctionBody } from "./residual.js";
import { residualGraph } from "./residual.js";

/** What defines an objective before it meets coefficients. */
export interface ObjectiveDefinition {
  readonly body: ObjectiveFunctionBody;
  readonly options: ObjectiveOptions;
  /** The named parts of the coefficients that it sees; all if absent. */
  readonly parts?: readonly string[];
}

/** One array of an objective's data. */
export interface DataLeaf extends Aval {
  readonly path: string;
  /** The objective function's own copy. */
  readonly data: Storage;
}

/** An objective, traced. */
export interface Entry {
  readonly name: string;
  readonly definition: ObjectiveDefinition;
  readonly part: LayoutPart;
  readonly residual: ResidualFunction;
  /** Its first row of the residual. */
  readonly start: number;
  readonly dimF: number;
  readonly data: readonly DataLeaf[];
  /** The work of one residual and Jacobian, by the table. */
  readonly work: number;
  program(method: Method): ObjectiveProgram & { readonly hash: string };
  /** Its chunks, on ranks with this much memory. */
  grid(memory: number): Grid;
  /** The program of a chunk of its grid, or of all of it. */
  piece(method: Method, grid: Grid, chunk: number | null): ChunkProgram;
}

function dataLeaf(operation: string, { leaf, path }: LeafWithPath): DataLeaf {
  const argument = `data${path}`;
  // `toArray` refuses, with a typed error, whatever is not an array.
  const { dtype, shape, data } = toArray(operation, argument, leaf as ArrayInput);
  return { path, dtype, shape, data: data.slice() };
}

/** Traces an objective for coefficients of a layout. Throws what its function throws, and typed errors for bad options. */
export function makeEntry(
  definition: ObjectiveDefinition,
  fallbackName: string,
  layout: Layout,
  start: number,
): Entry {
  const { options, body } = definition;
  checkOptions(options);
  const name = options.name ?? fallbackName;
  const operation = `objective "${name}"`;
  const part = selectParts(operation, layout, definition.parts);
  const { leaves, structure } = flattenWithPaths(options.data ?? {});
  const data = leaves.map((leaf) => dataLeaf(operation, leaf));
  const dataParts: DataParts = { structure, avals: data.map(({ dtype, shape }) => ({ dtype, shape })) };
  const graph = residualGraph(operation, body, options, part, dataParts);
  const residual = residualFunction(graph, part.leaves.length, options.derivative);
  const programs = new Map<Method, ObjectiveProgram & { readonly hash: string }>();
  const program = (method: Method): ObjectiveProgram & { readonly hash: string } => {
    let known = programs.get(method);
    if (known === undefined) {
      const derived = programOf(residual, method);
      known = { ...derived, hash: hashGraph(derived.graph) };
      programs.set(method, known);
    }
    return known;
  };
  const grids = new Map<number, Grid>();
  const pieces = new Map<Grid | null, Map<string, ChunkProgram>>();
  return {
    name,
    definition,
    part,
    residual,
    start,
    dimF: residual.dimF,
    data,
    program,
    work: workOf(program("linearize").graph),
    grid: (memory) => {
      const known = grids.get(memory);
      if (known !== undefined) return known;
      const { graph: linearize } = program("linearize");
      const grid = gridOf({ graph: linearize, name, chunk: options.chunk ?? "auto", memory });
      grids.set(memory, grid);
      return grid;
    },
    piece: (method, grid, chunk) => {
      const owner = chunk === null ? null : grid;
      const own = pieces.get(owner) ?? new Map<string, ChunkProgram>();
      pieces.set(owner, own);
      const key = `${method} ${chunk}`;
      const known =
        own.get(key) ??
        (chunk === null ? wholeProgram(program(method)) : chunkProgram(program(method), grid, chunk, method));
      own.set(key, known);
      return known;
    },
  };
}

/** All objectives in order, with consecutive rows. Throws `ArgumentError` if there are none or two share a name. */
export function makeEntries(
  operation: string,
  definitions: readonly ObjectiveDefinition[],
  layout: Layout,
): Entry[] {
  if (definitions.length === 0) {
    throw new ArgumentError({
      operation,
      argument: "objectives",
      found: "an empty list",
      expected: "at least one objective",
    });
  }
  const entries: Entry[] = [];
  let start = 0;
  definitions.forEach((definition, position) => {
    const entry = makeEntry(definition, `objective ${position}`, layout, start);
    if (entries.some(({ name }) => name === entry.name)) {
      throw new ArgumentError({
        operation,
        argument: `objectives[${position}].name`,
        found: `"${entry.name}", which another objective has`,
        expected: "distinct names",
      });
    }
    entries.push(entry);
    start += entry.dimF;
  });
  return entries;
}

/** New values for an objective's data: the leaves that `values` names, checked against those of the build. */
export function checkData(
  operation: string,
  entry: Entry,
  values: unknown,
): { leaf: DataLeaf; data: Storage }[] {
  return flattenWithPaths(values).leaves.map((item) => {
    const leaf = entry.data.find(({ path }) => path === item.path);
    if (leaf === undefined) {
      throw new ArgumentError({
        operation,
        argument: `data${item.path}`,
        found: "no such array",
        expected: `one of ${entry.data.map(({ path }) => `data${path}`).join(", ") || "none: it has no data"}`,
      });
    }
    const fresh = dataLeaf(operation, item);
    if (!sameShape(fresh.shape, leaf.shape)) {
      throw new ShapeError({
        operation,
        argument: `data${item.path}`,
        found: formatShape(fresh.shape),
        expected: `${formatShape(leaf.shape)}, as at build`,
        remedy: "build a new objective function for other shapes",
      });
    }
    if (fresh.dtype !== leaf.dtype) {
      throw new DTypeError({
        operation,
        argument: `data${item.path}`,
        found: fresh.dtype,
        expected: `${leaf.dtype}, as at build`,
        remedy: `convert it with .astype("${leaf.dtype}")`,
      });
    }
    return { leaf, data: fresh.data };
  });
}

/** The number of elements of a program's input or output. */
export function elements(aval: Aval): number {
  return sizeOf(aval.shape);
}
