/**
 * The array that users hold. It is immutable, and it is one of three things: numbers in memory; a structure (a constant,
 * a ramp, an identity matrix) that becomes numbers only when somebody reads them; or, inside a function that is being
 * traced, a name for a value that does not exist yet.
 */
import { at } from "../base/at.js";
import type { DType, Storage, StorageOf } from "../base/dtype.js";
import { allocate } from "../base/dtype.js";
import { Elements } from "../base/elements.js";
import { ArgumentError, ConcretizationError, ShapeError } from "../base/errors.js";
import type { Shape } from "../base/shape.js";
import { formatShape, normalizeAxis, sizeOf, stridesOf } from "../base/shape.js";
import type { Aval, OpParams, ValueId } from "../ir/graph.js";
import { formatAval } from "../ir/graph.js";
import { rowOf } from "../primitives/table.js";
import { formatArray } from "./format.js";
import type { Lease } from "./lease.js";
import type { Trace } from "./trace.js";

/** A nullary primitive with its parameters. */
export type Structure = {
  readonly [K in "fill" | "iota" | "eye"]: { readonly op: K; readonly params: OpParams[K] };
}["fill" | "iota" | "eye"];

/** A value of a trace in progress. */
export interface TracedValue {
  readonly trace: Trace;
  readonly id: ValueId;
}

/** What an array consists of. */
export type Payload =
  | { readonly kind: "data"; readonly elements: Elements }
  | { readonly kind: "leased"; readonly lease: Lease }
  | { readonly kind: "structure"; readonly structure: Structure }
  | { readonly kind: "traced"; readonly value: TracedValue };

/** An element as JavaScript has it. Where the dtype is not known at compile time, a number is assumed. */
export type Item<D extends DType> = [D] extends ["bool"] ? boolean : number;

/** Nested lists of elements, as `toArray` gives them. */
export type NestedList = number | boolean | readonly NestedList[];

let create: (aval: Aval, payload: Payload) => NDArray;
let read: (x: NDArray) => Payload;
let elementsIn: (x: NDArray) => Elements | null;

/**
 * An n-dimensional array: immutable, row-major, of one dtype. Make one with `np.array`, `np.zeros`, ...; compute with
 * the functions of `np` or the methods that mirror them.
 *
 * Concrete scalars (`shape` is `[]`) convert to numbers where JavaScript asks for one (`+x`, `x > 0`). Inside a function
 * that is being traced (`jit`, `grad`, `objective`, ...) there are no numbers yet, and doing so throws
 * `ConcretizationError`. JavaScript cannot tell an array that `if (x)` looks at it: write `if (x.item())`, or `np.where`.
 *
 * @example
 * ```ts
 * import { np } from "heddle";
 *
 * const a = np.array([[1, 2], [3, 4]]);
 * console.log(a.dot([1, -1]).mul(2).sum().item()); // -4
 * ```
 */
export class NDArray<D extends DType = DType> {
  /** The element type. */
  readonly dtype: D;
  /** The extent of each axis, outermost first. */
  readonly shape: Shape;
  readonly #payload: Payload;
  /** Of data; and of a structure, once it was read. */
  #elements: Elements | null;

  private constructor(dtype: D, shape: Shape, payload: Payload) {
    this.dtype = dtype;
    this.shape = shape;
    this.#payload = payload;
    this.#elements = payload.kind === "data" ? payload.elements : null;
  }

  static {
    create = (aval, payload) => new NDArray(aval.dtype, Object.freeze([...aval.shape]), payload);
    read = (x) => x.#payload;
    elementsIn = (x) => x.#materialized();
  }

  /** The number of axes. */
  get ndim(): number {
    return this.shape.length;
  }

  /** The number of elements. */
  get size(): number {
    return sizeOf(this.shape);
  }

  /** True inside a function that is being traced, for values that depend on its arguments. */
  get traced(): boolean {
    return this.#payload.kind === "traced";
  }

