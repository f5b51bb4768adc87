/**
 * The graph of a block of a graph's results, over the parts of its inputs that the block needs. Blocks are exact: each has
 * the bits that the whole graph's results have there. Blocks that differ only in their place have the same graph.
 */
import { at } from "../base/at.js";
import { GraphError } from "../base/errors.js";
import type { Equation, Graph, ValueId } from "../ir/graph.js";
import { GraphBuilder } from "../primitives/builder.js";
import type { Run, Sharding } from "../primitives/sharding.js";
import { notCuttable, sliceAlong, whole, withEntry } from "../primitives/sharding.js";
import { rowOf } from "../primitives/table.js";
import { dropDead } from "./simplify.js";

/** Positions of a value along one axis. */
export interface AxisRun extends Run {
  readonly axis: number;
}

/** What an input of a block's graph is. */
export type BlockInput =
  /** An input of the whole graph, or positions of it along one axis. */
  | { readonly kind: "input"; readonly position: number; readonly part: AxisRun | null }
  /** An i32 scalar with this value. */
  | { readonly kind: "origin"; readonly value: number };

/** The graph of a block. */
export interface Block {
  readonly graph: Graph;
  /** What each of its inputs is. */
  readonly inputs: readonly BlockInput[];
}

/** What of a value is asked for. */
class Demand {
  all = false;
  readonly #runs = new Map<number, Run[]>();

  add({ axis, start, extent }: AxisRun): void {
    const known = this.#runs.get(axis) ?? [];
    this.#runs.set(axis, [...known, { start, extent }]);
  }

  /** The runs, those that share positions merged: what neighbours have in common is computed once. */
  merged(): AxisRun[] {
    return [...this.#runs].flatMap(([axis, runs]) => {
      const result: AxisRun[] = [];
      for (const { start, extent } of [...runs].sort((a, b) => a.start - b.start || b.extent - a.extent)) {
        const last = result[result.length - 1];
        if (last === undefined || start >= last.start + last.extent) {
          result.push({ axis, start, extent });
        } else {
          const end = Math.max(last.start + last.extent, start + extent);
          result[result.length - 1] = { ...last, extent: end - last.start };
        }
      }
      return result;
    });
  }
}

function shardingOf(graph: Graph, equation: Equation, axis: number): Sharding | typeof notCuttable {
  return rowOf(equation.op).sharding({
    params: equation.params,
    inputs: equation.inputs.map((id) => at(graph.avals, id)),
    output: at(graph.avals, at(equation.outputs, 0)),
    axis,
  });
}

/** What each value must give for `cuts` of the outputs, from the outputs back. */
function demandsOf(graph: Graph, cuts: readonly (AxisRun | null)[]): Map<ValueId, Demand> {
  const demands = new Map<ValueId, Demand>();
  const demandOf = (id: ValueId): Demand => {
    const known = demands.get(id) ?? new Demand();
    demands.set(id, known);
    return known;
  };
  const demand = (id: ValueId, run: AxisRun): void => {
    if (run.extent === 0) return;
    if (run.extent === at(graph.avals, id).shape[run.axis]) demandOf(id).all = true;
    else demandOf(id).add(run);
  };
  graph.outputs.forEach((id, position) => {
    const cut = cuts[position] ?? null;
    if (cut !== null) demand(id, cut);
  });
  for (const equation of [...graph.equations].reverse()) {
    const own = demands.get(at(equation.outputs, 0));
    if (own === undefined) continue;
    for (const run of own.merged()) {
      const sharding = shardingOf(graph, equation, run.axis);
      if (sharding === notCuttable) {
        own.all = true;
        continue;
      }
      equation.inputs.forEach((id, operand) => {
        const axis = at(sharding.axes, operand);
        if (axis === whole) demandOf(id).all = true;
        else demand(id, { ...sharding.reads(operand, run), axis });
      });
    }
    if (own.all) for (const id of equation.inputs) demandOf(id).all = true;
  }
  return demands;
}

/** Emits the equations of a block. */
class BlockBuilder {
  readonly builder = new GraphBuilder();
  readonly inputs = new Map<ValueId, BlockInput>();
  readonly #graph: Graph;
  readonly #demands: ReadonlyMap<ValueId, Demand>;
  readonly #whole = new Map<ValueId, ValueId>();
  readonly #parts = new Map<ValueId, { readonly run: AxisRun; readonly id: ValueId }[]>();
  readonly #origins = new Map<number, ValueId>();

  constructor(graph: Graph, demands: ReadonlyMap<ValueId, Demand>) {
    this.#graph = graph;
    this.#demands = demands;
  }

  /** A value, or positions of it. */
  value(id: ValueId, run: AxisRun | null): ValueId {
    const { dtype, shape } = at(this.#graph.avals, id);
    if (run?.extent === 0) return this.builder.fill(0, { dtype, shape: withEntry(shape, run.axis, 0) });
    const part =
      run === null || run.extent === shape[run.axis]
        ? undefined
        : this.#parts
            .get(id)
            ?.find(
              ({ run: { axis, start, extent } }) =>
                axis === run.axis && start <= run.start && run.start + run.extent <= start + extent,
            );
    if (run !== null && part !== undefined) {
      return sliceAlong(this.builder, part.id, run.axis, { ...run, start: run.start - part.run.start });
    }
    const all = this.#whole.get(id);
    if (all === undefined) {
      throw new GraphError({ operation: "block", argument: `value ${id}`, found: "not asked for" });
    }
    return run === null ? all : sliceAlong(this.builder, all, run.axis, run);
  }

  #keep(id: ValueId, run: AxisRun | null, image: ValueId): void {
    if (run === null) this.#whole.set(id, image);
    else this.#parts.set(id, [...(this.#parts.get(id) ?? []), { run, id: image }]);
  }

