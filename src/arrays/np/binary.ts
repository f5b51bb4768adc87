/**
 * Element-wise functions of two arrays, which broadcast: arithmetic, comparison, logic, and choice between values.
 */
import { at } from "../../base/at.js";
import { isFloating, isInteger } from "../../base/dtype.js";
import { ArgumentError, DTypeError } from "../../base/errors.js";
import { apply } from "../bind.js";
import type { ArrayInput } from "../input.js";
import { convertTo, toArray } from "../input.js";
import type { NDArray } from "../ndarray.js";
import { filled } from "../ndarray.js";
import type { FloatPromoted, Kind, Promoted } from "../promote.js";
import { align, operands, unify } from "../promote.js";
import { isnan, square, trunc, truth } from "./unary.js";

/** Arithmetic on two inputs. */
type Arithmetic = <A extends ArrayInput, B extends ArrayInput>(a: A, b: B) => NDArray<Promoted<A, B>>;

/** A comparison of two inputs. */
type Comparison = (a: ArrayInput, b: ArrayInput) => NDArray<"bool">;

function pair(operation: string, a: ArrayInput, b: ArrayInput, kind: Kind): [NDArray, NDArray] {
  const both = operands(operation, [a, b], kind);
  return [at(both, 0), at(both, 1)];
}

const constant = (like: NDArray, value: number): NDArray => filled(like.dtype, like.shape, value);

type ArithmeticOp =
  "add" | "sub" | "mul" | "floorDivide" | "remainder" | "max" | "min" | "and" | "or" | "xor";

function arithmetic(operation: string, op: ArithmeticOp, kind: Kind, onBool: ArithmeticOp = op): Arithmetic {
  return <A extends ArrayInput, B extends ArrayInput>(a: A, b: B) => {
    const [x, y] = pair(operation, a, b, kind);
    // Operands were promoted to the dtype that Promoted names, and these primitives keep it.
    return apply(x.dtype === "bool" ? onBool : op, x, y) as NDArray<Promoted<A, B>>;
  };
}

/** a + b; for booleans, their disjunction. */
export const add: Arithmetic = arithmetic("add", "add", "any", "or");
/** a − b. Throws `DTypeError` for booleans. */
export const subtract: Arithmetic = arithmetic("subtract", "sub", "any");
/** a · b; for booleans, their conjunction. */
export const multiply: Arithmetic = arithmetic("multiply", "mul", "any", "and");
/** The greater one; NaN if either is NaN. At a tie, both get half of the derivative. */
export const maximum: Arithmetic = arithmetic("maximum", "max", "any");
/** The lesser one; NaN if either is NaN. At a tie, both get half of the derivative. */
export const minimum: Arithmetic = arithmetic("minimum", "min", "any");
/** The floor of a / b. Integers by zero give 0. */
export const floorDivide: Arithmetic = arithmetic("floorDivide", "floorDivide", "number");
/** a − b · floor(a / b): the remainder with the sign of b. */
export const remainder: Arithmetic = arithmetic("remainder", "remainder", "number");
/** Bits set in both; for booleans, conjunction. Throws `DTypeError` for floats. */
export const bitwiseAnd: Arithmetic = arithmetic("bitwiseAnd", "and", "any");
/** Bits set in either; for booleans, disjunction. Throws `DTypeError` for floats. */
export const bitwiseOr: Arithmetic = arithmetic("bitwiseOr", "or", "any");
/** Bits set in one only; for booleans, inequality. Throws `DTypeError` for floats. */
export const bitwiseXor: Arithmetic = arithmetic("bitwiseXor", "xor", "any");
export { remainder as mod };

/** a / b in floats: integers give f64. */
export function divide<A extends ArrayInput, B extends ArrayInput>(a: A, b: B): NDArray<FloatPromoted<A, B>> {
  return apply("div", ...pair("divide", a, b, "float")) as NDArray<FloatPromoted<A, B>>;
}
export { divide as trueDivide };

/** floorDivide and remainder. */
export function divmod<A extends ArrayInput, B extends ArrayInput>(
  a: A,
  b: B,
): [NDArray<Promoted<A, B>>, NDArray<Promoted<A, B>>] {
  return [floorDivide(a, b), remainder(a, b)];
}

