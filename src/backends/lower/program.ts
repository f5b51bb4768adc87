/**
 * The kernel IR: what a graph is lowered to and what every printer (WebAssembly, WGSL, C) prints. A kernel is a nest of
 * loops around stores; values are expressions that share parts by identity, so a printer evaluates a shared part once.
 */
import type { DType } from "../../base/dtype.js";
import type { Index, Scalar } from "../../ir/kernel.js";
import type { ReductionOrder } from "../../primitives/order.js";
import type { IndexAlgebra } from "./polynomial.js";

/** Memory that kernels read or write: an input or output, by position, or a temporary at an offset of the workspace. */
export interface Buffer {
  readonly role: "input" | "output" | "workspace";
  /** The position among inputs or outputs, or the byte offset in the workspace. */
  readonly position: number;
  readonly dtype: DType;
  readonly extents: readonly Index[];
  /** In elements; may be parameters. */
  readonly strides: readonly Index[];
}

/** One index running from 0 to an extent. */
export interface Loop {
  readonly index: string;
  readonly extent: Index;
}

/** A copy of what a load reads: per reduced position, `panelColumns` neighbours along the result's last index. */
export interface Panel {
  readonly load: Extract<Scalar, { kind: "load" }>;
  readonly buffer: number;
}

/** How elements are combined. */
export type Combine = "add" | "mul" | "max" | "min";

/** A step of a kernel. */
export type Statement =
  | { readonly kind: "for"; readonly loop: Loop; readonly body: readonly Statement[] }
  /** Defines `local` as the combination of `value` over all indices. */
  | {
      readonly kind: "reduce";
      readonly local: string;
      readonly dtype: DType;
      readonly combine: Combine;
      readonly identity: number;
      readonly loops: readonly Loop[];
      readonly value: Scalar;
      /** In which order terms are added; every printer must keep it. */
      readonly order: ReductionOrder;
      /** Temporaries into which a tiled reduction may first copy what some loads read, for a block of columns. */
      readonly panels: readonly Panel[];
    }
  /** Defines `local` (i32) as the first index at which `value` is extreme; NaN is the most extreme. */
  | {
      readonly kind: "argReduce";
      readonly local: string;
      readonly select: "max" | "min";
      readonly loop: Loop;
      readonly value: Scalar;
    }
  | { readonly kind: "store"; readonly buffer: number; readonly offset: Index; readonly value: Scalar }
  /** Adds to an element if `when` holds. */
  | {
      readonly kind: "accumulate";
      readonly buffer: number;
      readonly when: Scalar;
      readonly offset: Index;
      readonly value: Scalar;
    };

/** One pass over memory. */
export interface Kernel {
  /** What it computes, for reports: `add_tanh[4096]`. */
  readonly name: string;
  readonly body: readonly Statement[];
}

/** A lowered graph. */
export interface Program {
  readonly buffers: readonly Buffer[];
  readonly kernels: readonly Kernel[];
  readonly workspaceBytes: number;
  /** What all temporaries would take side by side: enough wherever the outputs lie. */
  readonly temporaryBytes: number;
  /** Knows the extent of every loop index. */
  readonly algebra: IndexAlgebra;
}

/** Calls `visit` once for each expression under `roots`, operands first, also in gathered indices. */
export function forEachScalar(roots: Iterable<Scalar>, visit: (value: Scalar) => void): void {
  const seen = new Set<Scalar>();
  const walk = (value: Scalar): void => {
    if (seen.has(value)) return;
    seen.add(value);
    for (const operand of operandsOf(value)) walk(operand);
    for (const index of indicesOf(value)) forEachGathered(index, walk);
    visit(value);
  };
  for (const root of roots) walk(root);
}

/** The scalars inside an index expression. */
export function forEachGathered(index: Index, visit: (value: Scalar) => void): void {
  switch (index.kind) {
    case "const":
    case "var":
      return;
    case "scalar":
      visit(index.value);
      return;
    case "add":
    case "sub":
    case "mul":
    case "div":
    case "mod":
    case "min":
    case "max":
      forEachGathered(index.a, visit);
      forEachGathered(index.b, visit);
  }
}

/** The operands of an expression. */
export function operandsOf(value: Scalar): readonly Scalar[] {
  switch (value.kind) {
    case "apply":
      return value.args;
    case "convert":
      return [value.arg];
    case "choose":
      return [value.when, value.then, value.otherwise];
    case "const":
    case "load":
    case "fromIndex":
    case "indexLess":
    case "indexEqual":
    case "local":
      return [];
  }
}

/** The index expressions of an expression. */
export function indicesOf(value: Scalar): readonly Index[] {
  switch (value.kind) {
    case "load":
      return [value.offset];
    case "fromIndex":
      return [value.index];
    case "indexLess":
    case "indexEqual":
      return [value.a, value.b];
    case "const":
    case "apply":
    case "convert":
    case "choose":
    case "local":
      return [];
  }
}

/** Every statement of a body, outermost first. */
export function forEachStatement(body: readonly Statement[], visit: (statement: Statement) => void): void {
  for (const statement of body) {
    visit(statement);
    if (statement.kind === "for") forEachStatement(statement.body, visit);
  }
}

/** The expressions that a statement evaluates itself, its loops' bodies not counted. */
export function valuesOf(statement: Statement): Scalar[] {
  const values: Scalar[] = [];
  const gathered = (index: Index): void => forEachGathered(index, (value) => values.push(value));
  switch (statement.kind) {
    case "for":
      break;
    case "reduce":
    case "argReduce":
      values.push(statement.value);
      break;
    case "store":
      gathered(statement.offset);
      values.push(statement.value);
      break;
    case "accumulate":
      values.push(statement.when);
      gathered(statement.offset);
      values.push(statement.value);
  }
  return values;
}

/** The buffers that statements read or write. */
export function buffersOf(body: readonly Statement[]): Set<number> {
  const buffers = new Set<number>();
  forEachStatement(body, (statement) => {
    if (statement.kind === "store" || statement.kind === "accumulate") buffers.add(statement.buffer);
    if (statement.kind === "reduce") for (const { buffer } of statement.panels) buffers.add(buffer);
    forEachScalar(valuesOf(statement), (value) => {
      if (value.kind === "load") buffers.add(value.buffer);
    });
  });
  return buffers;
}

/** True if no division is left in any index that the statements use. */
export function isDivisionFree(body: readonly Statement[]): boolean {
  const divides = (index: Index): boolean => {
    switch (index.kind) {
      case "const":
      case "var":
      case "scalar":
        return false;
      case "div":
      case "mod":
        return true;
      case "add":
      case "sub":
      case "mul":
      case "min":
      case "max":
        return divides(index.a) || divides(index.b);
    }
  };
  let affine = true;
  forEachStatement(body, (statement) => {
    if (statement.kind === "store" && divides(statement.offset)) affine = false;
    forEachScalar(valuesOf(statement), (value) => {
      if (value.kind === "load" && divides(value.offset)) affine = false;
      if (value.kind === "fromIndex" && divides(value.index)) affine = false;
      if (
        (value.kind === "indexLess" || value.kind === "indexEqual") &&
        (divides(value.a) || divides(value.b))
      ) {
        affine = false;
      }
    });
  });
  return affine;
}
