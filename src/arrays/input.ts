/**
 * What may stand where an array is expected (numbers, booleans, nested lists, typed arrays), and how it becomes one.
 */
import { at } from "../base/at.js";
import type { DType } from "../base/dtype.js";
import { allocate, coerce, isFloating, promoteTypes } from "../base/dtype.js";
import { ArgumentError, DTypeError, ShapeError } from "../base/errors.js";
import type { Shape } from "../base/shape.js";
import { broadcastShapes, formatShape, sameShape, sizeOf } from "../base/shape.js";
import { bind } from "./bind.js";
import type { NDArray } from "./ndarray.js";
import { fillValue, filled, fromOwn, isNDArray } from "./ndarray.js";

/** The typed arrays that have a dtype. */
export type TypedInput = Float64Array | Float32Array | Int32Array | Uint32Array;

/** Lists of numbers, booleans and arrays, nested to any depth; all of one depth have one length. */
export type NestedInput = readonly (number | boolean | NDArray | TypedInput | NestedInput)[];

/** What may stand where an array is expected. */
export type ArrayInput = NDArray | number | boolean | TypedInput | NestedInput;

/** The dtype of an input: `"weak"` for a JavaScript number, which takes the dtype of the arrays that it meets. */
export type DTypeOf<A> =
  A extends NDArray<infer D>
    ? D
    : A extends number
      ? "weak"
      : A extends boolean
        ? "bool"
        : A extends Float64Array
          ? "float64"
          : A extends Float32Array
            ? "float32"
            : A extends Int32Array
              ? "int32"
              : A extends Uint32Array
                ? "uint32"
                : [NestedInput] extends [A]
                  ? DType
                  : A extends readonly (infer E)[]
                    ? StrongName<DTypeOf<E>>
                    : DType;

type StrongName<D> = D extends "weak" ? "float64" : D;

/** The dtype of an input as an array of its own: a number is f64. */
export type StrongOf<A> = StrongName<DTypeOf<A>> & DType;

function typedDType(value: unknown): DType | null {
  if (value instanceof Float64Array) return "float64";
  if (value instanceof Float32Array) return "float32";
  if (value instanceof Int32Array) return "int32";
  return value instanceof Uint32Array ? "uint32" : null;
}

const isTyped = (value: unknown): value is TypedInput => typedDType(value) !== null;

/** A copy of a typed array as a vector. */
function copyTyped(value: TypedInput): NDArray {
  const dtype = typedDType(value) ?? "float64";
  const data = allocate<DType>(dtype, value.length);
  data.set(value);
  return fromOwn(dtype, [value.length], data);
}

function refuseView(operation: string, argument: string, value: ArrayBufferView): never {
  throw new DTypeError({
    operation,
    argument,
    found: `a ${value.constructor.name}`,
    expected: "a Float64Array, Float32Array, Int32Array or Uint32Array",
    remedy: "copy it into one of these, for example Int32Array.from(x)",
  });
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === "string") return `the string ${JSON.stringify(value)}`;
  if (typeof value === "object") return `an instance of ${value.constructor.name || "an unnamed class"}`;
  return `a ${typeof value}`;
}

/** Refuses what no array can be made of. */
function refuse(operation: string, argument: string, found: string): never {
  throw new ArgumentError({
    operation,
    argument,
    found,
    expected: "an array, a number, a boolean, a typed array, or nested lists of them",
  });
}

/** True for what `toArray` can convert without knowing an operation. */
export function isArrayInput(value: unknown): value is ArrayInput {
  if (isNDArray(value) || typeof value === "number" || typeof value === "boolean") return true;
  if (Array.isArray(value)) return value.every(isArrayInput);
  return isTyped(value);
}

const asList = (value: unknown): readonly unknown[] | null => (Array.isArray(value) ? value : null);

/** True if an array, or a typed one, stands somewhere in the lists. */
function hasArrays(value: unknown): boolean {
  const list = asList(value);
  return list === null ? isNDArray(value) || ArrayBuffer.isView(value) : list.some(hasArrays);
}

/** Lists of arrays (and of whatever else): stacks along a new first axis. */
function stackLists(operation: string, argument: string, list: readonly unknown[]): NDArray {
  const parts = list.map((element, i) => convertAny(operation, `${argument}[${i}]`, element));
  const first = at(parts, 0);
  parts.forEach((part, i) => {
    if (!sameShape(part.shape, first.shape)) {
      throw new ShapeError({
        operation,
        argument: `${argument}[${i}]`,
        found: `of shape ${formatShape(part.shape)}`,
        expected: `${formatShape(first.shape)}, the shape of ${argument}[0]`,
      });
    }
  });
  const strong = parts.filter((_, i) => typeof list[i] !== "number").map((part) => part.dtype);
  const dtype = strong.length === 0 ? "float64" : strong.reduce(promoteTypes);
  const rows = parts.map((part) => reshapeTo(convertTo(part, dtype), [1, ...part.shape]));
  return rows.length === 1 ? at(rows, 0) : bind("concatenate", rows, { axis: 0 });
}

