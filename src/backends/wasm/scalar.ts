/**
 * Scalar operations as WebAssembly: an instruction where one has exactly the reference's meaning, a short sequence where
 * a few have, and otherwise a call of the reference's own function. So every result agrees with the reference.
 */
import { at } from "../../base/at.js";
import type { DType } from "../../base/dtype.js";
import { isFloating } from "../../base/dtype.js";
import { DTypeError } from "../../base/errors.js";
import type { ScalarOp } from "../../ir/kernel.js";
import { scalarMeaning } from "../../primitives/scalar.js";
import type { Code, Local } from "./code.js";
import type { ValueType } from "./encoder.js";
import type { Instruction } from "./opcodes.js";

/** The type on the stack of each dtype. */
export const stackType = {
  float64: "f64",
  float32: "f32",
  int32: "i32",
  uint32: "i32",
  bool: "i32",
} as const satisfies Readonly<Record<DType, ValueType>>;

/** Functions of numbers that kernels call. Each has one or two f64 parameters and an f64 result. */
export class HostFunctions {
  readonly #list: {
    readonly name: string;
    readonly arity: number;
    readonly call: (a: number, b: number) => number;
  }[] = [];

  /** The index of the function that an operation means. */
  index(op: ScalarOp, dtype: DType, arity: number): number {
    const name = isFloating(dtype) ? op : `${op}.${dtype}`;
    const known = this.#list.findIndex((entry) => entry.name === name);
    if (known >= 0) return known;
    const call = transcendental[op] ?? scalarMeaning(op, dtype);
    if (call === undefined) throw new DTypeError({ operation: op, argument: "operand 0", found: dtype });
    this.#list.push({ name, arity, call });
    return this.#list.length - 1;
  }

  get list(): readonly {
    readonly name: string;
    readonly arity: number;
    readonly call: (a: number, b: number) => number;
  }[] {
    return this.#list;
  }
}

/** Where own implementations of transcendental functions replace the engine's; the reference must use them too. */
const transcendental: Partial<Record<ScalarOp, (a: number, b: number) => number>> = {};

type Sequences = Partial<Record<ScalarOp, readonly Instruction[]>>;

const integers: Sequences = {
  add: ["i32.add"],
  sub: ["i32.sub"],
  mul: ["i32.mul"],
  and: ["i32.and"],
  or: ["i32.or"],
  xor: ["i32.xor"],
  equal: ["i32.eq"],
  notEqual: ["i32.ne"],
};
const unsignedComparisons: Sequences = {
  less: ["i32.lt_u"],
  lessEqual: ["i32.le_u"],
  greater: ["i32.gt_u"],
  greaterEqual: ["i32.ge_u"],
};

/** Operations whose operands, pushed in order, are followed by fixed instructions. */
const sequences: Readonly<Record<DType, Sequences>> = {
  float64: {
    neg: ["f64.neg"],
    abs: ["f64.abs"],
    floor: ["f64.floor"],
    ceil: ["f64.ceil"],
    round: ["f64.nearest"],
    sqrt: ["f64.sqrt"],
    add: ["f64.add"],
    sub: ["f64.sub"],
    mul: ["f64.mul"],
    div: ["f64.div"],
    max: ["f64.max"],
    min: ["f64.min"],
    equal: ["f64.eq"],
    notEqual: ["f64.ne"],
    less: ["f64.lt"],
    lessEqual: ["f64.le"],
    greater: ["f64.gt"],
    greaterEqual: ["f64.ge"],
  },
  float32: {
    neg: ["f32.neg"],
    abs: ["f32.abs"],
    floor: ["f32.floor"],
    ceil: ["f32.ceil"],
    round: ["f32.nearest"],
    sqrt: ["f32.sqrt"],
    add: ["f32.add"],
    sub: ["f32.sub"],
    mul: ["f32.mul"],
    div: ["f32.div"],
    max: ["f32.max"],
    min: ["f32.min"],
    equal: ["f32.eq"],
    notEqual: ["f32.ne"],
    less: ["f32.lt"],
    lessEqual: ["f32.le"],
    greater: ["f32.gt"],
    greaterEqual: ["f32.ge"],
  },
  int32: {
    ...integers,
    less: ["i32.lt_s"],
    lessEqual: ["i32.le_s"],
    greater: ["i32.gt_s"],
    greaterEqual: ["i32.ge_s"],
  },
  uint32: { ...integers, ...unsignedComparisons, abs: [] },
  bool: {
    and: ["i32.and"],
    or: ["i32.or"],
    xor: ["i32.xor"],
    equal: ["i32.eq"],
    notEqual: ["i32.ne"],
    max: ["i32.or"],
    min: ["i32.and"],
    not: ["i32.eqz"],
    ...unsignedComparisons,
  },
};

/** The instructions that follow an operation's operands, if it is that simple. */
export function instructionsOf(op: ScalarOp, dtype: DType): readonly Instruction[] | undefined {
  return sequences[dtype][op];
}

/** Pushes ±1, or the operand itself where it is ±0 or NaN. */
function pushFloatSign(code: Code, x: Local, type: "f64" | "f32"): void {
  code[type](1);
  code.get(x);
  code.op(`${type}.copysign`);
  code.get(x);
  code.get(x);
  code.op(`${type}.abs`);
  code[type](0);
  code.op(`${type}.gt`, "select");
}

function pushNonZero(code: Code, b: Local): void {
  code.i32(1);
  code.get(b);
  code.get(b);
  code.op("i32.eqz", "select");
}

