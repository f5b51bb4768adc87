/**
 * One primitive at a time, for arrays outside of `jit`: kernels whose extents are parameters, so that one compiled kernel
 * serves every shape of an operation. Axes that behave alike are merged first, which leaves few kernels to compile;
 * operations whose form depends on the shape itself are compiled per shape and kept for a while.
 */
import { at } from "../../base/at.js";
import type { DType } from "../../base/dtype.js";
import type { Shape } from "../../base/shape.js";
import { sizeOf } from "../../base/shape.js";
import type { Aval, Graph, OpName, OpParams, ValueId } from "../../ir/graph.js";
import type { Index } from "../../ir/kernel.js";
import { varIndex } from "../../ir/kernel.js";
import { GraphBuilder } from "../../primitives/builder.js";
import { parseSignature } from "../../primitives/signature.js";
import { lower } from "../lower/lower.js";
import { WasmBackend } from "./backend.js";
import type { CompiledModule } from "./module.js";
import { compileProgram } from "./module.js";

/** A row-major array in a memory. */
export interface DenseArray extends Aval {
  /** Bytes from the start of the memory. */
  readonly offset: number;
}

/** Where an operation that is compiled per shape may keep temporaries. */
export interface Workspace {
  /** The offset of at least so many bytes. */
  reserve(bytes: number): number;
}

/** An axis after merging: how far it goes, and which operands vary along it. */
interface Axis {
  readonly name: string;
  readonly extent: number;
}

/** A kernel for operands of certain dtypes, with merged axes. */
interface Plan {
  readonly key: string;
  readonly axes: readonly Axis[];
  readonly build: () => { readonly graph: Graph; readonly extents: ReadonlyMap<ValueId, readonly Index[]> };
}

interface Compiled {
  readonly module: CompiledModule;
  /** For each parameter of the one function: the position of an array (operands, then the result) or an axis' name. */
  readonly parameters: readonly (number | string)[];
}

/** Any extent: a placeholder in the type of a value whose extents are parameters. */
const some = 2;

const reductions: ReadonlySet<OpName> = new Set<OpName>([
  "reduceSum",
  "reduceProd",
  "reduceMax",
  "reduceMin",
]);

/** Products above this number are worth a kernel for their shape. */
const largeContraction = 32 ** 3;

/** Runs single primitives on arrays of one memory. */
export class DynamicKernels {
  readonly #compiled = new Map<string, Compiled>();
  readonly #perShape = new WasmBackend();

  /** The number of kernels that were compiled for any shape. */
  get size(): number {
    return this.#compiled.size;
  }

  /**
   * Applies a primitive and writes its result. Operands of an element-wise primitive may have any shapes that broadcast to
   * the result's; everything else must be as the primitive's shape rule says.
   */
  apply<K extends OpName>(
    memory: WebAssembly.Memory,
    workspace: Workspace,
    op: K,
    params: OpParams[K],
    inputs: readonly DenseArray[],
    output: DenseArray,
  ): void {
    if (sizeOf(output.shape) === 0) return;
    const plan = inputs.some(({ shape }) => sizeOf(shape) === 0) ? null : planOf(op, params, inputs, output);
    if (plan === null) return this.#applyStatic(memory, workspace, op, params, inputs, output);
    const { module, parameters } = this.#compile(plan);
    const arrays = [...inputs, output];
    const extents = new Map(plan.axes.map(({ name, extent }) => [name, extent]));
    const args = parameters.map((parameter) =>
      typeof parameter === "number" ? at(arrays, parameter).offset : (extents.get(parameter) ?? 0),
    );
    at(module.instantiate(memory), 0)(...args);
  }

  #compile(plan: Plan): Compiled {
    const known = this.#compiled.get(plan.key);
    if (known !== undefined) return known;
    const { graph, extents } = plan.build();
    const program = lower(graph, { layouts: ["dense"], extents: (id) => extents.get(id) ?? [] });
    const module = compileProgram(program);
    const { buffers, variables } = at(module.calls, 0);
    const positions = buffers.map((buffer) => {
      const { role, position } = at(program.buffers, buffer);
      return role === "input" ? position : graph.inputs.length;
    });
    const compiled = { module, parameters: [...positions, ...variables] };
    this.#compiled.set(plan.key, compiled);
    return compiled;
  }

  #applyStatic<K extends OpName>(
    memory: WebAssembly.Memory,
    workspace: Workspace,
    op: K,
    params: OpParams[K],
    inputs: readonly DenseArray[],
    output: DenseArray,
  ): void {
    const b = new GraphBuilder();
    const operands = inputs.map((input) => {
      const id = b.input(input);
      return isElementwise(op, params) ? broadcastTo(b, id, output.shape) : id;
    });
    const executable = this.#perShape.compile(b.build([b.emit(op, operands, params)]));
    const reserved = executable.workspaceBytes === 0 ? 0 : workspace.reserve(executable.workspaceBytes);
    executable.bind(memory, {
      inputs: inputs.map(({ offset }) => ({ offset })),
      outputs: [{ offset: output.offset }],
      workspace: reserved,
    })();
  }
}

/** Broadcasts by NumPy's rule: axes are counted from the end, extents of 1 are repeated. */
function broadcastTo(b: GraphBuilder, id: ValueId, shape: Shape): ValueId {
  const own = b.shape(id);
  const lead = shape.length - own.length;
  const axes = own.map((_, axis) => axis + lead).filter((axis) => own[axis - lead] === shape[axis]);
  const kept = axes.map((axis) => at(shape, axis));
  return b.broadcast(b.reshape(id, kept), shape, axes);
}

