/**
 * Decides which values of a graph are written to memory. Everything else is folded into the expressions of its readers.
 * A value is kept if it is a reduction, if computing it again wherever it is read would cost more than a store and a
 * load, or if expressions would grow without bound.
 */
import { at } from "../../base/at.js";
import { sizeOf } from "../../base/shape.js";
import type { Aval, Equation, Graph, ValueId } from "../../ir/graph.js";
import type { Index } from "../../ir/kernel.js";
import { constIndex, varIndex } from "../../ir/kernel.js";
import type { ElementContext, Lowering } from "../../primitives/row.js";
import { rowOf } from "../../primitives/table.js";
import { mentions } from "./polynomial.js";
import { weigh } from "./weight.js";

/** A row's lowering, with the parameters' type forgotten: an equation always carries its own row's. */
export type AnyLowering = Lowering<unknown>;

/** How an equation is lowered. */
export function loweringOf(equation: Equation): AnyLowering {
  // `params` and `lowering` belong to one row, which the union of equations does not express.
  return rowOf(equation.op).lowering as AnyLowering;
}

/** One read of an operand by an equation. */
interface Access {
  readonly operand: ValueId;
  /** True if element i of the result reads element i. */
  readonly identity: boolean;
  /** How often each element is read, counting only repetition that hoisting out of loops does not remove. */
  readonly repetition: number;
}

interface Probe {
  readonly weight: number;
  readonly accesses: readonly Access[];
}

/** Runs an equation's element rule on symbols to see what it reads. */
function probe(graph: Graph, equation: Equation): Probe {
  const lowering = loweringOf(equation);
  const inputs = equation.inputs.map((id) => at(graph.avals, id));
  const output = at(graph.avals, at(equation.outputs, 0));
  const direct = (): Access[] =>
    equation.inputs.map((operand) => ({ operand, identity: false, repetition: 1 }));
  if (lowering.kind === "argReduce" || lowering.kind === "scatterAdd")
    return { weight: 1, accesses: direct() };

  const extentsOf = (aval: Aval): Index[] => aval.shape.map(constIndex);
  const extents = (operand: number): Index[] => extentsOf(at(inputs, operand));
  const reduced =
    lowering.kind === "reduce" ? lowering.extents({ params: equation.params, inputs, extents }) : [];
  const index = output.shape.map((_, axis) => varIndex(`o${axis}`));
  const reduction = reduced.map((_, axis) => varIndex(`r${axis}`));
  const loops = [
    ...index.map((variable, axis) => ({ variable, extent: at(output.shape, axis) })),
    ...reduction.map((variable, axis) => {
      const extent = at(reduced, axis);
      return { variable, extent: extent.kind === "const" ? extent.value : 1 };
    }),
  ];
  const accesses: Access[] = [];
  const context: ElementContext<unknown> = {
    params: equation.params,
    inputs,
    output,
    index,
    reduction,
    extents,
    outputExtents: extentsOf(output),
    read: (operand, position) => {
      const identity =
        lowering.kind === "element" &&
        position.length === index.length &&
        position.every((part, axis) => part === index[axis]);
      const used = loops.map(({ variable }) =>
        position.some((part) => variable.kind === "var" && mentions(part, variable.name)),
      );
      const deepest = used.lastIndexOf(true);
      const repetition = loops.reduce(
        (product, loop, depth) =>
          depth < deepest && used[depth] === false ? product * loop.extent : product,
        1,
      );
      accesses.push({ operand: at(equation.inputs, operand), identity, repetition });
      return { kind: "local", dtype: at(inputs, operand).dtype, name: `operand${operand}` };
    },
  };
  return { weight: weigh(lowering.element(context)), accesses };
}

/** Expressions deeper than this are cut by a store. */
const deepest = 80;
/** A concatenation of more operands is written part by part. */
const mostParts = 3;
/** An operation that would be evaluated at more positions than this per result element is stored. */
const widest = 6;

/** The equations that the outputs need, in order. */
export function liveEquations(graph: Graph): Equation[] {
  const needed = new Set<ValueId>(graph.outputs);
  const live: Equation[] = [];
  for (let position = graph.equations.length - 1; position >= 0; position--) {
    const equation = at(graph.equations, position);
    if (!equation.outputs.some((id) => needed.has(id))) continue;
    for (const id of equation.inputs) needed.add(id);
    live.push(equation);
  }
  return live.reverse();
}

/** The results of `equations` that are written to memory. */
export function chooseMaterialized(graph: Graph, equations: readonly Equation[]): Set<ValueId> {
  const stored = new Set<ValueId>();
  const probes = new Map<Equation, Probe>();
  const weight = new Map<ValueId, number>();
  const depth = new Map<ValueId, number>();
  const outputs = new Set(graph.outputs);
  const readers = new Map<
    ValueId,
    { readonly result: ValueId; readonly access: Access; readonly name: string }[]
  >();

  for (const equation of equations) {
    const result = at(equation.outputs, 0);
    const seen = probe(graph, equation);
    probes.set(equation, seen);
    seen.accesses.forEach((access, number) => {
      const list = readers.get(access.operand) ?? [];
      list.push({ result, access, name: `${result}.${number}` });
      readers.set(access.operand, list);
    });
    const operands = [...new Set(equation.inputs)].filter((id) => !stored.has(id));
    const level = 1 + Math.max(0, ...operands.map((id) => depth.get(id) ?? 0));
    const manyParts = equation.op === "concatenate" && equation.inputs.length > mostParts;
    const reduces = loweringOf(equation).kind !== "element";
    if (reduces || manyParts || outputs.has(result) || level > deepest) {
      stored.add(result);
      continue;
    }
    depth.set(result, level);
    const inherited = operands.reduce((sum, id) => sum + (weight.get(id) ?? 0), 0);
    weight.set(result, Math.min(1e6, seen.weight + inherited));
  }

  // From the outputs back: where, and how often, would each value be evaluated if it were not stored?
  const places = new Map<ValueId, Set<string>>();
  const repetition = new Map<ValueId, number>();
  for (let position = equations.length - 1; position >= 0; position--) {
    const equation = at(equations, position);
    const result = at(equation.outputs, 0);
    if (stored.has(result)) continue;
    const own = new Set<string>();
    let repeated = 1;
    for (const reader of readers.get(result) ?? []) {
      const final = stored.has(reader.result);
      const from = final ? [`#${reader.result}`] : (places.get(reader.result) ?? []);
      for (const place of from) own.add(reader.access.identity ? place : `${place}/${reader.name}`);
      repeated = Math.max(
        repeated,
        (final ? 1 : (repetition.get(reader.result) ?? 1)) * reader.access.repetition,
      );
    }
    const cost = weight.get(result) ?? 0;
    const computes = (probes.get(equation)?.weight ?? 0) > 0;
    const tooMany = own.size > 64 || (computes && equation.inputs.length > 0 && own.size > widest);
    if (tooMany || (computes && ((own.size - 1) * cost > 12 || (repeated - 1) * cost > 8))) {
      if (sizeOf(at(graph.avals, result).shape) > 0) {
        stored.add(result);
        continue;
      }
    }
    places.set(result, own);
    repetition.set(result, repeated);
  }
  return stored;
}
