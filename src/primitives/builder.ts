/**
 * Builds a graph one equation at a time. The shape rule that types an equation also checks it, here and wherever a
 * transformation emits one.
 */
import { at } from "../base/at.js";
import type { Elements } from "../base/elements.js";
import type { DType } from "../base/dtype.js";
import { GraphError } from "../base/errors.js";
import type { Shape } from "../base/shape.js";
import type {
  Aval,
  Equation,
  Graph,
  GraphConstant,
  NoParams,
  OpName,
  OpParams,
  ValueId,
} from "../ir/graph.js";
import type { Emitter, PlainOp } from "./emitter.js";
import { outputAval } from "./table.js";

const none: NoParams = {};

/** A graph under construction. */
export class GraphBuilder implements Emitter {
  readonly #avals: Aval[] = [];
  readonly #inputs: ValueId[] = [];
  readonly #constants: GraphConstant[] = [];
  readonly #constantOf = new Map<Elements, GraphConstant[]>();
  readonly #equations: Equation[] = [];

  #define(aval: Aval): ValueId {
    this.#avals.push(aval);
    return this.#avals.length - 1;
  }

  /** Adds an input. */
  input(aval: Aval): ValueId {
    const id = this.#define({ dtype: aval.dtype, shape: aval.shape });
    this.#inputs.push(id);
    return id;
  }

  /** Adds a constant; the same data with the same shape is added once. */
  constant(aval: Aval, data: Elements): ValueId {
    const known = this.#constantOf.get(data) ?? [];
    const same = known.find((constant) => {
      const { shape } = this.aval(constant.id);
      return shape.length === aval.shape.length && shape.every((extent, axis) => extent === aval.shape[axis]);
    });
    if (same !== undefined) return same.id;
    const constant = { id: this.#define({ dtype: aval.dtype, shape: aval.shape }), data };
    this.#constants.push(constant);
    this.#constantOf.set(data, [...known, constant]);
    return constant.id;
  }

  /** The type of a value. */
  aval(id: ValueId): Aval {
    return at(this.#avals, id);
  }

  /** The shape of a value. */
  shape(id: ValueId): Shape {
    return this.aval(id).shape;
  }

  /** Applies a primitive and returns its result. Throws `ShapeError` or `DTypeError`. */
  emit<K extends OpName>(op: K, inputs: readonly ValueId[], params: OpParams[K]): ValueId {
    const output = outputAval(
      op,
      inputs.map((id) => this.aval(id)),
      params,
    );
    const id = this.#define(output);
    // The union of equations is indexed by `op`, which the compiler does not follow through K.
    this.#equations.push({ op, params, inputs: [...inputs], outputs: [id] } as unknown as Equation);
    return id;
  }

  apply(op: PlainOp, ...inputs: readonly ValueId[]): ValueId {
    return this.emit(op, inputs, none);
  }

  fill(value: number, aval: Aval): ValueId {
    return this.emit("fill", [], { value, dtype: aval.dtype, shape: aval.shape });
  }

  like(id: ValueId, value: number): ValueId {
    return this.fill(value, this.aval(id));
  }

  eye(dtype: DType, rows: number, columns: number, offset = 0): ValueId {
    return this.emit("eye", [], { dtype, rows, columns, offset });
  }

  broadcast(id: ValueId, shape: Shape, axes: readonly number[]): ValueId {
    if (axes.length === shape.length && this.shape(id).every((extent, axis) => extent === shape[axis]))
      return id;
    return this.emit("broadcast", [id], { shape, axes });
  }

  reshape(id: ValueId, shape: Shape): ValueId {
    const from = this.shape(id);
    if (from.length === shape.length && from.every((extent, axis) => extent === shape[axis])) return id;
    return this.emit("reshape", [id], { shape });
  }

  transpose(id: ValueId, permutation: readonly number[]): ValueId {
    if (permutation.every((axis, position) => axis === position)) return id;
    return this.emit("transpose", [id], { permutation });
  }

  sum(id: ValueId, axes: readonly number[]): ValueId {
    return axes.length === 0 ? id : this.emit("reduceSum", [id], { axes });
  }

  /** The equations so far, read only. */
  get equations(): readonly Equation[] {
    return this.#equations;
  }

  /** Emits a whole graph over operands of this builder and returns its results. */
  inline(graph: Graph, inputs: readonly ValueId[]): ValueId[] {
    if (inputs.length !== graph.inputs.length) {
      throw new GraphError({
        operation: "inline",
        found: `${inputs.length} operands for a graph of ${graph.inputs.length} inputs`,
      });
    }
    const known = new Map<ValueId, ValueId>();
    graph.inputs.forEach((id, position) => known.set(id, at(inputs, position)));
    for (const constant of graph.constants) {
      known.set(constant.id, this.constant(at(graph.avals, constant.id), constant.data));
    }
    for (const equation of graph.equations) {
      const operands = equation.inputs.map((id) => lookup(known, id));
      known.set(at(equation.outputs, 0), this.emit(equation.op, operands, equation.params));
    }
    return graph.outputs.map((id) => lookup(known, id));
  }

  /** The finished graph. The builder must not be used afterwards. */
  build(outputs: readonly ValueId[]): Graph {
    return {
      avals: this.#avals,
      inputs: this.#inputs,
      constants: this.#constants,
      equations: this.#equations,
      outputs: [...outputs],
    };
  }
}

/** The image of a value under a renaming that must know it. */
export function lookup(known: ReadonlyMap<ValueId, ValueId>, id: ValueId): ValueId {
  const image = known.get(id);
  if (image === undefined) {
    throw new GraphError({ operation: "graph", argument: `value ${id}`, found: "used before it is defined" });
  }
  return image;
}
