/**
 * Element-wise functions of one array. Functions that only make sense for floats take integers and booleans as f64.
 */
import type { DType } from "../../base/dtype.js";
import { isFloating } from "../../base/dtype.js";
import { apply } from "../bind.js";
import type { ArrayInput, DTypeOf, StrongOf } from "../input.js";
import { convertTo, toArray } from "../input.js";
import type { NDArray } from "../ndarray.js";
import { filled } from "../ndarray.js";
import type { FloatOf } from "../promote.js";
import { operands } from "../promote.js";

type FloatOp =
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
  | "atanh";

/** A function that computes in floats. */
type FloatFunction = <A extends ArrayInput>(x: A) => NDArray<FloatOf<A>>;

/** The dtype of arithmetic on one input: booleans count as i32. */
export type NumberOf<A> = CountOf<StrongOf<A>>;
type CountOf<D extends DType> = D extends "bool" ? "int32" : D;

/** The one operand of a function, as the kind of number that it computes with. */
export function operand(operation: string, x: ArrayInput, kind: "any" | "number" | "float"): NDArray {
  const [value] = operands(operation, [x], kind);
  return value ?? toArray(operation, "x", x);
}

function floatFunction(operation: string, op: FloatOp): FloatFunction {
  // The operand was converted to the float that FloatOf names.
  return <A extends ArrayInput>(x: A) => apply(op, operand(operation, x, "float")) as NDArray<FloatOf<A>>;
}

/** Square root; NaN below 0. */
export const sqrt: FloatFunction = floatFunction("sqrt", "sqrt");
/** Cube root. */
export const cbrt: FloatFunction = floatFunction("cbrt", "cbrt");
/** e to the power x. */
export const exp: FloatFunction = floatFunction("exp", "exp");
/** exp(x) − 1, precise near 0. */
export const expm1: FloatFunction = floatFunction("expm1", "expm1");
/** Natural logarithm. */
export const log: FloatFunction = floatFunction("log", "log");
/** log(1 + x), precise near 0. */
export const log1p: FloatFunction = floatFunction("log1p", "log1p");
/** Sine of radians. */
export const sin: FloatFunction = floatFunction("sin", "sin");
/** Cosine of radians. */
export const cos: FloatFunction = floatFunction("cos", "cos");
/** Tangent of radians. */
export const tan: FloatFunction = floatFunction("tan", "tan");
/** Inverse sine, in radians. */
export const asin: FloatFunction = floatFunction("asin", "asin");
/** Inverse cosine, in radians. */
export const acos: FloatFunction = floatFunction("acos", "acos");
/** Inverse tangent, in radians. */
export const atan: FloatFunction = floatFunction("atan", "atan");
/** Hyperbolic sine. */
export const sinh: FloatFunction = floatFunction("sinh", "sinh");
/** Hyperbolic cosine. */
export const cosh: FloatFunction = floatFunction("cosh", "cosh");
/** Hyperbolic tangent. */
export const tanh: FloatFunction = floatFunction("tanh", "tanh");
/** Inverse hyperbolic sine. */
export const asinh: FloatFunction = floatFunction("asinh", "asinh");
/** Inverse hyperbolic cosine. */
export const acosh: FloatFunction = floatFunction("acosh", "acosh");
/** Inverse hyperbolic tangent. */
export const atanh: FloatFunction = floatFunction("atanh", "atanh");

/** NumPy's older names of the inverse functions. */
export {
  acos as arccos,
  acosh as arccosh,
  asin as arcsin,
  asinh as arcsinh,
  atan as arctan,
  atanh as arctanh,
};

/** −x. */
export function negative<A extends ArrayInput>(x: A): NDArray<NumberOf<A>> {
  return apply("neg", operand("negative", x, "number")) as NDArray<NumberOf<A>>;
}

/** x itself, as an array. */
export function positive<A extends ArrayInput>(x: A): NDArray<StrongOf<A>> {
  return toArray("positive", "x", x);
}

/** Absolute value. Its derivative at 0 is 0. */
export function abs<A extends ArrayInput>(x: A): NDArray<NumberOf<A>> {
  return apply("abs", operand("abs", x, "number")) as NDArray<NumberOf<A>>;
}
export { abs as absolute, abs as fabs };