/** The remainder with the sign of a, as JavaScript's `%`. */
export function fmod<A extends ArrayInput, B extends ArrayInput>(a: A, b: B): NDArray<Promoted<A, B>> {
  const [x, y] = pair("fmod", a, b, "number");
  const rest = apply("remainder", apply("abs", x), apply("abs", y));
  const below = apply("less", x, constant(x, 0));
  return apply("select", below, apply("neg", rest), rest) as NDArray<Promoted<A, B>>;
}

/**
 * a to the power b. The exponents 2, 1, 0.5 and −1, given as numbers, are a product, the base, a square root and a reciprocal.
 * Integers stay integers; a negative exponent of them, given as a number, throws `DTypeError`.
 */
export function power<A extends ArrayInput, B extends ArrayInput>(a: A, b: B): NDArray<Promoted<A, B>> {
  const [x, y] = pair("power", a, b, "number");
  if (typeof b === "number") {
    const quick = powerOf(x, b);
    if (quick !== null) return quick as NDArray<Promoted<A, B>>;
  }
  return apply("pow", x, y) as NDArray<Promoted<A, B>>;
}
export { power as pow };

function powerOf(x: NDArray, exponent: number): NDArray | null {
  if (exponent === 2) return square(x);
  if (exponent === 1) return x;
  if (isInteger(x.dtype) && exponent < 0) {
    throw new DTypeError({
      operation: "power",
      argument: "b",
      found: `${exponent} for a base of ${x.dtype}`,
      expected: "an exponent that is not negative",
      remedy: 'convert the base with .astype("float64")',
    });
  }
  if (exponent === 0.5) return apply("sqrt", x);
  return exponent === -1 ? apply("div", constant(x, 1), x) : null;
}

/** The angle of the point (x, y), from −π to π. */
export function atan2<A extends ArrayInput, B extends ArrayInput>(y: A, x: B): NDArray<FloatPromoted<A, B>> {
  return apply("atan2", ...pair("atan2", y, x, "float")) as NDArray<FloatPromoted<A, B>>;
}
export { atan2 as arctan2 };

/** √(a² + b²) without overflow on the way. */
export function hypot<A extends ArrayInput, B extends ArrayInput>(a: A, b: B): NDArray<FloatPromoted<A, B>> {
  const [x, y] = pair("hypot", a, b, "float").map((value) => apply("abs", value)) as [NDArray, NDArray];
  const [large, small] = [apply("max", x, y), apply("min", x, y)];
  const [zero, one, infinite] = [constant(x, 0), constant(x, 1), constant(x, Infinity)];
  const simple = apply("or", apply("equal", large, zero), apply("equal", large, infinite));
  const ratio = apply("div", apply("select", simple, zero, small), apply("select", simple, one, large));
  const result = apply("mul", large, apply("sqrt", apply("add", one, apply("mul", ratio, ratio))));
  const anyInfinite = apply("or", apply("equal", x, infinite), apply("equal", y, infinite));
  return apply("select", anyInfinite, infinite, result) as NDArray<FloatPromoted<A, B>>;
}

function logaddTo(operation: string, base: number) {
  return <A extends ArrayInput, B extends ArrayInput>(a: A, b: B): NDArray<FloatPromoted<A, B>> => {
    const [x, y] = pair(operation, a, b, "float");
    const zero = constant(x, 0);
    const difference = apply("select", apply("equal", x, y), zero, apply("sub", x, y));
    const scale = constant(x, Math.log(base));
    const distance = apply("mul", apply("abs", difference), scale);
    const rest = apply("div", apply("log1p", apply("exp", apply("neg", distance))), scale);
    return apply("add", apply("max", x, y), rest) as NDArray<FloatPromoted<A, B>>;
  };
}

/** log(exp(a) + exp(b)) without overflow. */
export const logaddexp = logaddTo("logaddexp", Math.E);
/** log2(2^a + 2^b) without overflow. */
export const logaddexp2 = logaddTo("logaddexp2", 2);

function ignoringNaN(operation: string, op: "max" | "min"): Arithmetic {
  return <A extends ArrayInput, B extends ArrayInput>(a: A, b: B) => {
    const [x, y] = pair(operation, a, b, "any");
    const result = isFloating(x.dtype)
      ? apply("select", isnan(x), y, apply("select", isnan(y), x, apply(op, x, y)))
      : apply(op, x, y);
    return result as NDArray<Promoted<A, B>>;
  };
}

/** The greater one; a NaN counts as missing. */
export const fmax: Arithmetic = ignoringNaN("fmax", "max");
/** The lesser one; a NaN counts as missing. */
export const fmin: Arithmetic = ignoringNaN("fmin", "min");

