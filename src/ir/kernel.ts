/**
 * The language that primitives are lowered into: scalar expressions over loads at computed offsets. A backend nests
 * loops around them, fuses chains by substituting one expression into another, and prints the result (WebAssembly, WGSL,
 * C). Index arithmetic is on non-negative 32-bit integers.
 */
import type { DType } from "../base/dtype.js";
import { coerce } from "../base/dtype.js";
import type { OpName } from "./graph.js";

/** An integer expression over loop indices and dynamic extents. */
export type Index =
  | { readonly kind: "const"; readonly value: number }
  /** A loop index, or an extent or stride that is a parameter of the kernel. */
  | { readonly kind: "var"; readonly name: string }
  | {
      readonly kind: "add" | "sub" | "mul" | "div" | "mod" | "min" | "max";
      readonly a: Index;
      readonly b: Index;
    }
  /** An i32 scalar used as an index (gather). */
  | { readonly kind: "scalar"; readonly value: Scalar };

/** The scalar operations: every element-wise primitive is its own. */
export type ScalarOp = Extract<
  OpName,
  | "neg"
  | "abs"
  | "sign"
  | "floor"
  | "ceil"
  | "round"
  | "sqrt"
  | "cbrt"
  | "exp"
  | "expm1"
  | "log"
  | "log1p"
  | "sin"
  | "cos"
  | "tan"
  | "asin"
  | "acos"
  | "atan"
  | "sinh"
  | "cosh"
  | "tanh"
  | "asinh"
  | "acosh"
  | "atanh"
  | "not"
  | "isFinite"
  | "add"
  | "sub"
  | "mul"
  | "div"
  | "floorDivide"
  | "remainder"
  | "pow"
  | "atan2"
  | "max"
  | "min"
  | "and"
  | "or"
  | "xor"
  | "equal"
  | "notEqual"
  | "less"
  | "lessEqual"
  | "greater"
  | "greaterEqual"
>;

/** An expression with a value of one dtype; booleans are 0 or 1. */
export type Scalar =
  | { readonly kind: "const"; readonly dtype: DType; readonly value: number }
  /** Element `offset` of a buffer of the kernel. */
  | { readonly kind: "load"; readonly dtype: DType; readonly buffer: number; readonly offset: Index }
  /** An index as a number. */
  | { readonly kind: "fromIndex"; readonly dtype: DType; readonly index: Index }
  /** `dtype` is the result's; the operands share the dtype of `args[0]`. */
  | { readonly kind: "apply"; readonly dtype: DType; readonly op: ScalarOp; readonly args: readonly Scalar[] }
  | { readonly kind: "convert"; readonly dtype: DType; readonly arg: Scalar }
  /** Only the side that is taken is evaluated, so that a load outside a buffer can be guarded. */
  | {
      readonly kind: "choose";
      readonly dtype: DType;
      readonly when: Scalar;
      readonly then: Scalar;
      readonly otherwise: Scalar;
    }
  /** A comparison of indices, as a bool. */
  | { readonly kind: "indexLess"; readonly dtype: "bool"; readonly a: Index; readonly b: Index }
  | { readonly kind: "indexEqual"; readonly dtype: "bool"; readonly a: Index; readonly b: Index }
  /** A value that the surrounding statements hold: an accumulator, or a shared subexpression. */
  | { readonly kind: "local"; readonly dtype: DType; readonly name: string };

/** A constant index. */
export function constIndex(value: number): Index {
  return { kind: "const", value };
}

/** A named index. */
export function varIndex(name: string): Index {
  return { kind: "var", name };
}

/** a + b, folded. */
export function addIndex(a: Index, b: Index): Index {
  if (a.kind === "const" && b.kind === "const") return constIndex(a.value + b.value);
  if (a.kind === "const") return a.value === 0 ? b : { kind: "add", a: b, b: a };
  if (b.kind === "const" && b.value === 0) return a;
  return { kind: "add", a, b };
}

/** a − b, folded. */
export function subIndex(a: Index, b: Index): Index {
  if (a.kind === "const" && b.kind === "const") return constIndex(a.value - b.value);
  if (b.kind === "const" && b.value === 0) return a;
  return { kind: "sub", a, b };
}

/** a · b, folded. */
export function mulIndex(a: Index, b: Index): Index {
  if (a.kind === "const" && b.kind === "const") return constIndex(a.value * b.value);
  if (a.kind === "const") return mulIndex(b, a);
  if (b.kind === "const" && b.value === 1) return a;
  if (b.kind === "const" && b.value === 0) return b;
  return { kind: "mul", a, b };
}

/** ⌊a / b⌋, folded. */
export function divIndex(a: Index, b: Index): Index {
  if (b.kind === "const" && b.value === 1) return a;
  if (a.kind === "const" && b.kind === "const" && b.value !== 0)
    return constIndex(Math.floor(a.value / b.value));
  return { kind: "div", a, b };
}

/** a mod b, folded. */
export function modIndex(a: Index, b: Index): Index {
  if (b.kind === "const" && b.value === 1) return constIndex(0);
  if (a.kind === "const" && b.kind === "const" && b.value !== 0) return constIndex(a.value % b.value);
  return { kind: "mod", a, b };
}

/** The smaller of two. */
export function minIndex(a: Index, b: Index): Index {
  return a.kind === "const" && b.kind === "const"
    ? constIndex(Math.min(a.value, b.value))
    : { kind: "min", a, b };
}

/** The greater of two. */
export function maxIndex(a: Index, b: Index): Index {
  return a.kind === "const" && b.kind === "const"
    ? constIndex(Math.max(a.value, b.value))
    : { kind: "max", a, b };
}

/** The row-major offset of a multi-index. */
export function flattenIndex(index: readonly Index[], extents: readonly Index[]): Index {
  let offset = constIndex(0);
  index.forEach((position, axis) => {
    offset = addIndex(mulIndex(offset, extents[axis] ?? constIndex(1)), position);
  });
  return offset;
}

/** The multi-index of a row-major offset. */
export function unflattenIndex(offset: Index, extents: readonly Index[]): Index[] {
  const index: Index[] = [];
  let rest = offset;
  for (let axis = extents.length - 1; axis >= 0; axis--) {
    const extent = extents[axis] ?? constIndex(1);
    index.unshift(axis === 0 ? rest : modIndex(rest, extent));
    rest = divIndex(rest, extent);
  }
  return index;
}

/** A constant scalar. */
export function constScalar(dtype: DType, value: number): Scalar {
  return { kind: "const", dtype, value: coerce(dtype, value) };
}

/** `op` applied to operands; comparisons give bool, everything else the operands' dtype. */
export function applyScalar(op: ScalarOp, ...args: readonly Scalar[]): Scalar {
  const operand = args[0]?.dtype ?? "float64";
  return { kind: "apply", dtype: predicates.has(op) ? "bool" : operand, op, args };
}

const predicates: ReadonlySet<ScalarOp> = new Set<ScalarOp>([
  "isFinite",
  "equal",
  "notEqual",
  "less",
  "lessEqual",
  "greater",
  "greaterEqual",
]);
