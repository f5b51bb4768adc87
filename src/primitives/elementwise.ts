/**
 * Element-wise primitives: one scalar meaning applied at every position of operands that share a shape. (Broadcasting is
 * a primitive of its own, and free once fused.)
 */
import { at } from "../base/at.js";
import type { DType } from "../base/dtype.js";
import { isFloating, itemSize, requireDType } from "../base/dtype.js";
import { DTypeError, ShapeError } from "../base/errors.js";
import { formatShape, sameShape, sizeOf } from "../base/shape.js";
import type { Aval, NoParams, OpParams, ValueId } from "../ir/graph.js";
import type { ScalarOp } from "../ir/kernel.js";
import { applyScalar } from "../ir/kernel.js";
import type { Emitter } from "./emitter.js";
import { addTangents } from "./tangent.js";
import type { BatchRule, Cost, HostArray, JvpRule, Lowering, PrimitiveRow, TransposeRule } from "./row.js";
import { notLinear, zeroDerivative } from "./row.js";
import { convertScalar, scalarMeaning } from "./scalar.js";
import type { Sharding, ShardingRule } from "./sharding.js";
import { cutAlike } from "./sharding.js";

const floats: readonly DType[] = ["float64", "float32"];
const numbers: readonly DType[] = ["float64", "float32", "int32", "uint32"];
const every: readonly DType[] = ["float64", "float32", "int32", "uint32", "bool"];
const discrete: readonly DType[] = ["bool", "int32", "uint32"];

/** Repeats the operands that have no batch axis, so that all share one shape again. */
function alignBatch(
  b: Emitter,
  inputs: readonly ValueId[],
  batched: readonly boolean[],
  size: number,
): ValueId[] {
  return inputs.map((id, position) => {
    if (batched[position] === true) return id;
    const shape = b.shape(id);
    return b.broadcast(
      id,
      [size, ...shape],
      shape.map((_, axis) => axis + 1),
    );
  });
}

/** Every operand is cut as the result is. */
function cutTogether<P>(
  apply: (b: Emitter, inputs: readonly ValueId[], params: P) => ValueId,
): ShardingRule<P> {
  return ({ params, inputs, axis }): Sharding =>
    cutAlike(
      inputs.map(() => axis),
      (b, _block, parts) => apply(b, parts, params),
    );
}

/** Refuses operands of different shape or dtype. */
function requireSame(operation: string, inputs: readonly Aval[]): Aval {
  const first = at(inputs, 0);
  inputs.forEach((aval, position) => {
    if (!sameShape(aval.shape, first.shape)) {
      throw new ShapeError({
        operation,
        argument: `operand ${position}`,
        found: formatShape(aval.shape),
        expected: `${formatShape(first.shape)}, the shape of operand 0`,
        remedy: "broadcast it",
      });
    }
    if (aval.dtype !== first.dtype) {
      throw new DTypeError({
        operation,
        argument: `operand ${position}`,
        found: aval.dtype,
        expected: `${first.dtype}, the dtype of operand 0`,
        remedy: "convert one of them with .astype(...)",
      });
    }
  });
  return first;
}

function cost(weight: number) {
  return (inputs: readonly Aval[], output: Aval): Cost => ({
    flops: weight * sizeOf(output.shape),
    bytes: [...inputs, output].reduce((sum, aval) => sum + sizeOf(aval.shape) * itemSize(aval.dtype), 0),
  });
}

interface ElementwiseOptions {
  readonly arity: 1 | 2;
  readonly dtypes: readonly DType[];
  readonly result?: "bool";
  readonly jvp: JvpRule<NoParams> | typeof zeroDerivative;
  readonly transpose?: TransposeRule<NoParams>;
  /** Floating-point operations per element. */
  readonly weight?: number;
}

