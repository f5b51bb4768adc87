/**
 * Evaluates one objective in the calling thread, at once: what the loop that heddle replaces does, what bodies on ranks
 * call, and the reference in tests. It runs the same compiled programs, in the same memory, as the ranks do.
 */
import { at } from "../base/at.js";
import { itemSize, viewOf } from "../base/dtype.js";
import { sizeOf, stridesOf } from "../base/shape.js";
import { freshBuffer } from "../heap/heap.js";
import type { Backend, Placement } from "../ir/executable.js";
import type { Aval, Graph } from "../ir/graph.js";
import type { Method } from "./programs.js";

/** A program whose constants lie in memory. */
export interface PlacedProgram {
  readonly graph: Graph;
  /** Addresses, in the order of the program's last inputs. */
  readonly constants: readonly number[];
}

/** An objective as the evaluator needs it: plain data, but for the way to its programs. */
export interface PlacedObjective {
  readonly leaves: readonly { readonly start: number; readonly size: number }[];
  readonly dimX: number;
  readonly dimF: number;
  /** Addresses of its data. */
  readonly data: readonly number[];
  program(method: Method): PlacedProgram;
}

/** The results of one objective: those that its method has. */
export interface ObjectiveResult {
  readonly residual?: Float64Array;
  /** Row-major [dimF, dimX]. */
  readonly jacobian?: Float64Array;
  /** J·v. */
  readonly product?: Float64Array;
  /** Jᵀw or Jᵀr, [dimX]. */
  readonly gradient?: Float64Array;
}

const align = (bytes: number): number => Math.ceil(bytes / 64) * 64;
const bytesOf = (aval: Aval): number => sizeOf(aval.shape) * itemSize(aval.dtype);

/** Sizes of what a program needs beside its constants and data. */
interface Frame {
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
  readonly workspace: number;
  readonly bytes: number;
}

interface Bound {
  readonly step: () => void;
  readonly inputs: readonly Float64Array[];
  readonly outputs: readonly Float64Array[];
}

/** Lays out variable inputs, outputs and workspace behind each other, from `base`. */
function layFrame(graph: Graph, variable: readonly number[], workspaceBytes: number, base: number): Frame {
  let next = base;
  const take = (bytes: number): number => {
    const address = next;
    next += align(bytes);
    return address;
  };
  const inputs = variable.map((position) => take(bytesOf(at(graph.avals, at(graph.inputs, position)))));
  const outputs = graph.outputs.map((id) => take(bytesOf(at(graph.avals, id))));
  const workspace = take(workspaceBytes);
  return { inputs, outputs, workspace, bytes: next - base };
}

/** Positions of the inputs that change from call to call: coefficients and the method's extra vectors. */
function variableInputs(objective: PlacedObjective, graph: Graph, constants: number): number[] {
  const leaves = objective.leaves.length;
  const extras = leaves + objective.data.length;
  return graph.inputs
    .map((_, position) => position)
    .filter(
      (position) => position < leaves || (position >= extras && position < graph.inputs.length - constants),
    );
}

/** Bytes of scratch memory that a method needs. */
export function scratchBytes(objective: PlacedObjective, method: Method, backend: Backend): number {
  const { graph, constants } = objective.program(method);
  const { workspaceBytes } = backend.compile(graph);
  return layFrame(graph, variableInputs(objective, graph, constants.length), workspaceBytes, 0).bytes;
}

/** Runs an objective's programs synchronously. */
export class SyncEvaluator {
  readonly #objective: PlacedObjective;
  readonly #memory: WebAssembly.Memory;
  readonly #backend: Backend;
  readonly #scratch: (bytes: number) => number;
  readonly #bound = new Map<Method, Bound>();

  /** `scratch` gives memory for one method, which may be the same for all of them. */
  constructor(
    objective: PlacedObjective,
    memory: WebAssembly.Memory,
    backend: Backend,
    scratch: (bytes: number) => number,
  ) {
    this.#objective = objective;
    this.#memory = memory;
    this.#backend = backend;
    this.#scratch = scratch;
  }

  /** Evaluates a method at flat coefficients; `extra` is the tangent [dimX] or the cotangent [dimF]. */
  evaluate(method: Method, x: Float64Array, extra: Float64Array | null): ObjectiveResult {
    const { leaves, dimX, dimF } = this.#objective;
    const { step, inputs, outputs } = this.#bind(method);
    const parts = leaves.map(({ start, size }) => x.subarray(start, start + size));
    if (method === "jvp" && extra !== null) {
      parts.push(...leaves.map(({ start, size }) => extra.subarray(start, start + size)));
    }
    if (method === "vjp" && extra !== null) parts.push(extra);
    inputs.forEach((view, position) => {
      view.set(at(parts, position));
    });
    step();
    switch (method) {
      case "residual":
        return { residual: at(outputs, 0).slice() };
      case "linearize":
        return {
          residual: at(outputs, 0).slice(),
          jacobian: this.#spread(outputs.slice(1), dimF, dimX),
        };
      case "jacobian":
        return { jacobian: this.#spread(outputs, dimF, dimX) };
      case "jvp":
        return { product: at(outputs, 0).slice() };
      case "vjp":
      case "gradient":
        return { gradient: this.#spread(outputs, 1, dimX) };
    }
  }

  /** Blocks of columns in their places; zeros elsewhere. */
  #spread(blocks: readonly Float64Array[], rows: number, dimX: number): Float64Array {
    const [only] = blocks;
    if (only?.length === rows * dimX) return only.slice();
    const result = new Float64Array(rows * dimX);
    this.#objective.leaves.forEach(({ start, size }, i) => {
      const block = at(blocks, i);
      for (let row = 0; row < rows; row++) {
        result.set(block.subarray(row * size, (row + 1) * size), row * dimX + start);
      }
    });
    return result;
  }

  #bind(method: Method): Bound {
    const known = this.#bound.get(method);
    if (known !== undefined) return known;
    const objective = this.#objective;
    const { graph, constants } = objective.program(method);
    const executable = this.#backend.compile(graph);
    const variable = variableInputs(objective, graph, constants.length);
    const { bytes } = layFrame(graph, variable, executable.workspaceBytes, 0);
    const frame = layFrame(graph, variable, executable.workspaceBytes, this.#scratch(bytes));
    const fixed = [...objective.data, ...constants];
    let nextFixed = 0;
    const inputs = graph.inputs.map((_, position): Placement => {
      const slot = variable.indexOf(position);
      return { offset: slot >= 0 ? at(frame.inputs, slot) : at(fixed, nextFixed++) };
    });
    const outputs = graph.outputs.map((id, i): Placement => {
      return { offset: at(frame.outputs, i), strides: stridesOf(at(graph.avals, id).shape) };
    });
    const buffer = freshBuffer(this.#memory, frame.workspace + executable.workspaceBytes);
    const view = (id: number, address: number): Float64Array =>
      viewOf("float64", buffer, address, sizeOf(at(graph.avals, id).shape));
    const bound = {
      step: executable.bind(this.#memory, { inputs, outputs, workspace: frame.workspace }),
      inputs: variable.map((position, slot) => view(at(graph.inputs, position), at(frame.inputs, slot))),
      outputs: graph.outputs.map((id, i) => view(id, at(frame.outputs, i))),
    };
    this.#bound.set(method, bound);
    return bound;
  }
}
