/**
 * The embedded backend: graphs become WebAssembly with SIMD that reads and writes one shared memory in place. It needs
 * nothing installed and nothing of Node.
 */
import { at } from "../../base/at.js";
import { itemSize } from "../../base/dtype.js";
import { GraphError } from "../../base/errors.js";
import { sameShape, stridesOf } from "../../base/shape.js";
import type { Shape } from "../../base/shape.js";
import type { Backend, Executable, Placement } from "../../ir/executable.js";
import type { Graph } from "../../ir/graph.js";
import type { OutputLayout } from "../lower/lower.js";
import { lower, strideParameter } from "../lower/lower.js";
import type { Program } from "../lower/program.js";
import type { CompiledModule } from "./module.js";
import { compileProgram } from "./module.js";

type Places = Parameters<Executable["bind"]>[1];

/** One lowering of a graph, for outputs that lie in a certain way; compiled when it is first bound. */
interface Variant {
  readonly program: Program;
  module: CompiledModule | null;
}

function layoutOf(shape: Shape, placement: Placement): OutputLayout {
  const { strides } = placement;
  if (strides === undefined) return "dense";
  // Along an axis of one element any stride is right.
  const dense = stridesOf(shape);
  const wanted = strides.map((stride, axis) => (shape[axis] === 1 ? at(dense, axis) : stride));
  if (sameShape(wanted, dense)) return "dense";
  return wanted[shape.length - 1] === 1 || shape[shape.length - 1] === 1 ? "rows" : "strided";
}

function requirePlaces(graph: Graph, places: Places): void {
  const check = (list: readonly Placement[], ids: readonly number[], argument: string): void => {
    if (list.length !== ids.length) {
      throw new GraphError({
        operation: "bind",
        argument,
        found: `${list.length} places`,
        expected: String(ids.length),
      });
    }
    list.forEach(({ offset, strides }, position) => {
      const { dtype, shape } = at(graph.avals, at(ids, position));
      if (offset % itemSize(dtype) !== 0 || (strides !== undefined && strides.length !== shape.length)) {
        throw new GraphError({
          operation: "bind",
          argument: `${argument}[${position}]`,
          found: `offset ${offset}, strides ${JSON.stringify(strides)}`,
          expected: `a multiple of ${itemSize(dtype)} and ${shape.length} strides`,
        });
      }
    });
  };
  check(places.inputs, graph.inputs, "places.inputs");
  check(places.outputs, graph.outputs, "places.outputs");
}

/** Bytes of temporaries that are not worth a second lowering. */
const affordable = 65536;

class WasmExecutable implements Executable {
  readonly #graph: Graph;
  readonly #variants = new Map<string, Variant>();
  readonly workspaceBytes: number;
  readonly kernels: readonly string[];

  constructor(graph: Graph) {
    this.#graph = graph;
    const { program } = this.#variant(graph.outputs.map(() => "dense"));
    // Which temporaries are needed depends on where outputs lie. All of them fit if that is cheap to promise; otherwise
    // the variant for any strides can step in for every other.
    const { workspaceBytes, temporaryBytes } = program;
    this.workspaceBytes =
      temporaryBytes <= Math.max(affordable, 1.25 * workspaceBytes)
        ? temporaryBytes
        : Math.max(workspaceBytes, this.#general().program.workspaceBytes);
    this.kernels = program.kernels.map((kernel) => kernel.name);
  }

  #variant(layouts: readonly OutputLayout[]): Variant {
    const key = layouts.join();
    const known = this.#variants.get(key);
    if (known !== undefined) return known;
    const program = lower(this.#graph, { layouts });
    const variant = { program, module: null };
    this.#variants.set(key, variant);
    return variant;
  }

  #general(): Variant {
    return this.#variant(this.#graph.outputs.map(() => "strided"));
  }

  bind(memory: WebAssembly.Memory, places: Places): () => void {
    const graph = this.#graph;
    requirePlaces(graph, places);
    const layouts = graph.outputs.map((id, output) =>
      layoutOf(at(graph.avals, id).shape, at(places.outputs, output)),
    );
    const fitting = this.#variant(layouts);
    const variant = fitting.program.workspaceBytes <= this.workspaceBytes ? fitting : this.#general();
    const { program } = variant;
    const module = (variant.module ??= compileProgram(program));
    const variables = new Map<string, number>();
    places.outputs.forEach((place, output) => {
      const strides = place.strides ?? stridesOf(at(graph.avals, at(graph.outputs, output)).shape);
      strides.forEach((stride, axis) => variables.set(strideParameter(output, axis), stride));
    });
    const addresses = program.buffers.map(({ role, position }) => {
      if (role === "input") return at(places.inputs, position).offset;
      return role === "output" ? at(places.outputs, position).offset : places.workspace + position;
    });
    const functions = module.instantiate(memory);
    const calls = module.calls.map((call, position) =>
      fixArguments(at(functions, position), [
        ...call.buffers.map((buffer) => at(addresses, buffer)),
        ...call.variables.map((name) => variables.get(name) ?? 0),
      ]),
    );
    if (calls.length === 1) return at(calls, 0);
    return () => {
      for (let i = 0; i < calls.length; i++) calls[i]?.();
    };
  }
}

/** A call with fixed arguments that allocates nothing. */
function fixArguments(call: (...args: number[]) => void, args: readonly number[]): () => void {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = args;
  switch (args.length) {
    case 1:
      return () => call(a);
    case 2:
      return () => call(a, b);
    case 3:
      return () => call(a, b, c);
    case 4:
      return () => call(a, b, c, d);
    case 5:
      return () => call(a, b, c, d, e);
    case 6:
      return () => call(a, b, c, d, e, f);
    default:
      return () => call(...args);
  }
}

function structureOf(graph: Graph): string {
  return JSON.stringify([graph.avals, graph.inputs, graph.equations, graph.outputs], (_key, value: unknown) =>
    // JSON knows neither these numbers nor the sign of zero.
    typeof value === "number" && (!Number.isFinite(value) || Object.is(value, -0))
      ? `#${Object.is(value, -0) ? "-0" : value}`
      : value,
  );
}

/** Compiled graphs that are kept, the most recently used last. */
const capacity = 512;

/** The WebAssembly backend. Graphs of the same structure are compiled once per thread. */
export class WasmBackend implements Backend {
  readonly name = "wasm";
  readonly #compiled = new Map<string, Executable>();

  compile(graph: Graph): Executable {
    const key = graph.constants.length > 0 ? "" : structureOf(graph);
    const known = this.#compiled.get(key);
    const executable = known ?? new WasmExecutable(graph);
    this.#compiled.delete(key);
    this.#compiled.set(key, executable);
    if (this.#compiled.size > capacity) {
      for (const oldest of this.#compiled.keys()) {
        this.#compiled.delete(oldest);
        break;
      }
    }
    return executable;
  }
}