  /**
   * The elements, row-major; booleans are bytes. A view, not a copy: do not write to it. Throws `ConcretizationError` on
   * a traced value.
   */
  get data(): Readonly<StorageOf[D]> {
    const data =
      this.#materialized()?.kept ?? this.#read(".data", "compute with np, and read elements outside");
    // The payload was made with this dtype; the compiler does not follow that through the union.
    return data as Readonly<StorageOf[D]>;
  }

  #read(operation: string, remedy: string): Storage {
    const payload = this.#payload;
    if (payload.kind === "leased") return payload.lease.data;
    return this.#materialized()?.now ?? refuse(this, operation, remedy);
  }

  /** Elements that never change, if it has such; those of a structure are made. */
  #materialized(): Elements | null {
    const payload = this.#payload;
    if (this.#elements !== null || payload.kind !== "structure") return this.#elements;
    const out = { dtype: this.dtype, shape: this.shape, data: allocate<DType>(this.dtype, this.size) };
    const { op, params } = payload.structure;
    rowOf(op).reference([], out, params);
    return (this.#elements = new Elements(out.data, true));
  }

  /**
   * One element as a number, or of booleans a boolean: the only one, or the one at a position. Throws `ShapeError` if there are several
   * and no position is given, `ConcretizationError` on a traced value.
   */
  item(...position: readonly number[]): Item<D> {
    const data = this.#read(".item()", "return the array, or use np.where to choose between values");
    if (position.length === 0 ? this.size !== 1 : position.length !== this.ndim) {
      throw new ShapeError({
        operation: "item",
        found: `${position.length} indices into ${formatShape(this.shape)}`,
        expected: position.length === 0 ? "an array of one element, or a position" : `${this.ndim} indices`,
      });
    }
    const strides = stridesOf(this.shape);
    let offset = 0;
    position.forEach((index, axis) => {
      const extent = at(this.shape, axis);
      const from = index < 0 ? index + extent : index;
      if (!Number.isInteger(from) || from < 0 || from >= extent) {
        throw new ArgumentError({
          operation: "item",
          argument: `index ${axis}`,
          found: String(index),
          expected: `an integer from ${-extent} to ${extent - 1}`,
        });
      }
      offset += from * at(strides, axis);
    });
    const value = at(data, offset);
    // The result's type follows the dtype, which the compiler knows only in the caller.
    return (this.dtype === "bool" ? value !== 0 : value) as Item<D>;
  }

  /** The elements as nested lists; a scalar gives the bare element. Throws `ConcretizationError` on a traced value. */
  toArray(): NestedList {
    const data = this.#read(".toArray()", "return the array, and convert it outside");
    const strides = stridesOf(this.shape);
    const build = (axis: number, offset: number): NestedList => {
      if (axis === this.ndim) {
        const value = at(data, offset);
        return this.dtype === "bool" ? value !== 0 : value;
      }
      const stride = at(strides, axis);
      return Array.from({ length: at(this.shape, axis) }, (_, i) => build(axis + 1, offset + i * stride));
    };
    return build(0, 0);
  }

  /** The length of the first axis. Throws `ShapeError` on a scalar. */
  get length(): number {
    if (this.ndim === 0)
      throw new ShapeError({ operation: "length", found: "a scalar", expected: "an axis" });
    return at(this.shape, normalizeAxis("length", 0, this.ndim));
  }

  /** As JSON: nested lists. */
  toJSON(): NestedList {
    return this.toArray();
  }

  /** As NumPy prints it. A traced value is described by its type. */
  toString(): string {
    if (this.#payload.kind === "traced") return `traced ${formatAval(this)}`;
    return formatArray(this.dtype, this.shape, elementsNow(this));
  }

  valueOf(): number | string {
    return this.#convert("number");
  }

  [Symbol.toPrimitive](hint: string): number | string {
    return this.#convert(hint);
  }

  #convert(hint: string): number | string {
    const data = this.#read(
      hint === "string" ? "conversion to a string or property name" : "conversion to a JavaScript number",
      "operators and comparisons do not see arrays: use .add, .mul, np.greater, ..., choose with np.where or " +
        "np.maximum, index with .slice or np.take, and print with console.log(x)",
    );
    if (this.ndim === 0) {
      const value = at(data, 0);
      if (hint !== "string") return value;
      return this.dtype === "bool" ? String(value !== 0) : String(value);
    }
    if (hint === "string") return this.toString();
    throw new ShapeError({
      operation: "conversion to a JavaScript number",
      found: `an array of shape ${formatShape(this.shape)}`,
      expected: "a scalar",
      remedy: "JavaScript's operators do not see arrays: use np.add, .mul, np.equal, ...",
    });
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    if (this.#payload.kind === "traced") return `NDArray(traced ${formatAval(this)})`;
    const text = formatArray(this.dtype, this.shape, elementsNow(this), ", ");
    const name = `NDArray ${formatAval(this)}`;
    return `${name}${this.ndim < 2 ? " " : "\n"}${text}`;
  }

  /** Names the class in `Object.prototype.toString`. */
  get [Symbol.toStringTag](): string {
    return "NDArray";
  }
}