/** x kept between bounds; a bound that is left out, or `null`, does not bind. */
export function clip(x: ArrayInput, low?: ArrayInput | null, high?: ArrayInput | null): NDArray {
  const raised: NDArray = low == null ? toArray("clip", "x", x) : maximum(x, low);
  return high == null ? raised : minimum(raised, high);
}

function comparison(
  operation: string,
  op: "equal" | "notEqual" | "less" | "lessEqual" | "greater" | "greaterEqual",
): Comparison {
  // Comparisons give bool.
  return (a, b) => apply(op, ...pair(operation, a, b, "any")) as NDArray<"bool">;
}

/** a = b. */
export const equal: Comparison = comparison("equal", "equal");
/** a ≠ b. */
export const notEqual: Comparison = comparison("notEqual", "notEqual");
/** a < b. */
export const less: Comparison = comparison("less", "less");
/** a ≤ b. */
export const lessEqual: Comparison = comparison("lessEqual", "lessEqual");
/** a > b. */
export const greater: Comparison = comparison("greater", "greater");
/** a ≥ b. */
export const greaterEqual: Comparison = comparison("greaterEqual", "greaterEqual");

function logical(operation: string, op: "and" | "or" | "xor"): Comparison {
  return (a, b) => {
    const [x, y] = align(operation, [truth(a), truth(b)]);
    return apply(op, ...([x, y] as [NDArray, NDArray])) as NDArray<"bool">;
  };
}

/** Both are true (not zero). */
export const logicalAnd: Comparison = logical("logicalAnd", "and");
/** At least one is true. */
export const logicalOr: Comparison = logical("logicalOr", "or");
/** Exactly one is true. */
export const logicalXor: Comparison = logical("logicalXor", "xor");

/**
 * The elements of a where the condition holds, else of b; all three broadcast. Both values are computed, so guard the
 * argument too where one of them has no finite value (`np.log(np.where(x > 0, x, 1))`).
 */
export function where<A extends ArrayInput, B extends ArrayInput>(
  condition: ArrayInput,
  a: A,
  b: B,
): NDArray<Promoted<A, B>> {
  const values = unify("where", ["a", "b"], [a, b], "any");
  const test = convertTo(toArray("where", "condition", condition), "bool");
  const aligned = align("where", [test, ...values]);
  return apply("select", ...aligned) as NDArray<Promoted<A, B>>;
}

/** The value of the first condition that holds, else the default. */
export function select(
  conditions: readonly ArrayInput[],
  values: readonly ArrayInput[],
  fallback: ArrayInput = 0,
): NDArray {
  if (conditions.length !== values.length || values.length === 0) {
    throw new ArgumentError({
      operation: "select",
      argument: "values",
      found: `${values.length} values for ${conditions.length} conditions`,
      expected: "one for each, and at least one",
    });
  }
  return conditions.reduceRight<NDArray | ArrayInput>(
    (rest, condition, i) => where(condition, at(values, i), rest),
    fallback,
  ) as NDArray;
}

/** 0 below zero, 1 above it, `atZero` at it. */
export function heaviside(x: ArrayInput, atZero: ArrayInput): NDArray {
  const [value, middle] = pair("heaviside", x, atZero, "float");
  const step = apply(
    "select",
    apply("less", value, constant(value, 0)),
    constant(value, 0),
    constant(value, 1),
  );
  const known = apply("select", apply("equal", value, constant(value, 0)), middle, step);
  return apply("select", isnan(value), value, known);
}

/** True where |a − b| ≤ atol + rtol |b|, or both are the same infinity. */
export function isclose(
  a: ArrayInput,
  b: ArrayInput,
  options: { readonly rtol?: number; readonly atol?: number; readonly equalNan?: boolean } = {},
): NDArray<"bool"> {
  const [x, y] = pair("isclose", a, b, "float");
  const tolerance = add(options.atol ?? 1e-8, multiply(options.rtol ?? 1e-5, apply("abs", y)));
  const near = logicalAnd(lessEqual(apply("abs", apply("sub", x, y)), tolerance), apply("isFinite", y));
  const result = logicalOr(near, equal(x, y));
  return options.equalNan === true ? logicalOr(result, logicalAnd(isnan(x), isnan(y))) : result;
}

/** The fractional and the integral part. */
export function modf(x: ArrayInput): [NDArray, NDArray] {
  const [value] = operands("modf", [x], "float") as [NDArray];
  const whole = trunc(value);
  return [apply("sub", value, whole), whole];
}