/** Pushes a / b or a mod b of integers as floored division has them; 0 where b is 0. */
function pushIntegerDivision(
  code: Code,
  op: "floorDivide" | "remainder",
  dtype: DType,
  a: Local,
  b: Local,
): void {
  if (dtype === "uint32") {
    if (op === "floorDivide") code.i32(0);
    code.get(a);
    pushNonZero(code, b);
    if (op === "remainder") {
      code.op("i32.rem_u");
      return;
    }
    code.op("i32.div_u");
    code.get(b);
    code.op("i32.eqz", "select");
    return;
  }
  if (op === "floorDivide") {
    // Exact: a quotient of 32-bit integers that is not an integer is further from one than f64 rounds.
    code.i32(0);
    code.get(a);
    code.op("f64.convert_i32_s");
    code.get(b);
    code.op("f64.convert_i32_s", "f64.div", "f64.floor", "i64.trunc_sat_f64_s", "i32.wrap_i64");
    code.get(b);
    code.op("i32.eqz", "select");
    return;
  }
  const rest = code.local("i32");
  code.get(a);
  pushNonZero(code, b);
  code.op("i32.rem_s");
  code.tee(rest);
  // The divisor is added where the remainder has the other sign.
  code.get(b);
  code.i32(0);
  code.get(rest);
  code.i32(0);
  code.op("i32.ne");
  code.get(rest);
  code.get(b);
  code.op("i32.xor");
  code.i32(0);
  code.op("i32.lt_s", "i32.and", "select", "i32.add");
}

/** Pushes an operation of operands in locals. */
export function pushOperation(
  code: Code,
  host: HostFunctions,
  op: ScalarOp,
  dtype: DType,
  args: readonly Local[],
): void {
  const a = at(args, 0);
  const b = args[1] ?? a;
  const type = stackType[dtype];
  if (type !== "i32") {
    if (op === "sign") return pushFloatSign(code, a, type);
    if (op === "isFinite") {
      code.get(a);
      code.op(`${type}.abs`);
      code[type](Infinity);
      return code.op(`${type}.lt`);
    }
  } else {
    switch (op) {
      case "floorDivide":
      case "remainder":
        return pushIntegerDivision(code, op, dtype, a, b);
      case "max":
      case "min": {
        const suffix = dtype === "uint32" ? "u" : "s";
        code.get(a);
        code.get(b);
        code.get(a);
        code.get(b);
        return code.op(op === "max" ? `i32.gt_${suffix}` : `i32.lt_${suffix}`, "select");
      }
      case "neg":
        code.i32(0);
        code.get(a);
        return code.op("i32.sub");
      case "not":
        code.get(a);
        code.i32(-1);
        return code.op("i32.xor");
      case "abs":
        code.get(a);
        code.i32(0);
        code.get(a);
        code.op("i32.sub");
        code.get(a);
        code.i32(0);
        return code.op("i32.ge_s", "select");
      case "sign":
        code.get(a);
        code.i32(0);
        code.op(dtype === "uint32" ? "i32.ne" : "i32.gt_s");
        if (dtype === "uint32") return;
        code.get(a);
        code.i32(0);
        return code.op("i32.lt_s", "i32.sub");
      default:
    }
  }
  const index = host.index(op, dtype, args.length);
  for (const arg of args) {
    code.get(arg);
    pushConversion(code, dtype, "float64");
  }
  code.call(index);
  if (dtype === "float32") code.op("f32.demote_f64");
  // The reference's store wraps whatever its functions of integers return.
  else if (dtype !== "float64") code.op("i64.trunc_sat_f64_s", "i32.wrap_i64");
}

/** Converts the value on top of the stack. */
export function pushConversion(code: Code, from: DType, to: DType): void {
  if (from === to) return;
  switch (to) {
    case "float64":
      if (from === "float32") code.op("f64.promote_f32");
      else code.op(from === "int32" ? "f64.convert_i32_s" : "f64.convert_i32_u");
      return;
    case "float32":
      if (from === "float64") code.op("f32.demote_f64");
      else code.op(from === "int32" ? "f32.convert_i32_s" : "f32.convert_i32_u");
      return;
    case "int32":
      if (from === "float64") code.op("i32.trunc_sat_f64_s");
      else if (from === "float32") code.op("i32.trunc_sat_f32_s");
      return;
    case "uint32":
      if (from === "float64") code.op("i32.trunc_sat_f64_u");
      else if (from === "float32") code.op("i32.trunc_sat_f32_u");
      return;
    case "bool":
      if (from === "float64") {
        code.f64(0);
        code.op("f64.ne");
      } else if (from === "float32") {
        code.f32(0);
        code.op("f32.ne");
      } else {
        code.i32(0);
        code.op("i32.ne");
      }
  }
}

/** Pushes a constant. */
export function pushConstant(code: Code, dtype: DType, value: number): void {
  if (dtype === "float64") code.f64(value);
  else if (dtype === "float32") code.f32(value);
  else code.i32(value);
}

const loads = {
  float64: "f64.load",
  float32: "f32.load",
  int32: "i32.load",
  uint32: "i32.load",
  bool: "i32.load8_u",
} as const satisfies Readonly<Record<DType, Instruction>>;
const stores = {
  float64: "f64.store",
  float32: "f32.store",
  int32: "i32.store",
  uint32: "i32.store",
  bool: "i32.store8",
} as const satisfies Readonly<Record<DType, Instruction>>;
const alignments: Readonly<Record<DType, number>> = { float64: 3, float32: 2, int32: 2, uint32: 2, bool: 0 };

/** Loads from the address on the stack plus `offset` bytes. */
export function pushLoad(code: Code, dtype: DType, offset: number): void {
  code.memory(loads[dtype], alignments[dtype], offset);
}

/** Stores the value on the stack to the address below it plus `offset` bytes. */
export function pushStore(code: Code, dtype: DType, offset: number): void {
  code.memory(stores[dtype], alignments[dtype], offset);
}
