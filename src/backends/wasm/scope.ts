/**
 * The loops that are open while a kernel is printed. Each remembers what its body has already computed, and collects the
 * code that must run before it: what does not change inside, and the pointers that walk along with it.
 */
import type { Scalar } from "../../ir/kernel.js";
import type { Polynomial } from "../lower/polynomial.js";
import { scalePolynomial } from "../lower/polynomial.js";
import { at, last } from "../../base/at.js";
import type { Code, Local } from "./code.js";
import type { ValueType } from "./encoder.js";

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

function openScope(
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

/** The stack of open loops of one kernel, and where in it code is being written. */
export class Scopes {
  readonly code: Code;
  readonly #stack: Scope[] = [openScope(0, null, { constant: 0 }, false, new Set())];
  /** The level at which code is being written: the innermost loop, or further out while a prelude is written. */
  #at = 0;

  constructor(code: Code) {
    this.code = code;
  }

  /** The level at which code is being written. */
  get level(): number {
    return this.#at;
  }

  /** The loop whose body code is being written in. */
  get current(): Scope {
    return at(this.#stack, this.#at);
  }

  /** The innermost open loop. */
  get innermost(): Scope {
    return last(this.#stack);
  }

  /** The innermost level whose loop writes a buffer, or 0. */
  writtenAt(buffer: number): number {
    return this.#stack.reduce((level, scope) => (scope.writes.has(buffer) ? scope.level : level), 0);
  }

  /** What is known under a key here. */
  find(key: string): Local | undefined {
    const outer = this.#stack[this.#at + 1]?.preludeCache.get(key);
    if (outer !== undefined) return outer;
    for (let level = this.#at; level >= 0; level--) {
      const scope = at(this.#stack, level);
      for (let arm = scope.arms.length - 1; arm >= 0; arm--) {
        const found = scope.arms[arm]?.get(key);
        if (found !== undefined) return found;
      }
      const found = scope.cache.get(key) ?? scope.preludeCache.get(key);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Makes a local known under a key here. */
  remember(key: string, local: Local): void {
    const scope = this.current;
    const inner = this.#stack[this.#at + 1];
    if (scope.arms.length > 0) last(scope.arms).set(key, local);
    else if (inner?.guarded === true) inner.preludeCache.set(key, local);
    else scope.cache.set(key, local);
  }

  /** Writes code at an outer level, before the loop that is open there. */
  outside(level: number, write: () => void): void {
    const saved = this.#at;
    this.#at = level;
    this.code.redirect(at(this.#stack, level + 1).prelude, write);
    this.#at = saved;
  }

  /** Pushes something by key: from its local, from a prelude if it does not change here, or in place. */
  shared(
    key: string,
    type: ValueType,
    level: number,
    keep: boolean,
    mayMove: boolean,
    compute: () => void,
  ): void {
    const found = this.find(key);
    if (found !== undefined) return this.code.get(found);
    const inArm = this.current.arms.length > 0;
    if (level < this.#at && (mayMove || !inArm)) {
      const local = this.code.local(type);
      this.outside(level, () => {
        compute();
        this.code.set(local);
        this.remember(key, local);
      });
      return this.code.get(local);
    }
    compute();
    if (!keep) return;
    const local = this.code.local(type);
    this.code.tee(local);
    this.remember(key, local);
  }

  /** Writes an arm of a conditional: what it computes is not known outside. */
  inArm(write: () => void): void {
    const { arms } = this.current;
    arms.push(new Map());
    write();
    arms.pop();
  }

  /** Pushes an extent or a bound. */
  pushBound(bound: Bound): void {
    if ("local" in bound) this.code.get(bound.local);
    else this.code.i32(bound.constant);
  }

  /** The greatest multiple of `step` that does not exceed an extent. */
  roundDown(extent: Bound, step: number): Bound {
    if ("constant" in extent) return { constant: extent.constant - (extent.constant % step) };
    const local = this.code.local("i32");
    this.pushBound(extent);
    this.pushBound(extent);
    this.code.i32(step);
    this.code.op("i32.rem_u", "i32.sub");
    this.code.set(local);
    return { local };
  }

  /** Writes a loop over from, from + step, ... below `to`. */
  loop(
    variable: string,
    from: Bound,
    to: Bound,
    step: number,
    writes: ReadonlySet<number>,
    enter: (local: Local, level: number) => void,
    pushStride: (stride: Polynomial) => void,
    body: () => void,
  ): void {
    const { code } = this;
    const known = "constant" in from && "constant" in to;
    if (known && from.constant >= to.constant) return;
    const scope = openScope(this.#at + 1, variable, from, !known, writes);
    const local = code.local("i32");
    const once = known && from.constant + step >= to.constant;
    const bytes: number[] = [];
    this.#stack.push(scope);
    this.#at++;
    enter(local, scope.level);
    code.redirect(bytes, () => {
      body();
      if (once) return;
      for (const pointer of scope.pointers.values()) {
        code.get(pointer.local);
        pushStride(scalePolynomial(pointer.stride, step));
        code.op("i32.add");
        code.set(pointer.local);
      }
      code.get(local);
      code.i32(step);
      code.op("i32.add");
      code.tee(local);
      this.pushBound(to);
      code.op("i32.lt_u");
    });
    this.#stack.pop();
    this.#at--;
    const write = (): void => {
      code.append(scope.prelude);
      this.pushBound(from);
      code.set(local);
      if (once) code.append(bytes);
      else code.repeat(() => code.append(bytes));
    };
    if (!scope.guarded) return write();
    this.pushBound(from);
    this.pushBound(to);
    code.op("i32.lt_u");
    code.branch(null, write);
  }
}
