/**
 * Reductions into one number: plain loops, or several vectors of partial results along a contiguous axis, combined in a
 * fixed order, so that the bits depend on extents only.
 */
import { at, last } from "../../base/at.js";
import type { DType } from "../../base/dtype.js";
import type { Combine, Loop, Statement } from "../lower/program.js";
import type { ReductionForm } from "../lower/reduction.js";
import type { Code, Local } from "./code.js";
import type { Emitter } from "./emitter.js";
import { isContiguous } from "./emitter.js";
import { vectorLane } from "./lane.js";
import { instructionsOf, pushConstant, pushConversion, stackType } from "./scalar.js";
import type { Bound } from "./scope.js";
import type { Lanes } from "./vector.js";
import { combineInstructions, pushSplat, vectorLanes } from "./vector.js";

type Reduce = Extract<Statement, { kind: "reduce" }>;

/** True if the result depends on the order of the terms. */
function rounds({ dtype, combine }: Pick<Reduce, "dtype" | "combine">): boolean {
  return (dtype === "float64" || dtype === "float32") && (combine === "add" || combine === "mul");
}

/** True if partial results must be kept apart as lanes keep them; axes of extent 1 have no loops. */
function turns(statement: Pick<Reduce, "dtype" | "combine" | "order" | "loops">): boolean {
  return statement.order === "lanes" && rounds(statement) && statement.loops.length > 0;
}

/** The dtype in which partial results of lanes are combined: long f32 sums keep counting in f64. */
function accumulatorOf(statement: Pick<Reduce, "dtype" | "combine" | "order">): DType {
  const widens = statement.order === "lanes" && rounds(statement);
  return statement.dtype === "float32" && widens ? "float64" : statement.dtype;
}

/** Combines the two numbers on the stack. */
export function pushCombine(code: Code, combine: Combine, dtype: DType): void {
  const instructions = instructionsOf(combine, dtype);
  if (instructions !== undefined) return code.op(...instructions);
  const [a, b] = [code.local("i32"), code.local("i32")];
  code.set(b);
  code.tee(a);
  code.get(b);
  code.get(a);
  code.get(b);
  const order = combine === "max" ? "gt" : "lt";
  code.op(dtype === "uint32" ? `i32.${order}_u` : `i32.${order}_s`, "select");
}

/** Nests loops around a body. */
function nest(emitter: Emitter, loops: readonly Loop[], body: () => void): void {
  const [loop, ...rest] = loops;
  if (loop === undefined) return body();
  const extent = emitter.bound(loop.extent);
  emitter.loop(loop.index, { constant: 0 }, extent, 1, new Set(), () => nest(emitter, rest, body));
}

/** Defines the local of a reduction. */
export function pushReduction(emitter: Emitter, statement: Reduce, form: ReductionForm): void {
  const { code } = emitter;
  const wide = accumulatorOf(statement);
  const total = code.local(stackType[wide]);
  pushConstant(code, wide, statement.identity);
  code.set(total);
  const lanes = form.kind === "dot" ? lanesAlong(emitter, statement) : null;
  if (lanes !== null) pushDot(emitter, statement, lanes, wide, total);
  else if (turns(statement)) pushPartials(emitter, statement, wide, total);
  else nest(emitter, statement.loops, () => accumulate(emitter, statement, wide, total));
  if (wide === statement.dtype) return emitter.define(statement.local, statement.dtype, total);
  const result = code.local(stackType[statement.dtype]);
  code.get(total);
  pushConversion(code, wide, statement.dtype);
  code.set(result);
  emitter.define(statement.local, statement.dtype, result);
}

function accumulate(emitter: Emitter, statement: Reduce, wide: DType, total: Local): void {
  const { code } = emitter;
  code.get(total);
  emitter.push(statement.value);
  pushConversion(code, statement.dtype, wide);
  pushCombine(code, statement.combine, wide);
  code.set(total);
}

