/**
 * Graph to kernels. Each value that is kept in memory becomes one nest of loops whose body evaluates everything that was
 * folded into it; nests are then fused, and what fusion makes unnecessary is dropped.
 */
import { at } from "../../base/at.js";
import { itemSize } from "../../base/dtype.js";
import { GraphError } from "../../base/errors.js";
import { sizeOf } from "../../base/shape.js";
import type { Aval, Equation, Graph, ValueId } from "../../ir/graph.js";
import type { Index, Scalar } from "../../ir/kernel.js";
import { addIndex, constIndex, mulIndex, unflattenIndex, varIndex } from "../../ir/kernel.js";
import { fuseNests } from "./fuse.js";
import type { Nest } from "./fuse.js";
import { chooseMaterialized, liveEquations, loweringOf } from "./materialize.js";
import { kernelName } from "./name.js";
import { IndexAlgebra } from "./polynomial.js";
import type { Buffer, Kernel, Loop, Panel, Program, Statement } from "./program.js";
import { forEachScalar, forEachStatement, valuesOf } from "./program.js";
import { panelColumns, reductionForm } from "./reduction.js";

/** How an output lies: row-major, with unit stride along the last axis only, or with any strides. */
export type OutputLayout = "dense" | "rows" | "strided";

/** What is known when a graph is lowered. */
export interface LowerOptions {
  /** One per output. */
  readonly layouts: readonly OutputLayout[];
  /** The extents of a value where they are parameters; by default those of its type. */
  readonly extents?: (id: ValueId) => readonly Index[];
}

/** The name of the parameter that holds a stride of an output. */
export function strideParameter(output: number, axis: number): string {
  return `stride${output}.${axis}`;
}

interface Placed {
  readonly buffer: number;
  readonly strides: readonly Index[];
}

interface MutableBuffer {
  role: Buffer["role"];
  position: number;
  readonly bytes: number;
  readonly dtype: Buffer["dtype"];
  readonly extents: readonly Index[];
  readonly strides: readonly Index[];
}

class Lowering {
  readonly #graph: Graph;
  readonly #options: LowerOptions;
  readonly #algebra = new IndexAlgebra();
  readonly #buffers: MutableBuffer[] = [];
  /** Where each value that is in memory can be read. */
  readonly #home = new Map<ValueId, Placed>();
  readonly #equationOf = new Map<ValueId, Equation>();
  readonly #reads = new Map<string, Scalar>();
  /** The position, per axis that has more than one element, at which a load reads its value. */
  readonly #position = new Map<Scalar, readonly string[]>();
  #locals = 0;

  constructor(graph: Graph, options: LowerOptions) {
    this.#graph = graph;
    this.#options = options;
  }

  #aval(id: ValueId): Aval {
    return at(this.#graph.avals, id);
  }

