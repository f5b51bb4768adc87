/**
 * Samples of every primitive: operand types, a domain to draw values from, and parameters. The table is total, so that a
 * primitive without a sample does not compile.
 */
import type { DType } from "#heddle/base/dtype";
import type { NoParams, OpName, OpParams } from "#heddle/ir/graph";

/** One operand: its type and the interval that its values are drawn from. */
export interface SampleOperand {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly low: number;
  readonly high: number;
}

/** One application of a primitive. */
export interface Sample<P> {
  readonly inputs: readonly SampleOperand[];
  readonly params: P;
}

const operand = (shape: readonly number[], low = -2, high = 2, dtype: DType = "float64"): SampleOperand => ({
  dtype,
  shape,
  low,
  high,
});
const unary = (low = -2, high = 2, dtype: DType = "float64"): readonly Sample<NoParams>[] => [
  { inputs: [operand([3, 2], low, high, dtype)], params: {} },
  { inputs: [operand([], low, high, dtype)], params: {} },
];
const binary = (low = -2, high = 2, dtype: DType = "float64"): readonly Sample<NoParams>[] => [
  { inputs: [operand([2, 3], low, high, dtype), operand([2, 3], low, high, dtype)], params: {} },
  { inputs: [operand([0], low, high, dtype), operand([0], low, high, dtype)], params: {} },
];
const allNumbers = [
  ...binary(),
  ...binary(-2, 2, "float32"),
  ...binary(-9, 9, "int32"),
  ...binary(0, 9, "uint32"),
];
const discrete = [...binary(0, 2, "bool"), ...binary(-9, 9, "int32"), ...binary(0, 9, "uint32")];
const reductions = [
  { inputs: [operand([3, 2, 4])], params: { axes: [1] } },
  { inputs: [operand([3, 2, 4])], params: { axes: [0, 2] } },
  { inputs: [operand([5])], params: { axes: [0] } },
  { inputs: [operand([2, 3], -9, 9, "int32")], params: { axes: [0] } },
  { inputs: [operand([2, 3], 0, 9, "uint32")], params: { axes: [1] } },
  { inputs: [operand([2, 3], -2, 2, "float32")], params: { axes: [0, 1] } },
];