/** −1, 0 or 1. */
export function sign<A extends ArrayInput>(x: A): NDArray<NumberOf<A>> {
  return apply("sign", operand("sign", x, "number")) as NDArray<NumberOf<A>>;
}

/** x². */
export function square<A extends ArrayInput>(x: A): NDArray<NumberOf<A>> {
  const value = operand("square", x, "number");
  return apply("mul", value, value) as NDArray<NumberOf<A>>;
}

/** 1 / x, in floats. */
export function reciprocal<A extends ArrayInput>(x: A): NDArray<FloatOf<A>> {
  const value = operand("reciprocal", x, "float");
  return apply("div", filled(value.dtype, value.shape, 1), value) as NDArray<FloatOf<A>>;
}

function rounding(operation: string, op: "floor" | "ceil" | "round") {
  return <A extends ArrayInput>(x: A): NDArray<NumberOf<A>> => {
    const value = operand(operation, x, "number");
    // Integers are whole already.
    return (isFloating(value.dtype) ? apply(op, value) : value) as NDArray<NumberOf<A>>;
  };
}

/** The greatest integer that is not above x. */
export const floor = rounding("floor", "floor");
/** The least integer that is not below x. */
export const ceil = rounding("ceil", "ceil");
/** The nearest integer; halves go to the even one. */
export const rint = rounding("rint", "round");

/** The integer part. */
export function trunc<A extends ArrayInput>(x: A): NDArray<NumberOf<A>> {
  const value = operand("trunc", x, "number");
  if (!isFloating(value.dtype)) return value as NDArray<NumberOf<A>>;
  const below = apply("less", value, filled(value.dtype, value.shape, 0));
  return apply("select", below, apply("ceil", value), apply("floor", value)) as NDArray<NumberOf<A>>;
}
export { trunc as fix };

/** Rounds to `decimals` places; halves go to the even neighbour. */
export function round<A extends ArrayInput>(x: A, decimals = 0): NDArray<NumberOf<A>> {
  const value = operand("round", x, "number");
  if (!isFloating(value.dtype)) return value as NDArray<NumberOf<A>>;
  if (decimals === 0) return apply("round", value) as NDArray<NumberOf<A>>;
  const scale = filled(value.dtype, value.shape, 10 ** Math.abs(decimals));
  const result =
    decimals > 0
      ? apply("div", apply("round", apply("mul", value, scale)), scale)
      : apply("mul", apply("round", apply("div", value, scale)), scale);
  return result as NDArray<NumberOf<A>>;
}
export { round as around };

function scaled(operation: string, factor: number): FloatFunction {
  return <A extends ArrayInput>(x: A) => {
    const value = operand(operation, x, "float");
    return apply("mul", value, filled(value.dtype, value.shape, factor)) as NDArray<FloatOf<A>>;
  };
}

/** Degrees to radians. */
export const deg2rad: FloatFunction = scaled("deg2rad", Math.PI / 180);
/** Radians to degrees. */
export const rad2deg: FloatFunction = scaled("rad2deg", 180 / Math.PI);
export { rad2deg as degrees, deg2rad as radians };

/** base to the power x; whole powers are exact where the base's are. */
export const exp2: FloatFunction = <A extends ArrayInput>(x: A) => {
  const value = operand("exp2", x, "float");
  return apply("pow", filled(value.dtype, value.shape, 2), value) as NDArray<FloatOf<A>>;
};

/**
 * A logarithm to a whole base. The quotient of logarithms is off by an ulp at whole powers, so these are corrected; the
 * correction has no derivative.
 */
function logarithm(operation: string, base: number): FloatFunction {
  return <A extends ArrayInput>(x: A) => {
    const value = operand(operation, x, "float");
    const constant = (number: number): NDArray => filled(value.dtype, value.shape, number);
    const quotient = apply("div", apply("log", value), constant(Math.log(base)));
    const nearest = apply("round", quotient);
    const exact = apply(
      "and",
      apply("isFinite", quotient),
      apply("equal", apply("pow", constant(base), nearest), value),
    );
    const correction = apply("select", exact, apply("sub", nearest, quotient), constant(0));
    return apply("add", quotient, apply("stopGradient", correction)) as NDArray<FloatOf<A>>;
  };
}

