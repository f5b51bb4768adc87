/**
 * How operands of one operation find a common dtype and shape. Arrays promote by the table of `promoteTypes`; a
 * JavaScript number takes the dtype of the arrays that it meets, if that can hold it.
 */
import type { DType } from "../base/dtype.js";
import { isFloating, isInteger, promoteTypes } from "../base/dtype.js";
import { broadcastShapes } from "../base/shape.js";
import type { ArrayInput, DTypeOf } from "./input.js";
import { broadcastInto, convertTo, toArray } from "./input.js";
import type { NDArray } from "./ndarray.js";
import { filled } from "./ndarray.js";

type Strong<D> = (D extends "weak" ? "float64" : D) & DType;

/** With a number the floats stay; what becomes of integers depends on whether the number is integral. */
type WithNumber<D> = D extends "float64" | "float32"
  ? D
  : D extends "weak" | "bool"
    ? "float64"
    : (D & DType) | "float64";

type PromoteNames<A, B> = A extends "weak"
  ? WithNumber<B>
  : B extends "weak"
    ? WithNumber<A>
    : A extends B
      ? Strong<B>
      : A extends "bool"
        ? Strong<B>
        : B extends "bool"
          ? Strong<A>
          : "float64";

/** The dtype of an operation on two inputs. */
export type Promoted<A, B> = PromoteNames<DTypeOf<A>, DTypeOf<B>>;

/** The dtype of a floating-point function of an input: f32 stays, all else is f64. */
export type FloatOf<A> = DTypeOf<A> extends infer D ? (D extends "float32" ? "float32" : "float64") : never;

/** The dtype of a floating-point function of two inputs. */
export type FloatPromoted<A, B> =
  Promoted<A, B> extends infer D ? (D extends "float32" ? "float32" : "float64") : never;

/** Which dtypes an operation computes in: as they come, numbers (bool becomes i32), or floats (all else becomes f64). */
export type Kind = "any" | "number" | "float";

/** True if an integer dtype holds the number exactly. */
function holds(dtype: DType, value: number): boolean {
  if (!Number.isInteger(value)) return false;
  return dtype === "int32" ? value >= -2147483648 && value <= 2147483647 : value >= 0 && value <= 4294967295;
}

/** The dtype that an operation on these inputs computes in. */
export function commonDType(inputs: readonly (NDArray | number)[], kind: Kind): DType {
  let dtype: DType | null = null;
  for (const input of inputs) {
    if (typeof input !== "number") dtype = dtype === null ? input.dtype : promoteTypes(dtype, input.dtype);
  }
  for (const input of inputs) {
    if (typeof input !== "number") continue;
    if (dtype === null || dtype === "bool") dtype = "float64";
    else if (isInteger(dtype) && !holds(dtype, input)) dtype = "float64";
  }
  dtype ??= "float64";
  if (kind === "float" && !isFloating(dtype)) return "float64";
  return kind === "number" && dtype === "bool" ? "int32" : dtype;
}

/** The inputs as arrays of one dtype, in shapes of their own. */
export function unify(
  operation: string,
  names: readonly string[],
  inputs: readonly ArrayInput[],
  kind: Kind,
): NDArray[] {
  const known = inputs.map((input, i) =>
    typeof input === "number" ? input : toArray(operation, names[i] ?? `argument ${i}`, input),
  );
  const dtype = commonDType(known, kind);
  return known.map((input) =>
    typeof input === "number" ? filled(dtype, [], input) : convertTo(input, dtype),
  );
}

/** The arrays repeated to their common shape. */
export function align(operation: string, arrays: readonly NDArray[]): NDArray[] {
  const shape = broadcastShapes(operation, ...arrays.map((x) => x.shape));
  return arrays.map((x) => broadcastInto(operation, x, shape));
}

/** The inputs as arrays of one dtype and shape: what an element-wise primitive takes. */
export function operands(
  operation: string,
  inputs: readonly ArrayInput[],
  kind: Kind,
  names: readonly string[] = inputs.length === 1 ? ["x"] : ["a", "b"],
): NDArray[] {
  return align(operation, unify(operation, names, inputs, kind));
}
