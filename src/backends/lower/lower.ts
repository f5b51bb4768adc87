/**
 * Graph to kernels. Each value that is kept in memory becomes one nest of loops whose body evaluates everything that was
 * folded into it; nests are then fused, and what fusion makes unnecessary is dropped.
 */
import { at } from "../../base/at.js";
import { itemSize } from "../../base/dtype.js";
import { GraphError } from "../../base/errors.js";
import { invertPermutation, sizeOf } from "../../base/shape.js";
import type { Aval, Equation, Graph, ValueId } from "../../ir/graph.js";
import type { Index, Scalar } from "../../ir/kernel.js";
import { addIndex, constIndex, mulIndex, unflattenIndex, varIndex } from "../../ir/kernel.js";
import { fuseNests } from "./fuse.js";
import type { Nest } from "./fuse.js";
import { chooseMaterialized, liveEquations, loweringOf } from "./materialize.js";
import { kernelName } from "./name.js";
import type { ReductionOrder } from "../../primitives/order.js";
import { reductionOrder } from "../../primitives/order.js";
import { IndexAlgebra, linearIn } from "./polynomial.js";
import type { Buffer, Kernel, Loop, Panel, Program, Statement } from "./program.js";
import { forEachScalar, forEachStatement, isDivisionFree, valuesOf } from "./program.js";
import type { UnplacedBuffer } from "./workspace.js";
import { placeTemporaries, temporaryBytesOf } from "./workspace.js";
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
  /** The axes in the order of the loops that write the value, where that is known and not the axes' own order. */
  readonly order?: readonly number[];
}