function elementwise(op: ScalarOp, options: ElementwiseOptions): PrimitiveRow<NoParams> {
  const batch: BatchRule<NoParams> = (b, { params, inputs, batched, size }) =>
    b.emit(op, alignBatch(b, inputs, batched, size), params);
  const lowering: Lowering<NoParams> = {
    kind: "element",
    element: ({ inputs, index, read }) =>
      applyScalar(op, ...inputs.map((_, operand) => read(operand, index))),
  };
  return {
    arity: options.arity,
    shape: (inputs) => {
      const { dtype, shape } = requireSame(op, inputs);
      requireDType(op, "operand 0", dtype, options.dtypes);
      return { dtype: options.result ?? dtype, shape };
    },
    jvp: options.jvp,
    transpose: options.transpose ?? notLinear,
    batch,
    sharding: cutTogether((b, inputs, params) => b.emit(op, inputs, params)),
    cost: cost(options.weight ?? 1),
    reference: (inputs, out) => {
      const x = at(inputs, 0);
      const meaning = scalarMeaning(op, x.dtype);
      if (meaning === undefined)
        throw new DTypeError({ operation: op, argument: "operand 0", found: x.dtype });
      const y = inputs[1] ?? x;
      for (let i = 0; i < out.data.length; i++) out.data[i] = meaning(at(x.data, i), at(y.data, i));
    },
    lowering,
  };
}

/** A function of one float; `slope(b, x, y)` emits its derivative from operand and result. */
function smooth(
  op: ScalarOp,
  slope: (b: Emitter, x: ValueId, y: ValueId) => ValueId,
  weight = 10,
): PrimitiveRow<NoParams> {
  return elementwise(op, {
    arity: 1,
    dtypes: floats,
    weight,
    jvp: (b, { primals, tangents, output }) => {
      const tangent = tangents[0] ?? null;
      return tangent === null ? null : b.apply("mul", tangent, slope(b, at(primals, 0), output));
    },
  });
}

const constantOf = (b: Emitter, like: ValueId, value: number): ValueId => b.like(like, value);
const square = (b: Emitter, x: ValueId): ValueId => b.apply("mul", x, x);
const reciprocal = (b: Emitter, x: ValueId): ValueId => b.apply("div", constantOf(b, x, 1), x);
const oneMinusSquare = (b: Emitter, x: ValueId): ValueId => b.apply("sub", constantOf(b, x, 1), square(b, x));

export const neg = elementwise("neg", {
  arity: 1,
  dtypes: numbers,
  jvp: (b, { tangents }) => {
    const tangent = tangents[0] ?? null;
    return tangent === null ? null : b.apply("neg", tangent);
  },
  transpose: (b, { cotangent }) => [b.apply("neg", cotangent)],
});
export const abs = elementwise("abs", {
  arity: 1,
  dtypes: numbers,
  jvp: (b, { primals, tangents }) => {
    const tangent = tangents[0] ?? null;
    return tangent === null ? null : b.apply("mul", tangent, b.apply("sign", at(primals, 0)));
  },
});
export const sign = elementwise("sign", { arity: 1, dtypes: numbers, jvp: zeroDerivative });
export const floor = elementwise("floor", { arity: 1, dtypes: floats, jvp: zeroDerivative });
export const ceil = elementwise("ceil", { arity: 1, dtypes: floats, jvp: zeroDerivative });
export const round = elementwise("round", { arity: 1, dtypes: floats, jvp: zeroDerivative });
export const not = elementwise("not", { arity: 1, dtypes: discrete, jvp: zeroDerivative });
export const isFinite = elementwise("isFinite", {
  arity: 1,
  dtypes: floats,
  result: "bool",
  jvp: zeroDerivative,
});