/** What `pushDot` computes, one term at a time: for terms that no vector can hold. */
function pushPartials(emitter: Emitter, statement: Reduce, wide: DType, total: Local): void {
  const { code } = emitter;
  const { dtype, combine } = statement;
  const k = last(statement.loops);
  const lanes: Lanes = dtype === "float64" ? 2 : 4;
  const sums = Array.from({ length: partials * lanes }, () => code.local(stackType[dtype]));
  for (const sum of sums) {
    pushConstant(code, dtype, statement.identity);
    code.set(sum);
  }
  // The partial result in turn is the first; each takes its place behind the others.
  const rotate = (from: Bound, to: Bound, count: number): void => {
    const turning = sums.slice(0, count);
    const next = code.local(stackType[dtype]);
    emitter.loop(k.index, from, to, 1, new Set(), () => {
      code.get(at(turning, 0));
      emitter.push(statement.value);
      pushCombine(code, combine, dtype);
      code.set(next);
      turning.forEach((sum, position) => {
        code.get(turning[position + 1] ?? next);
        code.set(sum);
      });
    });
  };
  nest(emitter, statement.loops.slice(0, -1), () => {
    const extent = emitter.bound(k.extent);
    const blocks = emitter.roundDown(extent, partials * lanes);
    const whole = emitter.roundDown(extent, lanes);
    rotate({ constant: 0 }, blocks, partials * lanes);
    rotate(blocks, whole, lanes);
    emitter.loop(k.index, whole, extent, 1, new Set(), () => accumulate(emitter, statement, wide, total));
  });
  for (let stride = partials / 2; stride >= 1; stride /= 2) {
    for (let i = 0; i < stride * lanes; i++) {
      code.get(at(sums, i));
      code.get(at(sums, i + stride * lanes));
      pushCombine(code, combine, dtype);
      code.set(at(sums, i));
    }
  }
  for (let lane = 0; lane < lanes; lane++) {
    code.get(total);
    code.get(at(sums, lane));
    pushConversion(code, dtype, wide);
    pushCombine(code, combine, wide);
    code.set(total);
  }
}

/** The lanes of a reduction along its innermost index. */
function lanesAlong(emitter: Emitter, statement: Reduce): Lanes | null {
  const k = last(statement.loops).index;
  if (combineInstructions(statement.combine, statement.dtype) === undefined || statement.dtype === "bool")
    return null;
  return vectorLanes(
    [statement.value],
    (value) => emitter.dependencies(value).has(k),
    (load) => isContiguous(emitter.program, load, k),
  );
}

/** How many vectors of partial results are kept: enough to hide the latency of an addition. */
const partials = 4;

function pushDot(emitter: Emitter, statement: Reduce, lanes: Lanes, wide: DType, total: Local): void {
  const { code } = emitter;
  const k = last(statement.loops);
  const combine = combineInstructions(statement.combine, statement.dtype) ?? [];
  const sums = Array.from({ length: partials }, () => code.local("v128"));
  pushConstant(code, statement.dtype, statement.identity);
  pushSplat(code, statement.dtype);
  for (const sum of sums) code.tee(sum);
  code.op("drop");
  const run = (from: Bound, to: Bound, vectors: number): void =>
    emitter.loop(k.index, from, to, vectors * lanes, new Set(), () => {
      for (let vector = 0; vector < vectors; vector++) {
        const sum = at(sums, vector);
        code.get(sum);
        emitter.pushVector(statement.value, vectorLane(k.index, lanes, new Map([[k.index, vector * lanes]])));
        code.op(...combine);
        code.set(sum);
      }
    });
  nest(emitter, statement.loops.slice(0, -1), () => {
    const extent = emitter.bound(k.extent);
    const blocks = emitter.roundDown(extent, partials * lanes);
    const whole = emitter.roundDown(extent, lanes);
    run({ constant: 0 }, blocks, partials);
    run(blocks, whole, 1);
    emitter.loop(k.index, whole, extent, 1, new Set(), () => accumulate(emitter, statement, wide, total));
  });
  for (let stride = partials / 2; stride >= 1; stride /= 2) {
    for (let i = 0; i < stride; i++) {
      code.get(at(sums, i));
      code.get(at(sums, i + stride));
      code.op(...combine);
      code.set(at(sums, i));
    }
  }
  const type = statement.dtype === "float64" ? "f64x2" : statement.dtype === "float32" ? "f32x4" : "i32x4";
  for (let lane = 0; lane < lanes; lane++) {
    code.get(total);
    code.get(at(sums, 0));
    code.lane(`${type}.extract_lane`, lane);
    pushConversion(code, statement.dtype, wide);
    pushCombine(code, statement.combine, wide);
    code.set(total);
  }
}