const structural: ReadonlySet<OpName> = new Set<OpName>(["diag", "fill", "iota", "eye"]);

function isElementwise(op: OpName, params: OpParams[OpName]): boolean {
  return op === "convert" || (Object.keys(params).length === 0 && !structural.has(op));
}

function planOf<K extends OpName>(
  op: K,
  params: OpParams[K],
  inputs: readonly DenseArray[],
  output: DenseArray,
): Plan | null {
  if (inputs.length === 0) return null;
  if (isElementwise(op, params)) return elementwisePlan(op, params, inputs, output);
  if (reductions.has(op) && "axes" in params) {
    return reductionPlan(op, params.axes, at(inputs, 0));
  }
  if (op === "contract" && "signature" in params) return contractionPlan(params.signature, inputs);
  return null;
}

/** Merges neighbouring axes along which the same operands vary; drops axes of one element. */
function mergeAxes(shape: Shape, patternOf: (axis: number) => string): { extent: number; pattern: string }[] {
  const merged: { extent: number; pattern: string }[] = [];
  shape.forEach((extent, axis) => {
    if (extent === 1) return;
    const pattern = patternOf(axis);
    const previous = merged[merged.length - 1];
    if (previous?.pattern === pattern) previous.extent *= extent;
    else merged.push({ extent, pattern });
  });
  return merged;
}

const nameOf = (axis: number): string => `d${axis}`;

function elementwisePlan<K extends OpName>(
  op: K,
  params: OpParams[K],
  inputs: readonly DenseArray[],
  output: DenseArray,
): Plan {
  const merged = mergeAxes(output.shape, (axis) =>
    inputs
      .map(({ shape }) => ((shape[axis - output.shape.length + shape.length] ?? 1) === 1 ? "-" : "x"))
      .join(""),
  );
  const dtypes = inputs.map(({ dtype }) => dtype);
  const key = [op, JSON.stringify(params), dtypes, merged.map(({ pattern }) => pattern)].join("|");
  return {
    key,
    axes: merged.map(({ extent }, axis) => ({ name: nameOf(axis), extent })),
    build: () => {
      const b = new GraphBuilder();
      const shape = merged.map(() => some);
      const full = merged.map((_, axis) => varIndex(nameOf(axis)));
      const extents = new Map<ValueId, readonly Index[]>();
      const operands = dtypes.map((dtype, operand) => {
        const axes = merged.flatMap(({ pattern }, axis) => (pattern[operand] === "x" ? [axis] : []));
        const id = b.input({ dtype, shape: axes.map(() => some) });
        extents.set(
          id,
          axes.map((axis) => at(full, axis)),
        );
        return id;
      });
      const wide = operands.map((id) => {
        const axes = (extents.get(id) ?? []).map((extent) => full.indexOf(extent));
        const result = b.broadcast(id, shape, axes);
        extents.set(result, full);
        return result;
      });
      const result = b.emit(op, wide, params);
      extents.set(result, full);
      return { graph: b.build([result]), extents };
    },
  };
}

function reductionPlan(op: OpName, axes: readonly number[], input: DenseArray): Plan {
  const merged = mergeAxes(input.shape, (axis) => (axes.includes(axis) ? "r" : "k"));
  const pattern = merged.map((axis) => axis.pattern).join("");
  return {
    key: `${op}|${input.dtype}|${pattern}`,
    axes: merged.map(({ extent }, axis) => ({ name: nameOf(axis), extent })),
    build: () => {
      const b = new GraphBuilder();
      const full = merged.map((_, axis) => varIndex(nameOf(axis)));
      const id = b.input({ dtype: input.dtype, shape: merged.map(() => some) });
      const reduced = merged.flatMap((axis, position) => (axis.pattern === "r" ? [position] : []));
      // The operation was looked up among the reductions, whose parameters are axes.
      const result = b.emit(op as "reduceSum", [id], { axes: reduced });
      const kept = full.filter((_, axis) => !reduced.includes(axis));
      return {
        graph: b.build([result]),
        extents: new Map([
          [id, full],
          [result, kept],
        ]),
      };
    },
  };
}

function contractionPlan(signature: string, inputs: readonly DenseArray[]): Plan | null {
  const [a, b] = [at(inputs, 0), at(inputs, 1)];
  const parsed = parseSignature(signature);
  const extents = new Map<string, number>();
  parsed.a.forEach((name, axis) => extents.set(name, at(a.shape, axis)));
  parsed.b.forEach((name, axis) => extents.set(name, at(b.shape, axis)));
  if ([...extents.values()].reduce((product, extent) => product * extent, 1) > largeContraction) return null;
  const dtype: DType = a.dtype;
  return {
    key: `contract|${dtype}|${signature}`,
    axes: [...extents].map(([name, extent]) => ({ name: `d.${name}`, extent })),
    build: () => {
      const builder = new GraphBuilder();
      const indices = (names: readonly string[]): Index[] => names.map((name) => varIndex(`d.${name}`));
      const operands = [parsed.a, parsed.b].map((names) =>
        builder.input({ dtype, shape: names.map(() => some) }),
      );
      const result = builder.emit("contract", operands, { signature });
      return {
        graph: builder.build([result]),
        extents: new Map([
          [at(operands, 0), indices(parsed.a)],
          [at(operands, 1), indices(parsed.b)],
          [result, indices(parsed.out)],
        ]),
      };
    },
  };
}