export const sqrt = smooth("sqrt", (b, _x, y) => b.apply("div", constantOf(b, y, 0.5), y), 4);
export const cbrt = smooth("cbrt", (b, _x, y) => b.apply("div", constantOf(b, y, 1 / 3), square(b, y)));
export const exp = smooth("exp", (_b, _x, y) => y);
export const expm1 = smooth("expm1", (b, _x, y) => b.apply("add", y, constantOf(b, y, 1)));
export const log = smooth("log", (b, x) => reciprocal(b, x));
export const log1p = smooth("log1p", (b, x) => reciprocal(b, b.apply("add", x, constantOf(b, x, 1))));
export const sin = smooth("sin", (b, x) => b.apply("cos", x));
export const cos = smooth("cos", (b, x) => b.apply("neg", b.apply("sin", x)));
export const tan = smooth("tan", (b, _x, y) => b.apply("add", constantOf(b, y, 1), square(b, y)));
export const asin = smooth("asin", (b, x) => reciprocal(b, b.apply("sqrt", oneMinusSquare(b, x))));
export const acos = smooth("acos", (b, x) =>
  b.apply("neg", reciprocal(b, b.apply("sqrt", oneMinusSquare(b, x)))),
);
export const atan = smooth("atan", (b, x) =>
  reciprocal(b, b.apply("add", constantOf(b, x, 1), square(b, x))),
);
export const sinh = smooth("sinh", (b, x) => b.apply("cosh", x));
export const cosh = smooth("cosh", (b, x) => b.apply("sinh", x));
export const tanh = smooth("tanh", (b, _x, y) => oneMinusSquare(b, y));
export const asinh = smooth("asinh", (b, x) =>
  reciprocal(b, b.apply("sqrt", b.apply("add", square(b, x), constantOf(b, x, 1)))),
);
// (x − 1)(x + 1) keeps its digits near 1, where x² − 1 loses them.
export const acosh = smooth("acosh", (b, x) => {
  const one = constantOf(b, x, 1);
  const product = b.apply(
    "mul",
    b.apply("sqrt", b.apply("sub", x, one)),
    b.apply("sqrt", b.apply("add", x, one)),
  );
  return reciprocal(b, product);
});
export const atanh = smooth("atanh", (b, x) => reciprocal(b, oneMinusSquare(b, x)));

