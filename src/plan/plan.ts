/**
 * A plan is what every compiler of heddle hands over: for each rank, a list of instructions. It is plain data, so it can
 * be checked before it runs, printed, saved, compared, and carried out unchanged on every transport.
 */
import type { DType } from "../base/dtype.js";
import { itemSize } from "../base/dtype.js";
import { PlanError } from "../base/errors.js";
import type { Shape } from "../base/shape.js";
import { formatShape, sameShape, sizeOf } from "../base/shape.js";

/** The name of a buffer; buffers belong to one rank. */
export type BufferName = string;

/** The element type and shape of a buffer, a region or a program's argument. */
export interface BufferType {
  readonly dtype: DType;
  readonly shape: Shape;
}

/** A program that ranks compile and run. `Graph` is opaque here: plans and graphs are neighbours. */
export interface PlanProgram<Graph = unknown> {
  readonly inputs: readonly BufferType[];
  readonly outputs: readonly BufferType[];
  /** Structured-cloneable; its constants are inputs. */
  readonly graph: Graph;
  /** Equal hashes mean equal graphs: ranks compile one hash once. */
  readonly hash: string;
  /** What people call it, for example the name of an objective. */
  readonly label?: string;
}

/** What a region is for: who writes it, and whether its contents outlive a step. */
export type RegionRole =
  /** Written by the caller before each step (coefficients). */
  | "input"
  /** Written by the caller once, when the plan is loaded. */
  | "constant"
  /** Written by ranks, read by the caller after each step. */
  | "output"
  /** Written and read by ranks. */
  | "scratch";

/** A named array in the shared heap. */
export interface Region extends BufferType {
  readonly role: RegionRole;
  /** For outputs: elements that no store writes are zero. Without it, every element must be written. */
  readonly zero?: boolean;
}

/** A box inside a region: per axis, where it starts and how far it extends. */
export interface Window {
  readonly start: readonly number[];
  readonly extent: readonly number[];
}

/** How a reducing collective combines two elements. */
export type Reduction = "add" | "mul" | "max" | "min";

/** Runs a program on buffers of this rank. */
export interface RunInstruction {
  readonly kind: "run";
  readonly program: string;
  readonly inputs: readonly BufferName[];
  readonly outputs: readonly BufferName[];
  /** What the work is for, in errors and timelines; the program's label if absent. */
  readonly task?: string;
}

/** Reads a region, or a window of it, into a new buffer. */
export interface LoadInstruction {
  readonly kind: "load";
  readonly buffer: BufferName;
  readonly region: string;
  readonly window?: Window;
}

/** Writes a buffer to a region, or to a window of it. */
export interface StoreInstruction {
  readonly kind: "store";
  readonly buffer: BufferName;
  readonly region: string;
  readonly window?: Window;
}

/** Gives a copy of a buffer to another rank. */
export interface SendInstruction {
  readonly kind: "send";
  readonly buffer: BufferName;
  readonly to: number;
  readonly tag: string;
}

/** Takes what another rank sends into a new buffer. */
export interface RecvInstruction {
  readonly kind: "recv";
  readonly buffer: BufferName;
  readonly dtype: DType;
  readonly shape: Shape;
  readonly from: number;
  readonly tag: string;
}

interface CollectiveCommon {
  readonly kind: "collective";
  readonly group: string;
  readonly input: BufferName;
  readonly output: BufferName;
}

/** An operation that all members of a group enter together. Members are counted in the group's order. */
export type CollectiveInstruction = CollectiveCommon &
  (
    | { readonly operation: "allReduce"; readonly reduce: Reduction }
    /** Joins the members' inputs along `axis`. */
    | { readonly operation: "allGather"; readonly axis: number }
    /** Reduces, then leaves each member its part along `axis`. */
    | { readonly operation: "reduceScatter"; readonly reduce: Reduction; readonly axis: number }
    /** Part j along `axis` of member i becomes part i of member j. */
    | { readonly operation: "allToAll"; readonly axis: number }
    /** Everybody gets the input of the rank `root`. */
    | { readonly operation: "broadcast"; readonly root: number }
    /** Rank `to` gets the input of rank `from`; who gets none gets zeros. */
    | { readonly operation: "permute"; readonly pairs: readonly (readonly [from: number, to: number])[] }
  );

/** Repeats a body. The body leaves the same buffers alive as it finds. */
export interface LoopInstruction {
  readonly kind: "loop";
  /** At least 1. */
  readonly count: number;
  readonly body: readonly Instruction[];
}

/** Releases a buffer. */
export interface FreeInstruction {
  readonly kind: "free";
  readonly buffer: BufferName;
}

/** One instruction of a rank. */
export type Instruction =
  | RunInstruction
  | LoadInstruction
  | StoreInstruction
  | SendInstruction
  | RecvInstruction
  | CollectiveInstruction
  | LoopInstruction
  | FreeInstruction;

/** What instructions refer to by name. */
export interface PlanTables<Graph = unknown> {
  readonly programs: Readonly<Record<string, PlanProgram<Graph>>>;
  readonly regions: Readonly<Record<string, Region>>;
  /** Lists of ranks. */
  readonly groups: Readonly<Record<string, readonly number[]>>;
}

/** Instruction lists for all ranks, and what they refer to. */
export interface Plan<Graph = unknown> extends PlanTables<Graph> {
  readonly version: 1;
  readonly ranks: number;
  /** One list per rank. */
  readonly lists: readonly (readonly Instruction[])[];
}

/** The entry `name` of one of a plan's tables; `PlanError` if it has none. Inherited names do not count. */
export function entryOf<T>(table: Readonly<Record<string, T>>, what: string, name: string): T {
  const entry = Object.hasOwn(table, name) ? table[name] : undefined;
  if (entry === undefined) {
    throw new PlanError({
      operation: "plan",
      argument: what,
      found: `"${name}", which the plan does not have`,
      expected: `one of ${Object.keys(table).join(", ") || "none: the table is empty"}`,
    });
  }
  return entry;
}

/** The window that a load or store addresses; all of the region by default. */
export function windowOf(instruction: { readonly window?: Window }, region: BufferType): Window {
  return instruction.window ?? { start: region.shape.map(() => 0), extent: region.shape };
}

/** Bytes of an array of this type. */
export function byteSize(type: BufferType): number {
  return sizeOf(type.shape) * itemSize(type.dtype);
}

/** True if both have the same dtype and shape. */
export function sameType(a: BufferType, b: BufferType): boolean {
  return a.dtype === b.dtype && sameShape(a.shape, b.shape);
}

/** `float64[15,40]` */
export function formatType(type: BufferType): string {
  return type.dtype + formatShape(type.shape);
}

/** True if the two boxes share an element. */
export function overlap(a: Window, b: Window): boolean {
  return a.start.every((start, axis) => {
    const other = b.start[axis] ?? 0;
    return start < other + (b.extent[axis] ?? 0) && other < start + (a.extent[axis] ?? 0);
  });
}

/** True if the window's elements are neighbours in the region's row-major order. */
export function isContiguous(window: Window, shape: Shape): boolean {
  let free = true;
  for (let axis = 0; axis < shape.length; axis++) {
    const extent = window.extent[axis] ?? 0;
    if (!free && extent !== shape[axis]) return false;
    if (extent !== 1) free = false;
  }
  return true;
}