function refuse(x: NDArray, operation: string, remedy: string): never {
  const payload = payloadOf(x);
  const where = payload.kind === "traced" ? ` inside ${payload.value.trace.operation}` : "";
  throw new ConcretizationError({
    operation,
    found: `a traced ${formatAval(x)}${where}, which has no elements yet`,
    remedy,
  });
}

/** True for arrays. */
export function isNDArray(value: unknown): value is NDArray {
  return value instanceof NDArray;
}

/** What an array consists of. */
export function payloadOf(x: NDArray): Payload {
  return read(x);
}

/** An array around data that nobody else will write to; it is not copied. */
export function fromData<D extends DType>(dtype: D, shape: Shape, data: StorageOf[D]): NDArray<D> {
  if (data.length !== sizeOf(shape)) {
    throw new ShapeError({
      operation: "array",
      argument: "data",
      found: `${data.length} elements`,
      expected: `${sizeOf(shape)} elements for the shape ${formatShape(shape)}`,
    });
  }
  // `create` gives the array the dtype that it is passed.
  return fromElements(dtype, shape, new Elements(data)) as NDArray<D>;
}

/** An array around data that nobody else has. */
export function fromOwn(dtype: DType, shape: Shape, data: Storage): NDArray {
  return create({ dtype, shape }, { kind: "data", elements: new Elements(data, true) });
}

/** An array of elements that other arrays may have, too. */
export function fromElements(dtype: DType, shape: Shape, elements: Elements): NDArray {
  return create({ dtype, shape }, { kind: "data", elements });
}

/** The elements of an array, which other arrays may share; `null` if it is traced, or its memory is lent. */
export function elementsOf(x: NDArray): Elements | null {
  return elementsIn(x);
}

/** The elements, for whoever reads them now and keeps nothing. Throws `ConcretizationError` on a traced value. */
export function elementsNow(x: NDArray): Storage {
  return elementsIn(x)?.now ?? x.data;
}

/** An array that reads leased memory. */
export function fromLease<D extends DType>(dtype: D, shape: Shape, lease: Lease): NDArray<D> {
  // `create` gives the array the dtype that it is passed.
  return create({ dtype, shape }, { kind: "leased", lease }) as NDArray<D>;
}

/** An array that stays symbolic until it is read. */
export function fromStructure(structure: Structure): NDArray {
  const aval = rowOf(structure.op).shape([], structure.params);
  return create(aval, { kind: "structure", structure });
}

/** A value of a trace. */
export function fromTrace(trace: Trace, id: ValueId): NDArray {
  return create(trace.builder.aval(id), { kind: "traced", value: { trace, id } });
}

/** `value` everywhere, as a structure. */
export function filled<D extends DType>(dtype: D, shape: Shape, value: number): NDArray<D> {
  // A fill has the dtype of its parameters.
  return fromStructure({ op: "fill", params: { value, dtype, shape } }) as NDArray<D>;
}

/** The value that fills an array, if it is known to be a constant one. */
export function fillValue(x: NDArray): number | undefined {
  const payload = read(x);
  if (payload.kind !== "structure" || payload.structure.op !== "fill") return undefined;
  return payload.structure.params.value;
}
