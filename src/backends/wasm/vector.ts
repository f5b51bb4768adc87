/**
 * Operations on 128-bit vectors: two f64 or four 32-bit numbers at once; a bool is a mask of all ones or zeros as wide as
 * the numbers beside it. Each has lane by lane the scalar instruction's meaning, so that vectorizing changes no bit.
 */
import type { DType } from "../../base/dtype.js";
import type { Scalar, ScalarOp } from "../../ir/kernel.js";
import type { Combine } from "../lower/program.js";
import { operandsOf } from "../lower/program.js";
import type { Code } from "./code.js";
import type { Instruction } from "./opcodes.js";

/** How many numbers a vector holds. */
export type Lanes = 2 | 4;

type Sequences = Partial<Record<ScalarOp, readonly Instruction[]>>;

const integers: Sequences = {
  neg: ["i32x4.neg"],
  add: ["i32x4.add"],
  sub: ["i32x4.sub"],
  mul: ["i32x4.mul"],
  and: ["v128.and"],
  or: ["v128.or"],
  xor: ["v128.xor"],
  not: ["v128.not"],
  equal: ["i32x4.eq"],
  notEqual: ["i32x4.ne"],
};

const sequences: Readonly<Record<DType, Sequences>> = {
  float64: {
    neg: ["f64x2.neg"],
    abs: ["f64x2.abs"],
    floor: ["f64x2.floor"],
    ceil: ["f64x2.ceil"],
    round: ["f64x2.nearest"],
    sqrt: ["f64x2.sqrt"],
    add: ["f64x2.add"],
    sub: ["f64x2.sub"],
    mul: ["f64x2.mul"],
    div: ["f64x2.div"],
    max: ["f64x2.max"],
    min: ["f64x2.min"],
    equal: ["f64x2.eq"],
    notEqual: ["f64x2.ne"],
    less: ["f64x2.lt"],
    lessEqual: ["f64x2.le"],
    greater: ["f64x2.gt"],
    greaterEqual: ["f64x2.ge"],
  },
  float32: {
    neg: ["f32x4.neg"],
    abs: ["f32x4.abs"],
    floor: ["f32x4.floor"],
    ceil: ["f32x4.ceil"],
    round: ["f32x4.nearest"],
    sqrt: ["f32x4.sqrt"],
    add: ["f32x4.add"],
    sub: ["f32x4.sub"],
    mul: ["f32x4.mul"],
    div: ["f32x4.div"],
    max: ["f32x4.max"],
    min: ["f32x4.min"],
    equal: ["f32x4.eq"],
    notEqual: ["f32x4.ne"],
    less: ["f32x4.lt"],
    lessEqual: ["f32x4.le"],
    greater: ["f32x4.gt"],
    greaterEqual: ["f32x4.ge"],
  },
  int32: {
    ...integers,
    abs: ["i32x4.abs"],
    max: ["i32x4.max_s"],
    min: ["i32x4.min_s"],
    less: ["i32x4.lt_s"],
    lessEqual: ["i32x4.le_s"],
    greater: ["i32x4.gt_s"],
    greaterEqual: ["i32x4.ge_s"],
  },
  uint32: {
    ...integers,
    abs: [],
    max: ["i32x4.max_u"],
    min: ["i32x4.min_u"],
    less: ["i32x4.lt_u"],
    lessEqual: ["i32x4.le_u"],
    greater: ["i32x4.gt_u"],
    greaterEqual: ["i32x4.ge_u"],
  },
  bool: {
    and: ["v128.and"],
    or: ["v128.or"],
    xor: ["v128.xor"],
    notEqual: ["v128.xor"],
    equal: ["v128.xor", "v128.not"],
    max: ["v128.or"],
    min: ["v128.and"],
    not: ["v128.not"],
  },
};

/** The vector instructions that follow the operands, if the operation has them. */
export function vectorInstructionsOf(op: ScalarOp, dtype: DType): readonly Instruction[] | undefined {
  return sequences[dtype][op];
}

/** The vector instruction that combines two partial reductions, if there is one. */
export function combineInstructions(combine: Combine, dtype: DType): readonly Instruction[] | undefined {
  return sequences[dtype][combine];
}

const conversions: Readonly<Record<string, readonly Instruction[]>> = {
  "int32>float32": ["f32x4.convert_i32x4_s"],
  "uint32>float32": ["f32x4.convert_i32x4_u"],
  "float32>int32": ["i32x4.trunc_sat_f32x4_s"],
  "float32>uint32": ["i32x4.trunc_sat_f32x4_u"],
  "int32>uint32": [],
  "uint32>int32": [],
};

/** Converts the vector on the stack; only conversions that `vectorLanes` accepts. */
export function pushVectorConversion(code: Code, from: DType, to: DType): void {
  if (from === to) return;
  code.op(...(conversions[`${from}>${to}`] ?? []));
}

/** Repeats the number on the stack in every lane; a bool becomes a mask. */
export function pushSplat(code: Code, dtype: DType): void {
  if (dtype === "float64") code.op("f64x2.splat");
  else if (dtype === "float32") code.op("f32x4.splat");
  else if (dtype === "bool") {
    const truth = code.local("i32");
    code.set(truth);
    code.i32(0);
    code.get(truth);
    code.op("i32.sub", "i32x4.splat");
  } else code.op("i32x4.splat");
}

const width: Readonly<Record<DType, Lanes | 0>> = { float64: 2, float32: 4, int32: 4, uint32: 4, bool: 0 };

/**
 * The number of lanes with which expressions can be evaluated along an index, or `null` if they cannot. `varies` says
 * whether an expression depends on the index; `loadable` whether a load of a varying address is contiguous along it.
 */
export function vectorLanes(
  roots: Iterable<Scalar>,
  varies: (value: Scalar) => boolean,
  loadable: (load: Extract<Scalar, { kind: "load" }>) => boolean,
): Lanes | null {
  const found = new Set<Lanes>();
  const seen = new Set<Scalar>();
  const accept = (dtype: DType): boolean => {
    const own = width[dtype];
    if (own !== 0) found.add(own);
    return found.size <= 1;
  };
  const visit = (value: Scalar): boolean => {
    if (seen.has(value)) return true;
    seen.add(value);
    if (!accept(value.dtype)) return false;
    if (!varies(value)) return true;
    switch (value.kind) {
      case "const":
        return true;
      case "load":
        return value.dtype !== "bool" && loadable(value);
      case "apply": {
        const operand = value.args[0]?.dtype ?? value.dtype;
        if (vectorInstructionsOf(value.op, operand) === undefined) return false;
        break;
      }
      case "convert":
        if (
          value.arg.dtype !== value.dtype &&
          conversions[`${value.arg.dtype}>${value.dtype}`] === undefined
        ) {
          return false;
        }
        break;
      case "choose":
        break;
      case "fromIndex":
      case "indexLess":
      case "indexEqual":
      case "local":
        return false;
    }
    return operandsOf(value).every(visit);
  };
  for (const root of roots) if (!visit(root)) return null;
  return [...found][0] ?? null;
}
