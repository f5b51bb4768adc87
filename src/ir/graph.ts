/**
 * A traced function as data: typed, in static single assignment form and, once its constants have become inputs,
 * structured-cloneable, so that it crosses to a rank, is hashed and saved as it is. Values are numbered as they are defined.
 */
import type { DType } from "../base/dtype.js";
import type { Elements } from "../base/elements.js";
import type { Shape } from "../base/shape.js";
import { formatShape, sameShape } from "../base/shape.js";

/** The type of a value: what is known of it before the program runs ("abstract value"). */
export interface Aval {
  readonly dtype: DType;
  readonly shape: Shape;
}

/** Names a value inside one graph: its index into `Graph.avals`. */
export type ValueId = number;

/** Parameters of primitives that have none. */
export type NoParams = Readonly<Record<string, never>>;

/** The static parameters of every primitive, by name. Adding a primitive starts here; the table must then be total. */
export interface OpParams {
  // Creation: structure that is not materialised until it is read.
  fill: { readonly value: number; readonly dtype: DType; readonly shape: Shape };
  /** 0, 1, 2, ... along `axis`. */
  iota: { readonly dtype: DType; readonly shape: Shape; readonly axis: number };
  /** A matrix with ones where column = row + offset. */
  eye: { readonly dtype: DType; readonly rows: number; readonly columns: number; readonly offset: number };

  // Element-wise, one operand.
  neg: NoParams;
  abs: NoParams;
  sign: NoParams;
  floor: NoParams;
  ceil: NoParams;
  round: NoParams;
  sqrt: NoParams;
  cbrt: NoParams;
  exp: NoParams;
  expm1: NoParams;
  log: NoParams;
  log1p: NoParams;
  sin: NoParams;
  cos: NoParams;
  tan: NoParams;
  asin: NoParams;
  acos: NoParams;
  atan: NoParams;
  sinh: NoParams;
  cosh: NoParams;
  tanh: NoParams;
  asinh: NoParams;
  acosh: NoParams;
  atanh: NoParams;
  not: NoParams;
  isFinite: NoParams;
  convert: { readonly dtype: DType };
  /** The identity, with a zero derivative. */
  stopGradient: NoParams;

  // Element-wise, two operands of one dtype and shape.
  add: NoParams;
  sub: NoParams;
  mul: NoParams;
  div: NoParams;
  /** Floored division. */
  floorDivide: NoParams;
  /** The remainder with the divisor's sign. */
  remainder: NoParams;
  pow: NoParams;
  atan2: NoParams;
  max: NoParams;
  min: NoParams;
  and: NoParams;
  or: NoParams;
  xor: NoParams;
  equal: NoParams;
  notEqual: NoParams;
  less: NoParams;
  lessEqual: NoParams;
  greater: NoParams;
  greaterEqual: NoParams;

  /** Operands: condition, value where true, value where false. */
  select: NoParams;

  // Reductions over distinct, sorted axes, which disappear.
  reduceSum: { readonly axes: readonly number[] };
  reduceProd: { readonly axes: readonly number[] };
  reduceMax: { readonly axes: readonly number[] };
  reduceMin: { readonly axes: readonly number[] };
  /** The index of the first greatest element along one axis, as i32; a NaN counts as greatest. */
  argMax: { readonly axis: number };
  argMin: { readonly axis: number };

  /** Products summed over the indices that the output lacks: `"m k, k n -> m n"`. See `primitives/signature.ts`. */
  contract: { readonly signature: string };

  // Layout.
  /** Operand axis i becomes result axis `axes[i]` (increasing); the operand's extent there is the result's. */
  broadcast: { readonly shape: Shape; readonly axes: readonly number[] };
  reshape: { readonly shape: Shape };
  /** Result axis i is operand axis `permutation[i]`. */
  transpose: { readonly permutation: readonly number[] };
  /** Elements start, start + step, ... below limit; one entry per axis, step positive. */
  slice: {
    readonly start: readonly number[];
    readonly limit: readonly number[];
    readonly step: readonly number[];
  };
  /** Zeros around each axis, and `interior` zeros between neighbours. */
  pad: {
    readonly low: readonly number[];
    readonly high: readonly number[];
    readonly interior: readonly number[];
  };
  reverse: { readonly axes: readonly number[] };
  concatenate: { readonly axis: number };
  /** A square matrix with the operand, a vector, on its diagonal. */
  diag: NoParams;

  /** Operands x, indices (i32): the axis of x is replaced by the indices' shape. Indices are in range (NumPy's meaning of negative ones is resolved before); outside they are clamped. */
  gather: { readonly axis: number };
  /** Operands x, indices, updates: the transpose of gather; adds, in index order, into a copy of x; indices outside are dropped. */
  scatterAdd: { readonly axis: number };
}

/** The name of a primitive. */
export type OpName = keyof OpParams;

/** One application of a primitive. */
export type Equation = {
  readonly [K in OpName]: {
    readonly op: K;
    readonly params: OpParams[K];
    readonly inputs: readonly ValueId[];
    readonly outputs: readonly ValueId[];
  };
}[OpName];

/** An array that the traced function referred to. */
export interface GraphConstant {
  readonly id: ValueId;
  /** Row-major; the same object wherever the same array is meant. */
  readonly data: Elements;
}

/** A function of arrays as data. */
export interface Graph {
  /** The type of every value, by id. */
  readonly avals: readonly Aval[];
  readonly inputs: readonly ValueId[];
  readonly constants: readonly GraphConstant[];
  /** In an order in which every value is defined before it is used. */
  readonly equations: readonly Equation[];
  readonly outputs: readonly ValueId[];
}

const shortName: Readonly<Record<DType, string>> = {
  float64: "f64",
  float32: "f32",
  int32: "i32",
  uint32: "u32",
  bool: "bool",
};

/** A type as it is printed: `f64[15,40]`. */
export function formatAval(aval: Aval): string {
  return shortName[aval.dtype] + formatShape(aval.shape);
}

/** True if both have the same dtype and shape. */
export function sameAval(a: Aval, b: Aval): boolean {
  return a.dtype === b.dtype && sameShape(a.shape, b.shape);
}
