/**
 * The plan of each method: every rank runs the programs of its objectives and writes their blocks straight to where they
 * belong in the concatenated result.
 */
import { at } from "../base/at.js";
import type { Storage } from "../base/dtype.js";
import type { Aval, Graph } from "../ir/graph.js";
import type { Instruction, Plan, PlanProgram, Region } from "../plan/plan.js";
import type { Entry } from "./entry.js";
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

/** Builds the plan of a method for objectives that are placed on ranks. */
export function methodPlan(
  method: Method,
  entries: readonly Entry[],
  placement: readonly number[],
  ranks: number,
  dimX: number,
): MethodPlan {
  const dimF = entries.reduce((sum, entry) => sum + entry.dimF, 0);
  const programs: Record<string, PlanProgram<Graph>> = {};
  const regions: Record<string, Region> = { x: { dtype: "float64", shape: [dimX], role: "input" } };
  const constants: Record<string, Storage> = {};
  const constantNames = new Map<Storage, Map<string, string>>();
  const lists: Instruction[][] = Array.from({ length: ranks }, () => []);
  const loaded = lists.map(() => new Set<string>());
  const covers = entries.every(({ part }) => part.size === dimX);
  const writesResidual = method === "residual" || method === "linearize";
  const writesJacobian = method === "jacobian" || method === "linearize";

  if (writesResidual) regions["residual"] = { dtype: "float64", shape: [dimF], role: "output" };
  if (writesJacobian) {
    const shape = [dimF, dimX];
    regions["jacobian"] = { dtype: "float64", shape, role: "output", ...(covers ? {} : { zero: true }) };
  }
  if (method === "jvp") regions["product"] = { dtype: "float64", shape: [dimF], role: "output" };
  const extra = extraRegion(method);
  if (extra !== null) {
    regions[extra] = { dtype: "float64", shape: [extra === "tangent" ? dimX : dimF], role: "input" };
  }

  /** One region per array and shape, however many objectives refer to it. */
  const constantRegion = (aval: Aval, data: Storage): string => {
    const shapes = constantNames.get(data) ?? new Map<string, string>();
    constantNames.set(data, shapes);
    const key = aval.shape.join(",");
    const known = shapes.get(key);
    if (known !== undefined) return known;
    const name = `constant ${Object.keys(constants).length}`;
    regions[name] = { dtype: aval.dtype, shape: aval.shape, role: "constant" };
    constants[name] = data;
    shapes.set(key, name);
    return name;
  };

  entries.forEach((entry, objective) => {
    const { graph, hash, constants: own } = entry.program(method);
    const rank = at(placement, objective);
    const list = at(lists, rank);
    const load = (name: string, region: string, window?: { start: number[]; extent: number[] }): string => {
      if (!at(loaded, rank).has(name)) {
        list.push({ kind: "load", buffer: name, region, ...(window === undefined ? {} : { window }) });
        at(loaded, rank).add(name);
      }
      return name;
    };
    const window = (start: number, extent: number) => ({ start: [start], extent: [extent] });
    const vectors = (region: string): string[] =>
      entry.part.leaves.map(({ start, size }) => load(`${region} ${start}`, region, window(start, size)));

    const inputs = [
      ...vectors("x"),
      ...entry.data.map(({ path, dtype, shape, data }) => {
        const name = dataRegion(objective, path);
        regions[name] = { dtype, shape, role: "constant" };
        constants[name] = data;
        return load(name, name);
      }),
      ...(extra === "tangent" ? vectors(extra) : []),
      ...(extra === "cotangent"
        ? [load(`cotangent ${objective}`, extra, window(entry.start, entry.dimF))]
        : []),
      ...own.map(({ aval, data }) => {
        const name = constantRegion(aval, data);
        return load(name, name);
      }),
    ];
    const outputs = graph.outputs.map((_, position) => `result ${objective}.${position}`);
    const program = `objective ${objective}`;
    programs[program] = {
      inputs: avalsOf(graph, graph.inputs),
      outputs: avalsOf(graph, graph.outputs),
      graph,
      hash,
      label: entry.name,
    };
    list.push({ kind: "run", program, inputs, outputs, task: entry.name });

    const store = (buffer: string, region: string, start: number[], extent: number[]): void => {
      list.push({ kind: "store", buffer, region, window: { start, extent } }, { kind: "free", buffer });
    };
    const leafOutputs = writesResidual ? outputs.slice(1) : outputs;
    if (writesResidual) store(at(outputs, 0), "residual", [entry.start], [entry.dimF]);
    if (method === "jvp") store(at(outputs, 0), "product", [entry.start], [entry.dimF]);
    if (writesJacobian) {
      entry.part.leaves.forEach(({ start, size }, i) => {
        store(at(leafOutputs, i), "jacobian", [entry.start, start], [entry.dimF, size]);
      });
    }
    if (method === "vjp" || method === "gradient") {
      const name = gradientRegion(objective);
      const partial = entry.part.size < dimX;
      regions[name] = { dtype: "float64", shape: [dimX], role: "output", ...(partial ? { zero: true } : {}) };
      entry.part.leaves.forEach(({ start, size }, i) => {
        store(at(outputs, i), name, [start], [size]);
      });
    }
  });
  lists.forEach((list, rank) => {
    for (const buffer of at(loaded, rank)) list.push({ kind: "free", buffer });
  });
  return { plan: { version: 1, ranks, programs, regions, groups: {}, lists }, constants };
}

/**
 * Which rank holds each objective: the given one, else the least loaded when the costliest are placed first. A function
 * of the objectives alone, so that a program places the same way everywhere.
 */
export function placeEntries(entries: readonly Entry[], ranks: number): number[] {
  const load = new Array<number>(ranks).fill(0);
  const placement = entries.map((entry) => entry.definition.options.rank ?? -1);
  placement.forEach((rank, objective) => {
    if (rank >= 0) load[rank] = at(load, rank) + at(entries, objective).flops;
  });
  const free = placement.flatMap((rank, objective) => (rank < 0 ? [objective] : []));
  free.sort((a, b) => at(entries, b).flops - at(entries, a).flops || a - b);
  for (const objective of free) {
    const rank = load.indexOf(Math.min(...load));
    placement[objective] = rank;
    // An objective that costs nothing still takes a turn, so that such objectives spread too.
    load[rank] = at(load, rank) + Math.max(1, at(entries, objective).flops);
  }
  return placement;
}
