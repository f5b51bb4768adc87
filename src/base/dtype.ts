/**
 * The five element types that heddle computes with, how they are stored, and how they promote. A JavaScript number is
 * weak: it takes the dtype of the array that it meets.
 */
import { DTypeError, MemoryError } from "./errors.js";

/** The name of an element type. */
export type DType = "float64" | "float32" | "int32" | "uint32" | "bool";

/** The typed array that stores each dtype; booleans are bytes that hold 0 or 1. */
export interface StorageOf {
  float64: Float64Array;
  float32: Float32Array;
  int32: Int32Array;
  uint32: Uint32Array;
  bool: Uint8Array;
}

/** Any typed array that stores a heddle array. */
export type Storage = StorageOf[DType];

/** All dtypes, lowest promotion first. */
export const dtypes = ["bool", "int32", "uint32", "float32", "float64"] as const satisfies readonly DType[];

const bytes: Readonly<Record<DType, number>> = { float64: 8, float32: 4, int32: 4, uint32: 4, bool: 1 };

/** Bytes per element. */
export function itemSize(dtype: DType): number {
  return bytes[dtype];
}

function buffer(bytes: number): ArrayBuffer {
  try {
    return new ArrayBuffer(bytes);
  } catch (cause) {
    throw new MemoryError({
      operation: "allocate",
      found: `${bytes} bytes for the elements of an array`,
      expected: "as much as the process can have",
      remedy: "use smaller arrays, or compute in blocks",
      cause,
    });
  }
}

/** A zeroed typed array of `size` elements of `dtype`. */
export function allocate<D extends DType>(dtype: D, size: number): StorageOf[D] {
  return viewOf(dtype, buffer(size * itemSize(dtype)), 0, size);
}

function makeView(dtype: DType, buffer: ArrayBufferLike, byteOffset: number, size: number): Storage {
  switch (dtype) {
    case "float64":
      return new Float64Array(buffer, byteOffset, size);
    case "float32":
      return new Float32Array(buffer, byteOffset, size);
    case "int32":
      return new Int32Array(buffer, byteOffset, size);
    case "uint32":
      return new Uint32Array(buffer, byteOffset, size);
    case "bool":
      return new Uint8Array(buffer, byteOffset, size);
  }
}

/** The dtype whose elements an array of this class has. */
export function dtypeOf(data: Storage): DType {
  if (data instanceof Float64Array) return "float64";
  if (data instanceof Float32Array) return "float32";
  if (data instanceof Int32Array) return "int32";
  return data instanceof Uint32Array ? "uint32" : "bool";
}

/** A typed view of `size` elements of `dtype` at a byte offset of `buffer`. */
export function viewOf<D extends DType>(
  dtype: D,
  buffer: ArrayBufferLike,
  byteOffset: number,
  size: number,
): StorageOf[D] {
  // The switch over dtype makes the class that D names; the compiler does not link the two.
  return makeView(dtype, buffer, byteOffset, size) as StorageOf[D];
}

/** True for f64 and f32. */
export function isFloating(dtype: DType): boolean {
  return dtype === "float64" || dtype === "float32";
}

/** True for i32 and u32. */
export function isInteger(dtype: DType): boolean {
  return dtype === "int32" || dtype === "uint32";
}

/** True if `value` is the name of a dtype. */
export function isDType(value: unknown): value is DType {
  return typeof value === "string" && (dtypes as readonly string[]).includes(value);
}

/** The dtype that holds both: NumPy's rules over five types; i32 with u32, and an integer with f32, give f64. */
export function promoteTypes(a: DType, b: DType): DType {
  if (a === b) return a;
  if (a === "bool") return b;
  if (b === "bool") return a;
  return "float64";
}

/** The nearest value of `dtype`: rounds for f32, wraps for integers (as a typed array does), truth for bool. */
export function coerce(dtype: DType, value: number): number {
  switch (dtype) {
    case "float64":
      return value;
    case "float32":
      return Math.fround(value);
    case "int32":
      return value | 0;
    case "uint32":
      return value >>> 0;
    case "bool":
      return value !== 0 ? 1 : 0;
  }
}

/** Refuses a dtype that is not in `allowed`. */
export function requireDType(
  operation: string,
  argument: string,
  dtype: DType,
  allowed: readonly DType[],
): void {
  if (!allowed.includes(dtype)) {
    throw new DTypeError({
      operation,
      argument,
      found: dtype,
      expected: allowed.join(" or "),
      remedy: `convert it with .astype("${allowed[0] ?? "float64"}")`,
    });
  }
}