export const add = elementwise("add", {
  arity: 2,
  dtypes: numbers,
  jvp: (b, { tangents }) => addTangents(b, tangents[0] ?? null, tangents[1] ?? null),
  transpose: (_b, { cotangent }) => [cotangent, cotangent],
});
export const sub = elementwise("sub", {
  arity: 2,
  dtypes: numbers,
  jvp: (b, { tangents }) => {
    const [first = null, second = null] = tangents;
    if (second === null) return first;
    return first === null ? b.apply("neg", second) : b.apply("sub", first, second);
  },
  transpose: (b, { cotangent, linear }) => [cotangent, linear[1] === true ? b.apply("neg", cotangent) : null],
});
export const mul = elementwise("mul", {
  arity: 2,
  dtypes: numbers,
  jvp: (b, { primals, tangents }) => {
    const [first = null, second = null] = tangents;
    return addTangents(
      b,
      first === null ? null : b.apply("mul", first, at(primals, 1)),
      second === null ? null : b.apply("mul", at(primals, 0), second),
    );
  },
  transpose: (b, { cotangent, inputs, linear }) => [
    linear[0] === true ? b.apply("mul", cotangent, at(inputs, 1)) : null,
    linear[1] === true ? b.apply("mul", at(inputs, 0), cotangent) : null,
  ],
});
export const div = elementwise("div", {
  arity: 2,
  dtypes: floats,
  weight: 4,
  jvp: (b, { primals, tangents, output }) => {
    const [first = null, second = null] = tangents;
    const divisor = at(primals, 1);
    const change = second === null ? null : b.apply("neg", b.apply("mul", output, second));
    const total = addTangents(b, first, change);
    return total === null ? null : b.apply("div", total, divisor);
  },
  transpose: (b, { cotangent, inputs, linear }) => [
    linear[0] === true ? b.apply("div", cotangent, at(inputs, 1)) : null,
    null,
  ],
});
export const floorDivide = elementwise("floorDivide", {
  arity: 2,
  dtypes: numbers,
  weight: 6,
  jvp: zeroDerivative,
});
export const remainder = elementwise("remainder", {
  arity: 2,
  dtypes: numbers,
  weight: 6,
  jvp: (b, { primals, tangents }) => {
    const [first = null, second = null] = tangents;
    if (second === null) return first;
    const quotient = b.apply("floor", b.apply("div", at(primals, 0), at(primals, 1)));
    return addTangents(b, first, b.apply("neg", b.apply("mul", quotient, second)));
  },
});
export const pow = elementwise("pow", {
  arity: 2,
  dtypes: numbers,
  weight: 20,
  jvp: (b, { primals, tangents, output }) => {
    const [base, exponent] = [at(primals, 0), at(primals, 1)];
    const [first = null, second = null] = tangents;
    const one = constantOf(b, base, 1);
    const zero = constantOf(b, base, 0);
    // d(x^y) = y x^(y−1) dx, which is 0 (not 0·∞) where y is 0, + x^y log(x) dy, which is 0 at x = 0.
    const slope = b.apply("mul", exponent, b.apply("pow", base, b.apply("sub", exponent, one)));
    const guarded = b.apply("select", b.apply("equal", exponent, zero), zero, slope);
    const isZero = b.apply("equal", base, zero);
    const logarithm = b.apply("log", b.apply("select", isZero, one, base));
    return addTangents(
      b,
      first === null ? null : b.apply("mul", first, guarded),
      second === null ? null : b.apply("mul", b.apply("mul", output, logarithm), second),
    );
  },
});
export const atan2 = elementwise("atan2", {
  arity: 2,
  dtypes: floats,
  weight: 15,
  jvp: (b, { primals, tangents }) => {
    const [y, x] = [at(primals, 0), at(primals, 1)];
    const [first = null, second = null] = tangents;
    const norm = b.apply("add", square(b, x), square(b, y));
    return addTangents(
      b,
      first === null ? null : b.apply("mul", first, b.apply("div", x, norm)),
      second === null ? null : b.apply("neg", b.apply("mul", second, b.apply("div", y, norm))),
    );
  },
});

/** At a tie both operands get half of the derivative. */
function extreme(op: "max" | "min"): PrimitiveRow<NoParams> {
  return elementwise(op, {
    arity: 2,
    dtypes: every,
    jvp: (b, { primals, tangents }) => {
      const [x, y] = [at(primals, 0), at(primals, 1)];
      const [first = null, second = null] = tangents;
      const wins = (winner: ValueId, loser: ValueId): ValueId => {
        const [one, half, zero] = [constantOf(b, x, 1), constantOf(b, x, 0.5), constantOf(b, x, 0)];
        const strictly = b.apply(op === "max" ? "greater" : "less", winner, loser);
        return b.apply("select", strictly, one, b.apply("select", b.apply("equal", x, y), half, zero));
      };
      return addTangents(
        b,
        first === null ? null : b.apply("mul", first, wins(x, y)),
        second === null ? null : b.apply("mul", second, wins(y, x)),
      );
    },
  });
}
export const max = extreme("max");
export const min = extreme("min");

const logical = (op: "and" | "or" | "xor"): PrimitiveRow<NoParams> =>
  elementwise(op, { arity: 2, dtypes: discrete, jvp: zeroDerivative });
export const and = logical("and");
export const or = logical("or");
export const xor = logical("xor");

const comparison = (
  op: "equal" | "notEqual" | "less" | "lessEqual" | "greater" | "greaterEqual",
): PrimitiveRow<NoParams> =>
  elementwise(op, { arity: 2, dtypes: every, result: "bool", jvp: zeroDerivative });
export const equal = comparison("equal");
export const notEqual = comparison("notEqual");
export const less = comparison("less");
export const lessEqual = comparison("lessEqual");
export const greater = comparison("greater");
export const greaterEqual = comparison("greaterEqual");