class Lowering {
  readonly #graph: Graph;
  readonly #options: LowerOptions;
  readonly #algebra = new IndexAlgebra();
  readonly #buffers: UnplacedBuffer[] = [];
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
      const order = placed.order ?? keys.map((_, axis) => axis);
      this.#position.set(
        result,
        order.filter((axis) => !isOne(at(extents, axis))).map((axis) => at(keys, axis)),
      );
    }
    this.#reads.set(key, result);
    return result;
  }

  /** What the nest of a value stores: readers load it later, so that the expression is not remembered for them. */
  #define(id: ValueId, index: readonly Index[]): Scalar {
    return this.#home.has(id) ? this.#read(id, index) : this.#element(id, index, []);
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
    const order = reductionOrder(equation, inputs);
    const panels = this.#panels({ loops: inner.loops, value, order }, loops);
    const body: Statement[] = [
      {
        kind: "reduce",
        local,
        dtype,
        combine: lowering.combine,
        identity,
        loops: inner.loops,
        value,
        order,
        panels,
      },
      ...this.#store(places, index, { kind: "local", dtype, name: local }),
    ];
    return this.#nest(id, loops, body);
  }

  #panels(
    reduce: { readonly loops: readonly Loop[]; readonly value: Scalar; readonly order: ReductionOrder },
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

  #elementNest(id: ValueId, places: Placed[]): Nest {
    const { loops, index } = this.#loops("i", this.#extents(id));
    const last = loops[loops.length - 1];
    const short = last?.extent.kind === "const" && last.extent.value < 64;
    if (loops.length > 1 && short && this.#layoutOf(places) === "dense") {
      const extents = this.#extents(id);
      const total = this.#loops("i", [this.#algebra.simplify(extents.reduce(mulIndex, constIndex(1)))]);
      const position = unflattenIndex(at(total.index, 0), extents).map((part) =>
        this.#algebra.simplify(part),
      );
      const body = this.#store(places, position, this.#define(id, position));
      if (isDivisionFree(body)) return this.#nest(id, total.loops, body, true);
    }
    const value = this.#define(id, index);
    const order = this.#temporary(places) ? this.#contiguousOrder(id, value, loops) : null;
    if (order !== null) return this.#permutedNest(id, places, order);
    return this.#nest(id, loops, this.#store(places, index, value));
  }

  #temporary(places: readonly Placed[]): boolean {
    return places.every(({ buffer }) => at(this.#buffers, buffer).role === "workspace");
  }

  /** The axes with one in last place along which loads are contiguous, if none is along the last axis. */
  #contiguousOrder(id: ValueId, value: Scalar, loops: readonly Loop[]): number[] | null {
    if (loops.length < 2 || loops.length !== this.#aval(id).shape.length) return null;
    const count = loops.map(() => 0);
    forEachScalar([value], (part) => {
      if (part.kind !== "load") return;
      const offset = this.#algebra.normalize(part.offset);
      loops.forEach((loop, axis) => {
        if (linearIn(offset, loop.index)?.stride.key === "1") count[axis] = at(count, axis) + 1;
      });
    });
    const best = count.lastIndexOf(Math.max(...count));
    if (count[loops.length - 1] !== 0 || count[best] === 0) return null;
    return [...loops.keys()].filter((axis) => axis !== best).concat(best);
  }

  /** A temporary may lie in memory in whichever order of axes is fastest to write. */
  #permutedNest(id: ValueId, places: Placed[], order: readonly number[]): Nest {
    const extents = this.#extents(id);
    const ordered = order.map((axis) => at(extents, axis));
    const dense = ordered.map((_, axis) => ordered.slice(axis + 1).reduce(mulIndex, constIndex(1)));
    const back = invertPermutation(order);
    const strides = back.map((position) => at(dense, position));
    const placed = { buffer: at(places, 0).buffer, strides, order };
    places.splice(0, places.length, placed);
    const { loops, index } = this.#loops("i", ordered);
    const position = back.map((level) => at(index, level));
    return this.#nest(id, loops, this.#store(places, position, this.#define(id, position)));
  }

  /** Each operand is written to its own part, which spares the choice between them at every element. */
  #concatenateNests(id: ValueId, places: Placed[], axis: number): Nest[] {
    let start: Index = constIndex(0);
    const nests = this.#equation(id).inputs.flatMap((operand) => {
      const extents = this.#extents(operand);
      const { loops, index } = this.#loops("i", extents);
      const to = index.map((position, own) => (own === axis ? addIndex(position, start) : position));
      start = this.#algebra.simplify(addIndex(start, at(extents, axis)));
      if (sizeOf(this.#aval(operand).shape) === 0) return [];
      return [this.#nest(id, loops, this.#store(places, to, this.#read(operand, index)))];
    });
    // The loops of a part are not those of the whole: no reader may join them.
    const [first] = places;
    if (first !== undefined) places[0] = { ...first, order: [] };
    return nests;
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

    const views = this.#writeThroughViews(equations, stored, targets);
    const nests: Nest[] = [];
    for (const [id, places] of targets) {
      if (this.#home.has(id)) nests.push(this.#elementNest(id, places));
    }
    for (const equation of equations) {
      const id = at(equation.outputs, 0);
      const view = views.get(id);
      if (view !== undefined) this.#home.set(id, view);
      if (!stored.has(id) || view !== undefined) continue;
      const places = targets.get(id) ?? [this.#addBuffer("workspace", 0, id)];
      if (sizeOf(this.#aval(id).shape) > 0) {
        const { kind } = loweringOf(equation);
        if (equation.op === "concatenate")
          nests.push(...this.#concatenateNests(id, places, equation.params.axis));
        else if (kind === "element") nests.push(this.#elementNest(id, places));
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
    const workspaceBytes = placeTemporaries(this.#buffers, kernels);
    const temporaryBytes = temporaryBytesOf(this.#buffers);
    return { buffers: this.#buffers, kernels, workspaceBytes, temporaryBytes, algebra: this.#algebra };
  }

  /**
   * Where an output only rearranges the axes of a value that is stored anyway, the value is written straight into the
   * output. Such outputs are returned with the place that their readers use; the value is added to `targets`.
   */
  #writeThroughViews(
    equations: readonly Equation[],
    stored: ReadonlySet<ValueId>,
    targets: Map<ValueId, Placed[]>,
  ): Map<ValueId, Placed> {
    const views = new Map<ValueId, Placed>();
    const inner = new Set<ValueId>();
    for (let position = equations.length - 1; position >= 0; position--) {
      const equation = at(equations, position);
      const id = at(equation.outputs, 0);
      const places = targets.get(id);
      if (equation.op !== "transpose" || places === undefined || inner.has(id)) continue;
      const source = at(equation.inputs, 0);
      if (!stored.has(source) || targets.has(source)) continue;
      const { permutation } = equation.params;
      const order = invertPermutation(permutation);
      targets.delete(id);
      targets.set(
        source,
        places.map(({ buffer, strides }) => ({ buffer, strides: order.map((axis) => at(strides, axis)) })),
      );
      inner.add(source);
      views.set(id, { ...at(places, 0), order });
    }
    return views;
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

/** Lowers a graph to kernels. Throws `GraphError` on a graph that has constants or uses what it does not define. */
export function lower(graph: Graph, options: LowerOptions): Program {
  return new Lowering(graph, options).run();
}
