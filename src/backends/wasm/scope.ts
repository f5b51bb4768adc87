/**
 * The loops that are open while a kernel is printed. Each remembers what its body has already computed, and collects the
 * code that must run before it: what does not change inside, and the pointers that walk along with it.
 */
import type { Scalar } from "../../ir/kernel.js";
import type { Polynomial } from "../lower/polynomial.js";
import type { Local } from "./code.js";

/** A pointer that advances with a loop. */
export interface Pointer {
  readonly local: Local;
  /** Bytes per unit of the loop's index. */
  readonly stride: Polynomial;
}

/** Where a loop starts or ends. */
export type Bound = { readonly constant: number } | { readonly local: Local };

/** An open loop; the outermost one is the function itself. */
export interface Scope {
  readonly level: number;
  readonly variable: string | null;
  readonly from: Bound;
  /** True if the loop may run no iteration, so that its prelude may not run either. */
  readonly guarded: boolean;
  /** What the body has computed, by key. */
  readonly cache: Map<string, Local>;
  /** What the arms of open conditionals have computed, innermost last. */
  readonly arms: Map<string, Local>[];
  readonly prelude: number[];
  /** What the prelude of a guarded loop has computed: it is not known after the loop. */
  readonly preludeCache: Map<string, Local>;
  readonly pointers: Map<string, Pointer>;
  /** Buffers that the body writes. */
  readonly writes: ReadonlySet<number>;
  /** Levels of expressions, see `levelOf`. */
  readonly levels: Map<Scalar, number>;
}

/** A loop that has just been entered. */
export function openScope(
  level: number,
  variable: string | null,
  from: Bound,
  guarded: boolean,
  writes: ReadonlySet<number>,
): Scope {
  return {
    level,
    variable,
    from,
    guarded,
    writes,
    cache: new Map(),
    arms: [],
    prelude: [],
    preludeCache: new Map(),
    pointers: new Map(),
    levels: new Map(),
  };
}