/** Logarithm to base 2; exact at powers of 2. */
export const log2: FloatFunction = logarithm("log2", 2);
/** Logarithm to base 10; exact at powers of 10. */
export const log10: FloatFunction = logarithm("log10", 10);

/** sin(πx) / (πx), which is 1 at 0. */
export const sinc: FloatFunction = <A extends ArrayInput>(x: A) => {
  const value = operand("sinc", x, "float");
  const constant = (number: number): NDArray => filled(value.dtype, value.shape, number);
  const isZero = apply("equal", value, constant(0));
  const angle = apply("mul", apply("select", isZero, constant(1), value), constant(Math.PI));
  const ratio = apply("div", apply("sin", angle), angle);
  return apply("select", isZero, constant(1), ratio) as NDArray<FloatOf<A>>;
};

/** True where x is NaN. */
export function isnan(x: ArrayInput): NDArray<"bool"> {
  const value = operand("isnan", x, "any");
  // A comparison gives bool.
  return apply("notEqual", value, value) as NDArray<"bool">;
}

/** True where x is neither infinite nor NaN. */
export function isfinite(x: ArrayInput): NDArray<"bool"> {
  const value = operand("isfinite", x, "any");
  return isFloating(value.dtype)
    ? (apply("isFinite", value) as NDArray<"bool">)
    : filled("bool", value.shape, 1);
}

/** True where x is +∞ or −∞. */
export function isinf(x: ArrayInput): NDArray<"bool"> {
  const value = operand("isinf", x, "any");
  if (!isFloating(value.dtype)) return filled("bool", value.shape, 0);
  const size = apply("abs", value);
  return apply("equal", size, filled(value.dtype, value.shape, Infinity)) as NDArray<"bool">;
}

/** True where x is +∞. */
export function isposinf(x: ArrayInput): NDArray<"bool"> {
  const value = operand("isposinf", x, "float");
  return apply("equal", value, filled(value.dtype, value.shape, Infinity)) as NDArray<"bool">;
}

/** True where x is −∞. */
export function isneginf(x: ArrayInput): NDArray<"bool"> {
  const value = operand("isneginf", x, "float");
  return apply("equal", value, filled(value.dtype, value.shape, -Infinity)) as NDArray<"bool">;
}

/** NaN becomes `nan`, and infinities the greatest finite numbers or what is given. */
export function nanToNum<A extends ArrayInput>(
  x: A,
  options: { readonly nan?: number; readonly posinf?: number; readonly neginf?: number } = {},
): NDArray<StrongOf<A>> {
  const value = operand("nanToNum", x, "any");
  if (!isFloating(value.dtype)) return value as NDArray<StrongOf<A>>;
  const largest = value.dtype === "float32" ? 3.4028234663852886e38 : Number.MAX_VALUE;
  const constant = (number: number): NDArray => filled(value.dtype, value.shape, number);
  const replace = (where: NDArray, by: number, rest: NDArray): NDArray =>
    apply("select", where, constant(by), rest);
  return replace(
    apply("notEqual", value, value),
    options.nan ?? 0,
    replace(
      isposinf(value),
      options.posinf ?? largest,
      replace(isneginf(value), options.neginf ?? -largest, value),
    ),
  ) as NDArray<StrongOf<A>>;
}

/** True where x is zero or false. */
export function logicalNot(x: ArrayInput): NDArray<"bool"> {
  const value = operand("logicalNot", x, "any");
  return apply("equal", value, filled(value.dtype, value.shape, 0)) as NDArray<"bool">;
}

/** Each bit of an integer inverted; of a boolean, its negation. Throws `DTypeError` for floats. */
export function bitwiseNot<A extends ArrayInput>(x: A): NDArray<DTypeOf<A> & StrongOf<A>> {
  return apply("not", operand("bitwiseNot", x, "any")) as NDArray<DTypeOf<A> & StrongOf<A>>;
}
export { bitwiseNot as bitwiseInvert, bitwiseNot as invert };

/** True where the value, as a truth, is true. */
export function truth(x: ArrayInput): NDArray<"bool"> {
  return convertTo(operand("truth", x, "any"), "bool");
}

/** The identity, whose derivative is zero. */
export function stopGradient<A extends ArrayInput>(x: A): NDArray<StrongOf<A>> {
  return apply("stopGradient", toArray("stopGradient", "x", x)) as NDArray<StrongOf<A>>;
}