/** Samples by primitive. */
export const samples: { readonly [K in OpName]: readonly Sample<OpParams[K]>[] } = {
  fill: [{ inputs: [], params: { value: 2.5, dtype: "float64", shape: [2, 3] } }],
  iota: [
    { inputs: [], params: { dtype: "int32", shape: [2, 3], axis: 1 } },
    { inputs: [], params: { dtype: "float64", shape: [3, 2], axis: 0 } },
  ],
  eye: [
    { inputs: [], params: { dtype: "float64", rows: 3, columns: 4, offset: 1 } },
    { inputs: [], params: { dtype: "float64", rows: 4, columns: 2, offset: -1 } },
    { inputs: [], params: { dtype: "bool", rows: 2, columns: 2, offset: 5 } },
  ],
  neg: [...unary(), ...unary(-9, 9, "int32")],
  abs: [...unary(), ...unary(-9, 9, "int32")],
  sign: [...unary(), ...unary(-9, 9, "int32")],
  floor: unary(),
  ceil: unary(),
  round: unary(),
  sqrt: unary(0.1, 4),
  cbrt: unary(0.1, 4),
  exp: unary(),
  expm1: unary(),
  log: unary(0.1, 4),
  log1p: unary(-0.8, 3),
  sin: unary(),
  cos: unary(),
  tan: unary(-1.2, 1.2),
  asin: unary(-0.9, 0.9),
  acos: unary(-0.9, 0.9),
  atan: unary(),
  sinh: unary(),
  cosh: unary(),
  tanh: [...unary(), ...unary(-2, 2, "float32")],
  asinh: unary(),
  acosh: unary(1.2, 4),
  atanh: unary(-0.9, 0.9),
  not: [...unary(0, 2, "bool"), ...unary(-9, 9, "int32")],
  isFinite: unary(),
  convert: [
    { inputs: [operand([2, 2])], params: { dtype: "float32" } },
    { inputs: [operand([2, 2])], params: { dtype: "float64" } },
    { inputs: [operand([4], -9, 9)], params: { dtype: "int32" } },
    { inputs: [operand([4], -9, 9, "int32")], params: { dtype: "uint32" } },
    { inputs: [operand([4], -2, 2, "int32")], params: { dtype: "bool" } },
    { inputs: [operand([4], 0, 2, "bool")], params: { dtype: "float64" } },
  ],
  stopGradient: unary(),
  add: allNumbers,
  sub: allNumbers,
  mul: allNumbers,
  div: binary(0.5, 3),
  floorDivide: [...binary(0.5, 3), ...binary(-9, 9, "int32")],
  remainder: [...binary(0.5, 3), ...binary(-9, 9, "int32")],
  pow: [...binary(0.3, 3), ...binary(0, 4, "int32")],
  atan2: binary(),
  max: [...allNumbers, ...binary(0, 2, "bool")],
  min: [...allNumbers, ...binary(0, 2, "bool")],
  and: discrete,
  or: discrete,
  xor: discrete,
  equal: [...allNumbers, ...discrete],
  notEqual: [...allNumbers, ...discrete],
  less: [...allNumbers, ...discrete],
  lessEqual: [...allNumbers, ...discrete],
  greater: [...allNumbers, ...discrete],
  greaterEqual: [...allNumbers, ...discrete],
  select: [
    { inputs: [operand([2, 3], 0, 2, "bool"), operand([2, 3]), operand([2, 3])], params: {} },
    {
      inputs: [operand([3], 0, 2, "bool"), operand([3], -9, 9, "int32"), operand([3], -9, 9, "int32")],
      params: {},
    },
  ],
  reduceSum: reductions,
  reduceProd: reductions,
  reduceMax: [...reductions, { inputs: [operand([2, 3], 0, 2, "bool")], params: { axes: [1] } }],
  reduceMin: [...reductions, { inputs: [operand([2, 3], 0, 2, "bool")], params: { axes: [0] } }],
  argMax: [
    { inputs: [operand([3, 4])], params: { axis: 0 } },
    { inputs: [operand([2, 3], -9, 9, "int32")], params: { axis: 1 } },
  ],
  argMin: [{ inputs: [operand([3, 4])], params: { axis: 1 } }],
  contract: [
    { inputs: [operand([2, 3]), operand([3, 4])], params: { signature: "m k, k n -> m n" } },
    { inputs: [operand([5, 3]), operand([3])], params: { signature: "m k, k -> m" } },
    { inputs: [operand([3]), operand([3])], params: { signature: "k, k -> " } },
    { inputs: [operand([2]), operand([3])], params: { signature: "m, n -> n m" } },
    { inputs: [operand([2, 3, 4]), operand([4, 2])], params: { signature: "b m k, k b -> b m" } },
    {
      inputs: [operand([2, 3], -9, 9, "int32"), operand([3, 2], -9, 9, "int32")],
      params: { signature: "m k, k n -> n m" },
    },
    { inputs: [operand([2, 0]), operand([0, 3])], params: { signature: "m k, k n -> m n" } },
  ],
  broadcast: [
    { inputs: [operand([3])], params: { shape: [2, 3, 4], axes: [1] } },
    { inputs: [operand([])], params: { shape: [2, 2], axes: [] } },
    { inputs: [operand([2, 3])], params: { shape: [2, 3], axes: [0, 1] } },
  ],
  reshape: [
    { inputs: [operand([2, 6])], params: { shape: [3, 4] } },
    { inputs: [operand([4])], params: { shape: [2, 1, 2] } },
  ],
  transpose: [
    { inputs: [operand([2, 3, 4])], params: { permutation: [2, 0, 1] } },
    { inputs: [operand([2, 3])], params: { permutation: [1, 0] } },
  ],
  slice: [
    { inputs: [operand([6, 5])], params: { start: [1, 0], limit: [6, 5], step: [2, 3] } },
    { inputs: [operand([4])], params: { start: [2], limit: [2], step: [1] } },
    { inputs: [operand([7])], params: { start: [3], limit: [7], step: [1] } },
  ],
  pad: [
    { inputs: [operand([2, 3])], params: { low: [1, 0], high: [0, 2], interior: [0, 0] } },
    { inputs: [operand([3])], params: { low: [2], high: [1], interior: [2] } },
  ],
  reverse: [{ inputs: [operand([2, 3, 2])], params: { axes: [0, 2] } }],
  concatenate: [
    { inputs: [operand([2, 3]), operand([2, 1]), operand([2, 2])], params: { axis: 1 } },
    { inputs: [operand([1]), operand([3])], params: { axis: 0 } },
  ],
  diag: [{ inputs: [operand([4])], params: {} }],
  gather: [
    { inputs: [operand([5, 3]), operand([4], 0, 4.99, "int32")], params: { axis: 0 } },
    { inputs: [operand([2, 5, 3]), operand([2, 2], -2, 7, "int32")], params: { axis: 1 } },
  ],
  scatterAdd: [
    { inputs: [operand([5, 3]), operand([4], 0, 4.99, "int32"), operand([4, 3])], params: { axis: 0 } },
    {
      inputs: [operand([2, 5, 3]), operand([2, 2], -2, 7, "int32"), operand([2, 2, 2, 3])],
      params: { axis: 1 },
    },
  ],
};
