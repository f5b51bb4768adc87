/**
 * The meaning of every scalar operation on numbers: NumPy's, over five dtypes. The reference backend applies these
 * functions directly; other backends either have an instruction with the same meaning or call them.
 */
import type { DType } from "../base/dtype.js";
import type { ScalarOp } from "../ir/kernel.js";

/** Rounds half to even. */
export function roundHalfEven(x: number): number {
  if (!(Math.abs(x) < 4503599627370496)) return x;
  const floor = Math.floor(x);
  const rest = x - floor;
  const result = rest < 0.5 || (rest === 0.5 && floor % 2 === 0) ? floor : floor + 1;
  return result === 0 ? (x < 0 || Object.is(x, -0) ? -0 : 0) : result;
}

/** The remainder with the sign of the divisor. */
export function remainder(a: number, b: number): number {
  const rest = a % b;
  if (rest === 0) return b < 0 || Object.is(b, -0) ? -0 : 0;
  return rest < 0 !== b < 0 ? rest + b : rest;
}

/** Floored division that is consistent with `remainder`. */
export function floorDivide(a: number, b: number): number {
  if (b === 0) return a / b;
  const rest = a % b;
  let quotient = (a - rest) / b;
  if (rest !== 0 && b < 0 !== rest < 0) quotient -= 1;
  if (quotient === 0) return Object.is(a / b, -0) || a / b < 0 ? -0 : 0;
  const floor = Math.floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

/** a to the power b as IEEE 754 has it: `pow(1, NaN)` and `pow(-1, ±∞)` are 1. */
export function pow(a: number, b: number): number {
  if (a === 1 || b === 0) return 1;
  if (a === -1 && (b === Infinity || b === -Infinity)) return 1;
  return Math.pow(a, b);
}

/** Functions of floating-point numbers; f32 rounds the f64 result. */
export const floatMeaning = {
  neg: (a: number) => -a,
  abs: Math.abs,
  sign: Math.sign,
  floor: Math.floor,
  ceil: Math.ceil,
  round: roundHalfEven,
  sqrt: Math.sqrt,
  cbrt: Math.cbrt,
  exp: Math.exp,
  expm1: Math.expm1,
  log: Math.log,
  log1p: Math.log1p,
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  asin: Math.asin,
  acos: Math.acos,
  atan: Math.atan,
  sinh: Math.sinh,
  cosh: Math.cosh,
  tanh: Math.tanh,
  asinh: Math.asinh,
  acosh: Math.acosh,
  atanh: Math.atanh,
  isFinite: (a: number) => (Number.isFinite(a) ? 1 : 0),
  add: (a: number, b: number) => a + b,
  sub: (a: number, b: number) => a - b,
  mul: (a: number, b: number) => a * b,
  div: (a: number, b: number) => a / b,
  floorDivide,
  remainder,
  pow,
  atan2: Math.atan2,
  max: (a: number, b: number) => Math.max(a, b),
  min: (a: number, b: number) => Math.min(a, b),
} as const satisfies Partial<Record<ScalarOp, (a: number, b: number) => number>>;

/** Powers of integers by squaring, wrapping; a negative exponent gives the truncated quotient. */
function integerPow(a: number, b: number): number {
  if (b < 0) return a === 1 ? 1 : a === -1 ? (b % 2 === 0 ? 1 : -1) : 0;
  let result = 1;
  let base = a;
  for (let rest = b; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) result = Math.imul(result, base);
    base = Math.imul(base, base);
  }
  return result;
}

/** Functions of integers; the store wraps. Division by zero gives 0, as NumPy's does. */
const integerMeaning: Partial<Record<ScalarOp, (a: number, b: number) => number>> = {
  neg: (a) => -a,
  abs: Math.abs,
  sign: Math.sign,
  not: (a) => ~a,
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: Math.imul,
  floorDivide: (a, b) => (b === 0 ? 0 : Math.floor(a / b)),
  remainder: (a, b) => (b === 0 ? 0 : remainder(a, b)),
  pow: integerPow,
  max: Math.max,
  min: Math.min,
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
};

const boolMeaning: Partial<Record<ScalarOp, (a: number, b: number) => number>> = {
  not: (a) => 1 - a,
  max: Math.max,
  min: Math.min,
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
};

const comparisons: Partial<Record<ScalarOp, (a: number, b: number) => number>> = {
  equal: (a, b) => (a === b ? 1 : 0),
  notEqual: (a, b) => (a !== b ? 1 : 0),
  less: (a, b) => (a < b ? 1 : 0),
  lessEqual: (a, b) => (a <= b ? 1 : 0),
  greater: (a, b) => (a > b ? 1 : 0),
  greaterEqual: (a, b) => (a >= b ? 1 : 0),
};

const byDType: Readonly<Record<DType, Partial<Record<ScalarOp, (a: number, b: number) => number>>>> = {
  float64: { ...floatMeaning, ...comparisons },
  float32: { ...floatMeaning, ...comparisons },
  int32: { ...integerMeaning, ...comparisons },
  uint32: { ...integerMeaning, ...comparisons },
  bool: { ...boolMeaning, ...comparisons },
};

/** The function that `op` means on operands of `dtype`, or `undefined` where it has no meaning. */
export function scalarMeaning(op: ScalarOp, dtype: DType): ((a: number, b: number) => number) | undefined {
  return byDType[dtype][op];
}

/** `value` of dtype `from` as `to`: floats to integers truncate and saturate, NaN is 0; integers wrap. */
export function convertScalar(value: number, from: DType, to: DType): number {
  switch (to) {
    case "float64":
      return value;
    case "float32":
      return Math.fround(value);
    case "bool":
      return value !== 0 ? 1 : 0;
    case "int32":
      if (from !== "float64" && from !== "float32") return value | 0;
      return Number.isNaN(value) ? 0 : Math.max(-2147483648, Math.min(2147483647, Math.trunc(value)));
    case "uint32":
      if (from !== "float64" && from !== "float32") return value >>> 0;
      return Number.isNaN(value) ? 0 : Math.max(0, Math.min(4294967295, Math.trunc(value)));
  }
}