export const convert: PrimitiveRow<OpParams["convert"]> = {
  arity: 1,
  shape: (inputs, { dtype }) => ({ dtype, shape: at(inputs, 0).shape }),
  jvp: (b, { params, primals, tangents }) => {
    const tangent = tangents[0] ?? null;
    if (tangent === null || !isFloating(params.dtype) || !isFloating(b.aval(at(primals, 0)).dtype))
      return null;
    return b.emit("convert", [tangent], params);
  },
  transpose: (b, { cotangent, avals }) => [b.emit("convert", [cotangent], { dtype: at(avals, 0).dtype })],
  batch: (b, { params, inputs }) => b.emit("convert", inputs, params),
  sharding: cutTogether((b, inputs, params) => b.emit("convert", inputs, params)),
  cost: cost(1),
  reference: (inputs, out) => {
    const x = at(inputs, 0);
    for (let i = 0; i < out.data.length; i++) out.data[i] = convertScalar(at(x.data, i), x.dtype, out.dtype);
  },
  lowering: {
    kind: "element",
    element: ({ params, index, read }) => ({ kind: "convert", dtype: params.dtype, arg: read(0, index) }),
  },
};

export const stopGradient: PrimitiveRow<NoParams> = {
  arity: 1,
  shape: (inputs) => at(inputs, 0),
  jvp: zeroDerivative,
  transpose: notLinear,
  batch: (b, { inputs }) => b.apply("stopGradient", ...inputs),
  sharding: cutTogether((b, inputs) => b.apply("stopGradient", ...inputs)),
  cost: () => ({ flops: 0, bytes: 0 }),
  reference: (inputs, out) => out.data.set(at(inputs, 0).data),
  lowering: { kind: "element", element: ({ index, read }) => read(0, index) },
};

/** Where the condition is 0, its element of operand 2; else of operand 1. */
function selectReference(inputs: readonly HostArray[], out: HostArray): void {
  const [condition, yes, no] = [at(inputs, 0), at(inputs, 1), at(inputs, 2)];
  for (let i = 0; i < out.data.length; i++) {
    out.data[i] = at(condition.data, i) !== 0 ? at(yes.data, i) : at(no.data, i);
  }
}

export const select: PrimitiveRow<NoParams> = {
  arity: 3,
  shape: (inputs) => {
    const [condition, yes, no] = [at(inputs, 0), at(inputs, 1), at(inputs, 2)];
    requireDType("select", "condition", condition.dtype, ["bool"]);
    requireSame("select", [yes, no]);
    if (!sameShape(condition.shape, yes.shape)) {
      throw new ShapeError({
        operation: "select",
        argument: "condition",
        found: formatShape(condition.shape),
        expected: formatShape(yes.shape),
        remedy: "broadcast it",
      });
    }
    return yes;
  },
  jvp: (b, { primals, tangents, output }) => {
    const [yes, no] = [tangents[1] ?? b.like(output, 0), tangents[2] ?? b.like(output, 0)];
    return tangents[1] == null && tangents[2] == null ? null : b.apply("select", at(primals, 0), yes, no);
  },
  transpose: (b, { cotangent, inputs, linear }) => {
    const zero = b.like(cotangent, 0);
    return [
      null,
      linear[1] === true ? b.apply("select", at(inputs, 0), cotangent, zero) : null,
      linear[2] === true ? b.apply("select", at(inputs, 0), zero, cotangent) : null,
    ];
  },
  batch: (b, { inputs, batched, size }) => b.apply("select", ...alignBatch(b, inputs, batched, size)),
  sharding: cutTogether((b, inputs) => b.apply("select", ...inputs)),
  cost: cost(1),
  reference: selectReference,
  lowering: {
    kind: "element",
    element: ({ output, index, read }) => ({
      kind: "choose",
      dtype: output.dtype,
      when: read(0, index),
      then: read(1, index),
      otherwise: read(2, index),
    }),
  },
};