function fromLists(operation: string, argument: string, list: readonly unknown[]): NDArray {
  if (hasArrays(list)) return stackLists(operation, argument, list);
  const shape: number[] = [];
  for (let level: unknown = list; ;) {
    const items = asList(level);
    if (items === null) break;
    shape.push(items.length);
    level = items[0];
  }
  const data = new Float64Array(sizeOf(shape));
  let position = 0;
  let booleans = 0;
  const collect = (value: unknown, axis: number, path: string): void => {
    const items = asList(value);
    if (axis < shape.length) {
      const extent = at(shape, axis);
      if (items?.length !== extent) {
        throw new ShapeError({
          operation,
          argument: path,
          found: items === null ? describe(value) : `a list of ${items.length}`,
          expected: `a list of ${extent}, as the first one at this depth`,
          remedy: "all lists of one depth need one length",
        });
      }
      items.forEach((item, i) => collect(item, axis + 1, `${path}[${i}]`));
      return;
    }
    if (items !== null) {
      throw new ShapeError({
        operation,
        argument: path,
        found: `a list of ${items.length}`,
        expected: "a number, as the first one at this depth",
        remedy: "all lists of one depth need one length",
      });
    }
    if (typeof value === "boolean") booleans++;
    else if (typeof value !== "number") refuse(operation, path, describe(value));
    data[position++] = Number(value);
  };
  collect(list, 0, argument);
  if (booleans > 0 && booleans === position) return fromOwn("bool", shape, Uint8Array.from(data));
  return fromOwn("float64", shape, data);
}

/**
 * Any input as an array. Numbers are f64, booleans bool; nested lists f64, or bool if all elements are booleans; typed arrays are
 * copied. Throws `ShapeError`, `DTypeError` or `ArgumentError` naming the position that does not fit.
 */
export function toArray<A extends ArrayInput>(
  operation: string,
  argument: string,
  value: A,
): NDArray<StrongOf<A>> {
  // The dtype follows the input as StrongOf says.
  return convertAny(operation, argument, value) as NDArray<StrongOf<A>>;
}

function convertAny(operation: string, argument: string, value: unknown): NDArray {
  if (isNDArray(value)) return value;
  if (typeof value === "number") return filled("float64", [], value);
  if (typeof value === "boolean") return filled("bool", [], value ? 1 : 0);
  if (isTyped(value)) return copyTyped(value);
  if (ArrayBuffer.isView(value)) return refuseView(operation, argument, value);
  const list = asList(value);
  return list === null ? refuse(operation, argument, describe(value)) : fromLists(operation, argument, list);
}

/** The array in another dtype. */
export function convertTo<D extends DType>(x: NDArray, dtype: D): NDArray<D> {
  // Each branch makes an array of the wanted dtype.
  if (x.dtype === dtype) return x as NDArray<D>;
  const value = fillValue(x);
  if (value !== undefined && !(isFloating(x.dtype) && !isFloating(dtype))) {
    return filled(dtype, x.shape, coerce(dtype, value));
  }
  return bind("convert", [x], { dtype }) as NDArray<D>;
}

/** The same elements in another shape of the same size. */
export function reshapeTo<D extends DType>(x: NDArray<D>, shape: Shape): NDArray<D> {
  if (sameShape(x.shape, shape)) return x;
  const value = fillValue(x);
  if (value !== undefined && sizeOf(shape) === x.size) return filled(x.dtype, shape, value);
  // A reshape keeps the dtype.
  return bind("reshape", [x], { shape }) as NDArray<D>;
}

/** The array repeated along new axes and axes of extent 1. Throws `ShapeError` if it does not broadcast to the shape. */
export function broadcastInto<D extends DType>(operation: string, x: NDArray<D>, shape: Shape): NDArray<D> {
  if (sameShape(x.shape, shape)) return x;
  const common = broadcastShapes(operation, x.shape, shape);
  if (!sameShape(common, shape)) {
    throw new ShapeError({
      operation,
      found: `${formatShape(x.shape)} does not broadcast to ${formatShape(shape)}`,
      expected: "extents that are equal or 1, and no more axes than the target",
    });
  }
  const value = fillValue(x);
  if (value !== undefined) return filled(x.dtype, shape, value);
  const lead = shape.length - x.ndim;
  const axes = x.shape
    .map((extent, axis) => (extent === shape[axis + lead] ? axis + lead : -1))
    .filter((axis) => axis >= 0);
  const squeezed = reshapeTo(
    x,
    axes.map((axis) => at(shape, axis)),
  );
  // A broadcast keeps the dtype.
  return bind("broadcast", [squeezed], { shape, axes }) as NDArray<D>;
}
