/**
 * The form of a row of the table of primitives: everything that the rest of heddle must know about one primitive. The
 * table is total: a row with a hole does not compile, and what does not apply has a name.
 */
import type { Storage } from "../base/dtype.js";
import type { Aval, OpName, OpParams, ValueId } from "../ir/graph.js";
import type { Index, Scalar } from "../ir/kernel.js";
import type { Emitter } from "./emitter.js";
import type { ShardingRule } from "./sharding.js";

/** A concrete array, as the reference meaning reads and makes it. */
export interface HostArray extends Aval {
  readonly data: Storage;
}

/** Says that a primitive has no derivative anywhere that matters: its result is piecewise constant, or not a float. */
export const zeroDerivative = "zeroDerivative";

/** Says that a primitive is not linear in any operand. */
export const notLinear = "notLinear";

/** A tangent or cotangent; `null` is a symbolic zero. */
export type Tangent = ValueId | null;

/** Emits the tangent of the (one) result. At least one tangent is not null. */
export type JvpRule<P> = (
  b: Emitter,
  rule: {
    readonly params: P;
    readonly primals: readonly ValueId[];
    readonly tangents: readonly Tangent[];
    readonly output: ValueId;
  },
) => Tangent;

/** Emits the cotangents of the linear operands; the entry of a non-linear operand is ignored. */
export type TransposeRule<P> = (
  b: Emitter,
  rule: {
    readonly params: P;
    readonly cotangent: ValueId;
    /** Operands; those that are linear have no value when transposing, only a type. */
    readonly inputs: readonly ValueId[];
    readonly linear: readonly boolean[];
    readonly avals: readonly Aval[];
  },
) => readonly Tangent[];

/** Emits the primitive over operands of which some carry a batch axis of extent `size` in front; so does the result. */
export type BatchRule<P> = (
  b: Emitter,
  rule: {
    readonly params: P;
    readonly inputs: readonly ValueId[];
    readonly batched: readonly boolean[];
    readonly size: number;
  },
) => ValueId;

/** Floating-point operations and bytes moved to and from memory, if nothing is fused. */
export interface Cost {
  readonly flops: number;
  readonly bytes: number;
}

/** What an element rule reads. */
export interface ElementContext<P> {
  readonly params: P;
  /** The types of the operands; extents may be dynamic, see `extents`. */
  readonly inputs: readonly Aval[];
  readonly output: Aval;
  /** The position of the wanted element of the result. */
  readonly index: readonly Index[];
  /** Positions along the reduced extents, for reductions. */
  readonly reduction: readonly Index[];
  /** The extents of an operand. */
  readonly extents: (operand: number) => readonly Index[];
  /** The extents of the result. */
  readonly outputExtents: readonly Index[];
  /** The element of an operand at a position. */
  readonly read: (operand: number, index: readonly Index[]) => Scalar;
}

/** How a primitive becomes kernels. */
export type Lowering<P> =
  /** Each element of the result is an expression of elements of the operands. */
  | { readonly kind: "element"; readonly element: (context: ElementContext<P>) => Scalar }
  /** Each element combines `element` over the reduced extents, starting from `identity`. */
  | {
      readonly kind: "reduce";
      readonly combine: "add" | "mul" | "max" | "min";
      readonly extents: (
        context: Pick<ElementContext<P>, "params" | "inputs" | "extents">,
      ) => readonly Index[];
      readonly element: (context: ElementContext<P>) => Scalar;
    }
  /** The position of the first extreme element along one axis. */
  | { readonly kind: "argReduce"; readonly select: "max" | "min"; readonly axis: (params: P) => number }
  /** Copies operand 0, then adds operand 2 at the positions that operand 1 names along an axis. */
  | { readonly kind: "scatterAdd"; readonly axis: (params: P) => number };

/** One primitive. */
export interface PrimitiveRow<P> {
  /** The number of operands; `null` for a list of one or more. */
  readonly arity: number | null;
  /** The type of the result. Checks the operands, and throws `ShapeError` or `DTypeError`. */
  readonly shape: (inputs: readonly Aval[], params: P) => Aval;
  readonly jvp: JvpRule<P> | typeof zeroDerivative;
  readonly transpose: TransposeRule<P> | typeof notLinear;
  readonly batch: BatchRule<P>;
  readonly sharding: ShardingRule<P>;
  readonly cost: (inputs: readonly Aval[], output: Aval, params: P) => Cost;
  /** The definition: slow and readable. Writes all of `out`, which is zeroed. */
  readonly reference: (inputs: readonly HostArray[], out: HostArray, params: P) => void;
  readonly lowering: Lowering<P>;
}

/** A row for every primitive. */
export type PrimitiveTable = { readonly [K in OpName]: PrimitiveRow<OpParams[K]> };