  input(id: ValueId, position: number): void {
    const demand = this.#demands.get(id);
    const { dtype, shape } = at(this.#graph.avals, id);
    const add = (part: AxisRun | null): void => {
      const own = part === null ? shape : withEntry(shape, part.axis, part.extent);
      const image = this.builder.input({ dtype, shape: own });
      this.inputs.set(image, { kind: "input", position, part });
      this.#keep(id, part, image);
    };
    if (demand?.all === true) add(null);
    for (const run of demand?.merged() ?? []) add(run);
  }

  #origin(value: number): ValueId {
    let id = this.#origins.get(value);
    if (id === undefined) {
      id = this.builder.input({ dtype: "int32", shape: [] });
      this.#origins.set(value, id);
      this.inputs.set(id, { kind: "origin", value });
    }
    return id;
  }

  equation(equation: Equation): void {
    const id = at(equation.outputs, 0);
    const demand = this.#demands.get(id);
    if (demand === undefined) return;
    if (demand.all) {
      const operands = equation.inputs.map((operand) => this.value(operand, null));
      this.#keep(id, null, this.builder.emit(equation.op, operands, equation.params));
    }
    for (const run of demand.merged()) {
      const sharding = shardingOf(this.#graph, equation, run.axis);
      if (sharding === notCuttable) continue;
      const operands = equation.inputs.map((operand, position) => {
        const axis = at(sharding.axes, position);
        return this.value(operand, axis === whole ? null : { ...sharding.reads(position, run), axis });
      });
      this.#keep(
        id,
        run,
        sharding.emit(this.builder, run, operands, () => this.#origin(run.start)),
      );
    }
  }
}

/** The graph without the inputs that nothing reads. */
function dropUnread(graph: Graph): Graph {
  const read = new Set([...graph.outputs, ...graph.equations.flatMap(({ inputs }) => inputs)]);
  return { ...graph, inputs: graph.inputs.filter((id) => read.has(id)) };
}

/**
 * The graph of blocks of a graph's outputs: for each output a run of positions along one axis, or `null` if it is not
 * wanted. The graph has no constants (they were made inputs).
 */
export function blockGraph(graph: Graph, cuts: readonly (AxisRun | null)[]): Block {
  if (graph.constants.length > 0) {
    throw new GraphError({
      operation: "block",
      found: `${graph.constants.length} constants`,
      expected: "none",
      remedy: "make them inputs with hoistConstants",
    });
  }
  const block = new BlockBuilder(graph, demandsOf(graph, cuts));
  graph.inputs.forEach((id, position) => {
    block.input(id, position);
  });
  for (const equation of graph.equations) block.equation(equation);
  const outputs = graph.outputs.flatMap((id, position) => {
    const cut = cuts[position] ?? null;
    return cut === null ? [] : [block.value(id, cut)];
  });
  const live = dropUnread(dropUnread(dropDeadEquations(block.builder.build(outputs))));
  return {
    graph: dropDead(live),
    inputs: live.inputs.map((id) => {
      const input = block.inputs.get(id);
      if (input === undefined) throw new GraphError({ operation: "block", argument: `input ${id}` });
      return input;
    }),
  };
}

/** The equations that the outputs need, nothing renumbered. */
function dropDeadEquations(graph: Graph): Graph {
  const live = new Set(graph.outputs);
  const equations = [...graph.equations].reverse().filter(({ inputs, outputs }) => {
    if (!outputs.some((id) => live.has(id))) return false;
    for (const id of inputs) live.add(id);
    return true;
  });
  return { ...graph, equations: equations.reverse() };
}

/**
 * Blocks of an output that start at multiples of this compute nothing twice because of their place; offsets, as those of
 * slices, are left out of account.
 */
export function grainOf(graph: Graph, output: ValueId, axis: number): number {
  const definitions = new Map(
    graph.equations.map((equation) => [at(equation.outputs, 0), equation] as const),
  );
  const known = new Map<string, number>();
  const wanted: [ValueId, number][] = [[output, axis]];
  // Operands before the values that are made of them.
  for (let next = wanted[wanted.length - 1]; next !== undefined; next = wanted[wanted.length - 1]) {
    const [id, along] = next;
    const key = `${id}.${along}`;
    const equation = definitions.get(id);
    const sharding = equation === undefined ? notCuttable : shardingOf(graph, equation, along);
    if (known.has(key) || equation === undefined || sharding === notCuttable) {
      if (!known.has(key)) known.set(key, 1);
      wanted.pop();
      continue;
    }
    const operands = equation.inputs.flatMap((operand, position): [ValueId, number][] => {
      const cut = at(sharding.axes, position);
      return cut === whole ? [] : [[operand, cut]];
    });
    const missing = operands.filter(([operand, cut]) => !known.has(`${operand}.${cut}`));
    if (missing.length > 0) {
      wanted.push(...missing);
      continue;
    }
    const grains = operands.map(([operand, cut]) => sharding.grain(known.get(`${operand}.${cut}`) ?? 1));
    known.set(key, grains.reduce(leastMultiple, 1));
    wanted.pop();
  }
  return known.get(`${output}.${axis}`) ?? 1;
}

function leastMultiple(a: number, b: number): number {
  const divisor = (x: number, y: number): number => (y === 0 ? x : divisor(y, x % y));
  return (a / divisor(a, b)) * b;
}
