/**
 * What the rules of the table write to: something that applies primitives to values and knows their types. The graph
 * builder is one; rules need not know more.
 */
import type { DType } from "../base/dtype.js";
import type { Shape } from "../base/shape.js";
import type { Aval, NoParams, OpName, OpParams, ValueId } from "../ir/graph.js";

/** The primitives without parameters. */
export type PlainOp = { [K in OpName]: OpParams[K] extends NoParams ? K : never }[OpName];

/** Applies primitives. Every method throws `ShapeError` or `DTypeError` where the operands do not fit. */
export interface Emitter {
  /** The type of a value. */
  aval(id: ValueId): Aval;
  /** The shape of a value. */
  shape(id: ValueId): Shape;
  /** Applies a primitive and returns its result. */
  emit<K extends OpName>(op: K, inputs: readonly ValueId[], params: OpParams[K]): ValueId;
  /** Applies a primitive without parameters. */
  apply(op: PlainOp, ...inputs: readonly ValueId[]): ValueId;
  /** `value` everywhere, with the given type. */
  fill(value: number, aval: Aval): ValueId;
  /** `value` everywhere, typed as another value is. */
  like(id: ValueId, value: number): ValueId;
  /** A matrix with ones where column = row + offset. */
  eye(dtype: DType, rows: number, columns: number, offset?: number): ValueId;
  /** Repeats along axes that are new; operand axis i becomes result axis `axes[i]`. */
  broadcast(id: ValueId, shape: Shape, axes: readonly number[]): ValueId;
  /** The same elements in another shape. */
  reshape(id: ValueId, shape: Shape): ValueId;
  /** Permutes the axes: result axis i is operand axis `permutation[i]`. */
  transpose(id: ValueId, permutation: readonly number[]): ValueId;
  /** Sums over axes, which are sorted; over none it is the identity. */
  sum(id: ValueId, axes: readonly number[]): ValueId;
}