  #extents(id: ValueId): readonly Index[] {
    return this.#options.extents?.(id) ?? this.#aval(id).shape.map(constIndex);
  }

  #addBuffer(role: Buffer["role"], position: number, id: ValueId, strides?: readonly Index[]): Placed {
    const extents = this.#extents(id);
    const dense = extents.map((_, axis) => extents.slice(axis + 1).reduce(mulIndex, constIndex(1)));
    const { dtype, shape } = this.#aval(id);
    const bytes = sizeOf(shape) * itemSize(dtype);
    const placed = { buffer: this.#buffers.length, strides: strides ?? dense };
    this.#buffers.push({ role, position, bytes, dtype, extents, strides: placed.strides });
    return placed;
  }

  #offset(placed: Placed, index: readonly Index[]): Index {
    let offset: Index = constIndex(0);
    index.forEach((position, axis) => {
      offset = addIndex(offset, mulIndex(position, at(placed.strides, axis)));
    });
    return this.#algebra.simplify(offset);
  }

  /** The element of a value at a position: a load, or the expression of its equation. */
  #read(id: ValueId, index: readonly Index[]): Scalar {
    const keys = index.map((position) => this.#algebra.normalize(position).key);
    const key = `${id}[${keys.join()}]`;
    const known = this.#reads.get(key);
    if (known !== undefined) return known;
    const placed = this.#home.get(id);
    const simple = index.map((position) => this.#algebra.simplify(position));
    let result: Scalar;
    if (placed === undefined) {
      result = this.#element(id, simple, []);
    } else {
      result = {
        kind: "load",
        dtype: this.#aval(id).dtype,
        buffer: placed.buffer,
        offset: this.#offset(placed, simple),
      };
      const extents = this.#extents(id);
      this.#position.set(
        result,
        keys.filter((_, axis) => !isOne(at(extents, axis))),
      );
    }
    this.#reads.set(key, result);
    return result;
  }

  #equation(id: ValueId): Equation {
    const equation = this.#equationOf.get(id);
    if (equation === undefined) {
      throw new GraphError({
        operation: "lower",
        argument: `value ${id}`,
        found: "neither an input nor defined",
      });
    }
    return equation;
  }

  #element(id: ValueId, index: readonly Index[], reduction: readonly Index[]): Scalar {
    const equation = this.#equation(id);
    const lowering = loweringOf(equation);
    if (lowering.kind !== "element" && lowering.kind !== "reduce") {
      throw new GraphError({
        operation: "lower",
        argument: equation.op,
        found: "not an expression of elements",
      });
    }
    return lowering.element({
      params: equation.params,
      inputs: equation.inputs.map((operand) => this.#aval(operand)),
      output: this.#aval(id),
      index,
      reduction,
      extents: (operand) => this.#extents(at(equation.inputs, operand)),
      outputExtents: this.#extents(id),
      read: (operand, position) => this.#read(at(equation.inputs, operand), position),
    });
  }

  /** Loops over some extents, and the position that they stand at. Names carry the extent: one name, one range. */
  #loops(letter: string, extents: readonly Index[]): { loops: Loop[]; index: Index[] } {
    const loops: Loop[] = [];
    const index = extents.map((extent) => {
      if (isOne(extent)) return constIndex(0);
      const name = `${letter}${loops.length}:${this.#algebra.normalize(extent).key}`;
      this.#algebra.declare(name, extent);
      loops.push({ index: name, extent });
      return varIndex(name);
    });
    return { loops, index };
  }

  #store(places: readonly Placed[], index: readonly Index[], value: Scalar): Statement[] {
    return places.map((placed) => ({
      kind: "store",
      buffer: placed.buffer,
      offset: this.#offset(placed, index),
      value,
    }));
  }

  #nest(id: ValueId, loops: readonly Loop[], body: readonly Statement[], flat = false): Nest {
    const loads = new Map<Scalar, { buffer: number; position: readonly string[]; flat: string }>();
    const writes = new Set<number>();
    const values: Scalar[] = [];
    forEachStatement(body, (statement) => {
      values.push(...valuesOf(statement));
      if (statement.kind === "store" || statement.kind === "accumulate") writes.add(statement.buffer);
    });
    forEachScalar(values, (value) => {
      if (value.kind !== "load") return;
      loads.set(value, {
        buffer: value.buffer,
        position: this.#position.get(value) ?? [],
        flat: this.#algebra.normalize(value.offset).key,
      });
    });
    return { value: id, loops, body, loads: [...loads.values()], writes, flat };
  }

  #reduceNest(id: ValueId, places: readonly Placed[]): Nest {
    const equation = this.#equation(id);
    const lowering = loweringOf(equation);
    const inputs = equation.inputs.map((operand) => this.#aval(operand));
    const extents = (operand: number): readonly Index[] => this.#extents(at(equation.inputs, operand));
    const { loops, index } = this.#loops("i", this.#extents(id));
    const local = `local${this.#locals++}`;
    const { dtype } = this.#aval(id);
    if (lowering.kind === "argReduce") {
      const axis = lowering.axis(equation.params);
      const extent = at(extents(0), axis);
      const name = `k0:${this.#algebra.normalize(extent).key}`;
      this.#algebra.declare(name, extent);
      const value = this.#read(at(equation.inputs, 0), [
        ...index.slice(0, axis),
        varIndex(name),
        ...index.slice(axis),
      ]);
      const body: Statement[] = [
        { kind: "argReduce", local, select: lowering.select, loop: { index: name, extent }, value },
        ...this.#store(places, index, { kind: "local", dtype, name: local }),
      ];
      return this.#nest(id, loops, body);
    }
    if (lowering.kind !== "reduce") {
      throw new GraphError({ operation: "lower", argument: equation.op, found: "not a reduction" });
    }
    const reduced = lowering.extents({ params: equation.params, inputs, extents });
    const inner = this.#loops("k", reduced);
    const value = this.#element(id, index, inner.index);
    // A sum starts from its first element in the reference, so that −0 stays −0; a contraction starts from 0.
    const empty = reduced.some((extent) => extent.kind === "const" && extent.value === 0);
    const zero = equation.op === "contract" || empty ? 0 : -0;
    const identity = { add: zero, mul: 1, max: lowest(dtype), min: highest(dtype) }[lowering.combine];
    const panels = this.#panels({ loops: inner.loops, value }, loops);
    const body: Statement[] = [
      {
        kind: "reduce",
        local,
        dtype,
        combine: lowering.combine,
        identity,
        loops: inner.loops,
        value,
        panels,
      },
      ...this.#store(places, index, { kind: "local", dtype, name: local }),
    ];
    return this.#nest(id, loops, body);
  }

  #panels(
    reduce: { readonly loops: readonly Loop[]; readonly value: Scalar },
    outer: readonly Loop[],
  ): Panel[] {
    const form = reductionForm(this.#algebra, reduce, outer);
    if (form.kind !== "tile") return [];
    const terms = reduce.loops.reduce(
      (product, { extent }) => product * (extent.kind === "const" ? extent.value : 1),
      1,
    );
    return form.packed.map((load) => {
      const columns = panelColumns(load.dtype);
      this.#buffers.push({
        role: "workspace",
        position: 0,
        bytes: terms * columns * itemSize(load.dtype),
        dtype: load.dtype,
        extents: [constIndex(terms), constIndex(columns)],
        strides: [constIndex(columns), constIndex(1)],
      });
      return { load, buffer: this.#buffers.length - 1 };
    });
  }

  #elementNest(id: ValueId, places: readonly Placed[]): Nest {
    const { loops, index } = this.#loops("i", this.#extents(id));
    const last = loops[loops.length - 1];
    const short = last?.extent.kind === "const" && last.extent.value < 64;
    if (loops.length > 1 && short && this.#layoutOf(places) === "dense") {
      const extents = this.#extents(id);
      const total = this.#loops("i", [this.#algebra.simplify(extents.reduce(mulIndex, constIndex(1)))]);
      const position = unflattenIndex(at(total.index, 0), extents).map((part) =>
        this.#algebra.simplify(part),
      );
      const body = this.#store(places, position, this.#read(id, position));
      if (isAffine(body)) return this.#nest(id, total.loops, body, true);
    }
    return this.#nest(id, loops, this.#store(places, index, this.#read(id, index)));
  }

  #layoutOf(places: readonly Placed[]): OutputLayout {
    const strided = places.some(({ buffer }) => {
      const { role, position } = at(this.#buffers, buffer);
      return role === "output" && at(this.#options.layouts, position) !== "dense";
    });
    return strided ? "strided" : "dense";
  }

  /** Copies the operand, then adds the updates in order. */
  #scatterNest(id: ValueId, places: readonly Placed[]): Nest {
    const equation = this.#equation(id);
    const lowering = loweringOf(equation);
    const [x, indices, updates] = [0, 1, 2].map((position) => at(equation.inputs, position));
    if (lowering.kind !== "scatterAdd" || x === undefined || indices === undefined || updates === undefined) {
      throw new GraphError({ operation: "lower", argument: equation.op, found: "not a scatter" });
    }
    const axis = lowering.axis(equation.params);
    const copy = this.#loops("i", this.#extents(id));
    const added = this.#loops("i", this.#extents(updates));
    const rank = this.#extents(indices).length;
    const target = this.#read(indices, added.index.slice(axis, axis + rank));
    const inside: Scalar = {
      kind: "apply",
      dtype: "bool",
      op: "and",
      args: [
        {
          kind: "apply",
          dtype: "bool",
          op: "greaterEqual",
          args: [target, { kind: "const", dtype: "int32", value: 0 }],
        },
        {
          kind: "apply",
          dtype: "bool",
          op: "less",
          args: [target, { kind: "fromIndex", dtype: "int32", index: at(this.#extents(id), axis) }],
        },
      ],
    };
    const to: Index[] = [
      ...added.index.slice(0, axis),
      { kind: "scalar", value: target },
      ...added.index.slice(axis + rank),
    ];
    const value = this.#read(updates, added.index);
    const body = [
      ...wrap(copy.loops, this.#store(places, copy.index, this.#read(x, copy.index))),
      ...wrap(
        added.loops,
        places.map((placed): Statement => ({
          kind: "accumulate",
          buffer: placed.buffer,
          when: inside,
          offset: this.#offset(placed, to),
          value,
        })),
      ),
    ];
    return this.#nest(id, [], body);
  }

  run(): Program {
    const graph = this.#graph;
    if (graph.constants.length > 0) {
      throw new GraphError({
        operation: "compile",
        argument: "graph.constants",
        found: `${graph.constants.length} constants`,
        expected: "none",
        remedy: "make them inputs",
      });
    }
    graph.inputs.forEach((id, position) => {
      const placed = this.#addBuffer("input", position, id);
      if (!this.#home.has(id)) this.#home.set(id, placed);
    });
    const equations = liveEquations(graph);
    for (const equation of equations) this.#equationOf.set(at(equation.outputs, 0), equation);
    const stored = chooseMaterialized(graph, equations);

    const targets = new Map<ValueId, Placed[]>();
    graph.outputs.forEach((id, output) => {
      const rank = this.#aval(id).shape.length;
      const layout = at(this.#options.layouts, output);
      const strides =
        layout === "dense"
          ? undefined
          : Array.from({ length: rank }, (_, axis) =>
              layout === "rows" && axis === rank - 1
                ? constIndex(1)
                : varIndex(strideParameter(output, axis)),
            );
      targets.set(id, [...(targets.get(id) ?? []), this.#addBuffer("output", output, id, strides)]);
    });

    const nests: Nest[] = [];
    for (const [id, places] of targets) {
      if (this.#home.has(id)) nests.push(this.#elementNest(id, places));
    }
    for (const equation of equations) {
      const id = at(equation.outputs, 0);
      if (!stored.has(id)) continue;
      const places = targets.get(id) ?? [this.#addBuffer("workspace", 0, id)];
      if (sizeOf(this.#aval(id).shape) > 0) {
        const { kind } = loweringOf(equation);
        if (kind === "element") nests.push(this.#elementNest(id, places));
        else if (kind === "scatterAdd") nests.push(this.#scatterNest(id, places));
        else nests.push(this.#reduceNest(id, places));
      }
      this.#home.set(id, at(places, 0));
    }
    const temporary = new Set(
      this.#buffers.flatMap((buffer, number) => (buffer.role === "workspace" ? [number] : [])),
    );
    const fused = fuseNests(nests, temporary, this.#algebra);
    const kernels = fused.map(({ body, values }): Kernel => ({
      name: kernelName(graph, equations, stored, values),
      body,
    }));
    const workspaceBytes = this.#place(kernels);
    return { buffers: this.#buffers, kernels, workspaceBytes, algebra: this.#algebra };
  }

  /** Gives each temporary its bytes, again once the last kernel that reads them is past. */
  #place(kernels: readonly Kernel[]): number {
    const first = new Map<number, number>();
    const final = new Map<number, number>();
    kernels.forEach((kernel, time) => {
      for (const buffer of buffersOf(kernel.body)) {
        if (!first.has(buffer)) first.set(buffer, time);
        final.set(buffer, time);
      }
    });
    const live: { start: number; end: number; until: number }[] = [];
    let total = 0;
    for (const [number, time] of first) {
      const buffer = at(this.#buffers, number);
      if (buffer.role !== "workspace") continue;
      const size = Math.ceil(buffer.bytes / 64) * 64;
      const busy = live.filter(({ until }) => until >= time).sort((a, b) => a.start - b.start);
      let start = 0;
      for (const range of busy) {
        if (start + size <= range.start) break;
        start = Math.max(start, range.end);
      }
      buffer.position = start;
      live.push({ start, end: start + size, until: final.get(number) ?? time });
      total = Math.max(total, start + size);
    }
    return total;
  }
}

function isOne(extent: Index): boolean {
  return extent.kind === "const" && extent.value === 1;
}

function lowest(dtype: Aval["dtype"]): number {
  return { float64: -Infinity, float32: -Infinity, int32: -2147483648, uint32: 0, bool: 0 }[dtype];
}

function highest(dtype: Aval["dtype"]): number {
  return { float64: Infinity, float32: Infinity, int32: 2147483647, uint32: 4294967295, bool: 1 }[dtype];
}

function wrap(loops: readonly Loop[], body: readonly Statement[]): readonly Statement[] {
  return loops.reduceRight<readonly Statement[]>((inner, loop) => [{ kind: "for", loop, body: inner }], body);
}

/** True if no division is left in any index that the statements use. */
function isAffine(body: readonly Statement[]): boolean {
  const divides = (index: Index): boolean => {
    switch (index.kind) {
      case "const":
      case "var":
      case "scalar":
        return false;
      case "div":
      case "mod":
        return true;
      case "add":
      case "sub":
      case "mul":
      case "min":
      case "max":
        return divides(index.a) || divides(index.b);
    }
  };
  let affine = true;
  forEachStatement(body, (statement) => {
    if (statement.kind === "store" && divides(statement.offset)) affine = false;
    forEachScalar(valuesOf(statement), (value) => {
      if (value.kind === "load" && divides(value.offset)) affine = false;
      if (value.kind === "fromIndex" && divides(value.index)) affine = false;
      if (
        (value.kind === "indexLess" || value.kind === "indexEqual") &&
        (divides(value.a) || divides(value.b))
      ) {
        affine = false;
      }
    });
  });
  return affine;
}

/** The buffers that statements read or write. */
export function buffersOf(body: readonly Statement[]): Set<number> {
  const buffers = new Set<number>();
  forEachStatement(body, (statement) => {
    if (statement.kind === "store" || statement.kind === "accumulate") buffers.add(statement.buffer);
    if (statement.kind === "reduce") for (const { buffer } of statement.panels) buffers.add(buffer);
    forEachScalar(valuesOf(statement), (value) => {
      if (value.kind === "load") buffers.add(value.buffer);
    });
  });
  return buffers;
}

/** Lowers a graph to kernels. Throws `GraphError` on a graph that has constants or uses what it does not define. */
export function lower(graph: Graph, options: LowerOptions): Program {
  return new Lowering(graph, options).run();
}
