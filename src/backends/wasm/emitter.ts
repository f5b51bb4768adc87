/**
 * Evaluates expressions inside loops: shared parts once, what a loop does not change before it, addresses by pointers
 * that advance with the innermost loop.
 */
import { at, last } from "../../base/at.js";
import type { DType } from "../../base/dtype.js";
import { itemSize } from "../../base/dtype.js";
import { GraphError } from "../../base/errors.js";
import type { Index, Scalar } from "../../ir/kernel.js";
import type { Polynomial } from "../lower/polynomial.js";
import { addPolynomials, constantPolynomial, linearIn, scalePolynomial } from "../lower/polynomial.js";
import type { Program } from "../lower/program.js";
import { forEachGathered, indicesOf, operandsOf } from "../lower/program.js";
import type { Code, Local } from "./code.js";
import type { ValueType } from "./encoder.js";
import type { Lane } from "./lane.js";
import { single } from "./lane.js";
import type { HostFunctions } from "./scalar.js";
import {
  instructionsOf,
  pushConstant,
  pushConversion,
  pushLoad,
  pushOperation,
  stackType,
} from "./scalar.js";
import type { Bound, Scope } from "./scope.js";
import { openScope } from "./scope.js";
import { pushSplat, pushVectorConversion, vectorInstructionsOf } from "./vector.js";

type Load = Extract<Scalar, { kind: "load" }>;
type Choose = Extract<Scalar, { kind: "choose" }>;

/** What the emitter is told about a kernel. */
export interface KernelParameters {
  /** The local that holds the address of each buffer. */
  readonly addresses: ReadonlyMap<number, Local>;
  /** The locals of parameters that stand in index expressions. */
  readonly variables: ReadonlyMap<string, Local>;
  /** How often each expression occurs. */
  readonly uses: ReadonlyMap<Scalar, number>;
}

/** Prints the expressions of one kernel. */
export class Emitter {
  readonly code: Code;
  readonly program: Program;
  readonly #host: HostFunctions;
  readonly #kernel: KernelParameters;
  readonly #stack: Scope[] = [openScope(0, null, { constant: 0 }, false, new Set())];
  /** The level at which code is being written: the innermost loop, or further out while a prelude is written. */
  #at = 0;
  readonly #variables = new Map<string, { local: Local; level: number }>();
  readonly #locals = new Map<
    string,
    { local: Local; level: number; dtype: DType; along: ReadonlySet<string> }
  >();
  readonly #ids = new Map<Scalar, number>();
  readonly #dependencies = new Map<Scalar, ReadonlySet<string>>();
  readonly #loading = new Map<Scalar, boolean>();

  constructor(code: Code, program: Program, host: HostFunctions, kernel: KernelParameters) {
    this.code = code;
    this.program = program;
    this.#host = host;
    this.#kernel = kernel;
    for (const [name, local] of kernel.variables) this.#variables.set(name, { local, level: 0 });
  }

  /** Names a value that statements hold. `along` are the loop indices of which there is one value each. */
  define(name: string, dtype: DType, local: Local, lane: Lane = single, along: readonly string[] = []): void {
    const key = name + this.#suffix(new Set(along), lane);
    this.#locals.set(key, { local, level: this.#at, dtype, along: new Set(along) });
    this.#locals.set(name, { local, level: this.#at, dtype, along: new Set(along) });
  }

  /** Everything of the kernel's names that an expression depends on. */
  dependencies(value: Scalar): ReadonlySet<string> {
    const known = this.#dependencies.get(value);
    if (known !== undefined) return known;
    const result = new Set<string>();
    if (value.kind === "local")
      for (const name of this.#locals.get(value.name)?.along ?? []) result.add(name);
    for (const operand of operandsOf(value)) for (const name of this.dependencies(operand)) result.add(name);
    for (const index of indicesOf(value)) this.#indexNames(index, result);
    if (value.kind !== "local") this.#dependencies.set(value, result);
    return result;
  }

  #indexNames(index: Index, names: Set<string>): void {
    switch (index.kind) {
      case "const":
        return;
      case "var":
        names.add(index.name);
        return;
      case "scalar":
        for (const name of this.dependencies(index.value)) names.add(name);
        return;
      case "add":
      case "sub":
      case "mul":
      case "div":
      case "mod":
      case "min":
      case "max":
        this.#indexNames(index.a, names);
        this.#indexNames(index.b, names);
    }
  }

  #levelOf(value: Scalar): number {
    const levels = last(this.#stack).levels;
    const known = levels.get(value);
    if (known !== undefined) return known;
    let level = 0;
    if (value.kind === "local") level = this.#locals.get(value.name)?.level ?? 0;
    for (const operand of operandsOf(value)) level = Math.max(level, this.#levelOf(operand));
    for (const index of indicesOf(value)) level = Math.max(level, this.#indexLevel(index));
    if (value.kind === "load") {
      for (const scope of this.#stack)
        if (scope.writes.has(value.buffer)) level = Math.max(level, scope.level);
    }
    levels.set(value, level);
    return level;
  }

  #indexLevel(index: Index): number {
    const names = new Set<string>();
    this.#indexNames(index, names);
    let level = 0;
    for (const name of names) level = Math.max(level, this.#variables.get(name)?.level ?? 0);
    forEachGathered(index, (value) => {
      level = Math.max(level, this.#levelOf(value));
    });
    return level;
  }

  #loads(value: Scalar): boolean {
    const known = this.#loading.get(value);
    if (known !== undefined) return known;
    let result = value.kind === "load" || operandsOf(value).some((operand) => this.#loads(operand));
    for (const index of indicesOf(value)) {
      forEachGathered(index, () => {
        result = true;
      });
    }
    this.#loading.set(value, result);
    return result;
  }

  #suffix(names: ReadonlySet<string>, lane: Lane): string {
    let suffix = "";
    for (const [name, shift] of lane.shift) if (shift !== 0 && names.has(name)) suffix += `|${name}+${shift}`;
    return suffix;
  }

  #key(value: Scalar, lane: Lane, prefix: string): string {
    const id = this.#ids.get(value) ?? this.#ids.size;
    this.#ids.set(value, id);
    return prefix + String(id) + this.#suffix(this.dependencies(value), lane);
  }

  #find(key: string): Local | undefined {
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

  #remember(key: string, local: Local): void {
    const scope = at(this.#stack, this.#at);
    const inner = this.#stack[this.#at + 1];
    if (scope.arms.length > 0) last(scope.arms).set(key, local);
    else if (inner?.guarded === true) inner.preludeCache.set(key, local);
    else scope.cache.set(key, local);
  }

  /** Writes code at an outer level, before the loop that is open there. */
  #outside(level: number, write: () => void): void {
    const saved = this.#at;
    this.#at = level;
    this.code.redirect(at(this.#stack, level + 1).prelude, write);
    this.#at = saved;
  }

  /** Pushes something by key: from its local, from a prelude if it does not change here, or in place. */
  #shared(
    key: string,
    type: ValueType,
    level: number,
    keep: boolean,
    mayMove: boolean,
    compute: () => void,
  ): void {
    const found = this.#find(key);
    if (found !== undefined) return this.code.get(found);
    const inArm = at(this.#stack, this.#at).arms.length > 0;
    if (level < this.#at && (mayMove || !inArm)) {
      const local = this.code.local(type);
      this.#outside(level, () => {
        compute();
        this.code.set(local);
        this.#remember(key, local);
      });
      return this.code.get(local);
    }
    compute();
    if (!keep) return;
    const local = this.code.local(type);
    this.code.tee(local);
    this.#remember(key, local);
  }

  /** Pushes one number. */
  push(value: Scalar, lane: Lane = single): void {
    if (value.kind === "const") return pushConstant(this.code, value.dtype, value.value);
    if (value.kind === "local") {
      const held = this.#locals.get(value.name + this.#suffix(this.dependencies(value), lane));
      if (held === undefined)
        throw new GraphError({ operation: "wasm", argument: value.name, found: "not defined" });
      return this.code.get(held.local);
    }
    const keep = lane.repeated || (this.#kernel.uses.get(value) ?? 0) > 1;
    const compute = (): void => this.#compute(value, lane);
    this.#shared(
      this.#key(value, lane, "n"),
      stackType[value.dtype],
      this.#levelOf(value),
      keep,
      !this.#loads(value),
      compute,
    );
  }

  /** Evaluates an expression into a local. */
  toLocal(value: Scalar, lane: Lane = single): Local {
    if (value.kind !== "const" && value.kind !== "local") {
      const key = this.#key(value, lane, "n");
      this.push(value, lane);
      const found = this.#find(key);
      if (found !== undefined) {
        this.code.op("drop");
        return found;
      }
      const local = this.code.local(stackType[value.dtype]);
      this.code.set(local);
      this.#remember(key, local);
      return local;
    }
    this.push(value, lane);
    const local = this.code.local(stackType[value.dtype]);
    this.code.set(local);
    return local;
  }

  #compute(value: Exclude<Scalar, { kind: "const" | "local" }>, lane: Lane): void {
    const { code } = this;
    switch (value.kind) {
      case "load": {
        const offset = this.pushAddress(value.buffer, value.offset, lane);
        return pushLoad(code, value.dtype, offset);
      }
      case "fromIndex":
        this.#pushIndex(value.index, lane);
        return pushConversion(code, "int32", value.dtype);
      case "indexLess":
      case "indexEqual":
        this.#pushIndex(value.a, lane);
        this.#pushIndex(value.b, lane);
        return code.op(value.kind === "indexLess" ? "i32.lt_s" : "i32.eq");
      case "convert":
        this.push(value.arg, lane);
        return pushConversion(code, value.arg.dtype, value.dtype);
      case "choose":
        return this.#pushChoose(value, lane);
      case "apply": {
        const operand = at(value.args, 0).dtype;
        const instructions = instructionsOf(value.op, operand);
        if (instructions !== undefined) {
          for (const arg of value.args) this.push(arg, lane);
          return code.op(...instructions);
        }
        const locals = value.args.map((arg) => this.toLocal(arg, lane));
        return pushOperation(code, this.#host, value.op, operand, locals);
      }
    }
  }

  #pushChoose(value: Choose, lane: Lane): void {
    const { code } = this;
    if (!isGuard(value.when)) {
      this.push(value.then, lane);
      this.push(value.otherwise, lane);
      this.push(value.when, lane);
      return code.op("select");
    }
    this.#prepareArms(value, (part) => void this.toLocal(part, lane));
    this.push(value.when, lane);
    code.branch(
      stackType[value.dtype],
      () => this.#inArm(() => this.push(value.then, lane)),
      () => this.#inArm(() => this.push(value.otherwise, lane)),
    );
  }

  /** Evaluates before a conditional what both arms would evaluate, so that nothing is written twice. */
  #prepareArms(value: Choose, evaluate: (part: Scalar) => void): void {
    const certain = (root: Scalar): Set<Scalar> => {
      const found = new Set<Scalar>();
      const walk = (part: Scalar): void => {
        if (found.has(part) || part.kind === "const" || part.kind === "local") return;
        found.add(part);
        if (part.kind === "choose" && isGuard(part.when)) walk(part.when);
        else operandsOf(part).forEach(walk);
      };
      walk(root);
      return found;
    };
    const otherwise = certain(value.otherwise);
    for (const part of [...certain(value.then)].reverse()) if (otherwise.has(part)) evaluate(part);
  }

  /** Writes code that runs only if a condition holds. */
  conditionally(when: Scalar, write: () => void): void {
    this.push(when);
    this.code.branch(null, () => this.#inArm(write));
  }

  #inArm(write: () => void): void {
    const { arms } = at(this.#stack, this.#at);
    arms.push(new Map());
    write();
    arms.pop();
  }

  /** Pushes a vector along the lane's index. */
  pushVector(value: Scalar, lane: Lane): void {
    const { code } = this;
    const varies = lane.along !== null && this.dependencies(value).has(lane.along);
    if (!varies) {
      const level = value.kind === "const" ? 0 : this.#levelOf(value);
      const key =
        value.kind === "const"
          ? `c${value.dtype}${Object.is(value.value, -0) ? "-0" : value.value}`
          : this.#key(value, lane, "s");
      return this.#shared(key, "v128", level, true, !this.#loads(value), () => {
        if (
          value.kind === "load" &&
          value.dtype !== "bool" &&
          this.#find(this.#key(value, lane, "n")) === undefined
        ) {
          const offset = this.pushAddress(value.buffer, value.offset, lane);
          return code.memory(
            value.dtype === "float64" ? "v128.load64_splat" : "v128.load32_splat",
            2,
            offset,
          );
        }
        this.push(value, lane);
        pushSplat(code, value.dtype);
      });
    }
    if (value.kind === "const") return;
    if (value.kind === "local") {
      const held = this.#locals.get(value.name + this.#suffix(this.dependencies(value), lane));
      if (held === undefined)
        throw new GraphError({ operation: "wasm", argument: value.name, found: "not defined" });
      return code.get(held.local);
    }
    const keep = (this.#kernel.uses.get(value) ?? 0) > 1 || lane.repeated;
    this.#shared(this.#key(value, lane, "v"), "v128", this.#levelOf(value), keep, !this.#loads(value), () =>
      this.#computeVector(value, lane),
    );
  }

  #computeVector(value: Scalar, lane: Lane): void {
    const { code } = this;
    switch (value.kind) {
      case "load":
        return code.memory("v128.load", 3, this.pushAddress(value.buffer, value.offset, lane));
      case "apply":
        for (const arg of value.args) this.pushVector(arg, lane);
        return code.op(...(vectorInstructionsOf(value.op, at(value.args, 0).dtype) ?? []));
      case "convert":
        this.pushVector(value.arg, lane);
        return pushVectorConversion(code, value.arg.dtype, value.dtype);
      case "choose":
        if (lane.along !== null && !this.dependencies(value.when).has(lane.along)) {
          this.push(value.when, lane);
          return code.branch(
            "v128",
            () => this.#inArm(() => this.pushVector(value.then, lane)),
            () => this.#inArm(() => this.pushVector(value.otherwise, lane)),
          );
        }
        this.pushVector(value.then, lane);
        this.pushVector(value.otherwise, lane);
        this.pushVector(value.when, lane);
        return code.op("v128.bitselect");
      case "const":
      case "fromIndex":
      case "indexLess":
      case "indexEqual":
      case "local":
        throw new GraphError({ operation: "wasm", argument: value.kind, found: "in a vector" });
    }
  }

  #shifted(polynomial: Polynomial, lane: Lane): Polynomial {
    let result = polynomial;
    for (const [name, shift] of lane.shift) {
      if (shift === 0) continue;
      const stride = linearIn(polynomial, name)?.stride;
      if (stride === undefined)
        throw new GraphError({ operation: "wasm", argument: name, found: "shifted in a division" });
      result = addPolynomials(result, scalePolynomial(stride, shift));
    }
    return result;
  }

  /** Pushes the address of an element; returns the bytes that the memory instruction must add. */
  pushAddress(buffer: number, offset: Index, lane: Lane): number {
    const size = itemSize(at(this.program.buffers, buffer).dtype);
    const bytes = scalePolynomial(this.#shifted(this.program.algebra.normalize(offset), lane), size);
    const scope = at(this.#stack, this.#at);
    const linear = scope.variable === null ? null : linearIn(bytes, scope.variable);
    if (linear === null || linear.stride.key === "0" || this.#polynomialLevel(linear.rest) >= this.#at) {
      this.#pushBase(buffer);
      if (bytes.key !== "0") {
        this.pushPolynomial(bytes);
        this.code.op("i32.add");
      }
      return 0;
    }
    // A constant goes into the instruction if nothing can make the pointer itself negative.
    const { rest, stride } = linear;
    const rising =
      stride.constant >= 0 && [...rest.terms, ...stride.terms].every((term) => term.coefficient > 0);
    const fixed = rising && rest.constant >= 0 && rest.constant < 2 ** 30 ? rest.constant : 0;
    const start = addPolynomials(rest, constantPolynomial(-fixed));
    const key = `${buffer}|${start.key}|${stride.key}`;
    const known = scope.pointers.get(key);
    if (known !== undefined) {
      this.code.get(known.local);
      return fixed;
    }
    const local = this.code.local("i32");
    scope.pointers.set(key, { local, stride });
    this.#outside(this.#at - 1, () => {
      this.#pushBase(buffer);
      if (start.key !== "0") {
        this.pushPolynomial(start);
        this.code.op("i32.add");
      }
      if ("local" in scope.from) {
        this.pushPolynomial(stride);
        this.code.get(scope.from.local);
        this.code.op("i32.mul", "i32.add");
      } else if (scope.from.constant !== 0) {
        this.pushPolynomial(scalePolynomial(stride, scope.from.constant));
        this.code.op("i32.add");
      }
      this.code.set(local);
    });
    this.code.get(local);
    return fixed;
  }

  #pushBase(buffer: number): void {
    const local = this.#kernel.addresses.get(buffer);
    if (local === undefined)
      throw new GraphError({ operation: "wasm", argument: `buffer ${buffer}`, found: "without address" });
    this.code.get(local);
  }

  #polynomialLevel(polynomial: Polynomial): number {
    let level = 0;
    for (const term of polynomial.terms) {
      for (const factor of term.factors) level = Math.max(level, this.#indexLevel(factor.index));
    }
    return level;
  }

  #pushIndex(index: Index, lane: Lane): void {
    this.pushPolynomial(this.#shifted(this.program.algebra.normalize(index), lane));
  }

  /** Pushes an i32. */
  pushPolynomial(polynomial: Polynomial): void {
    const { code } = this;
    let started = false;
    for (const term of polynomial.terms) {
      term.factors.forEach((factor, position) => {
        this.#pushFactor(factor.key, factor.index);
        if (position > 0) code.op("i32.mul");
      });
      if (term.coefficient !== 1) {
        code.i32(term.coefficient);
        code.op("i32.mul");
      }
      if (started) code.op("i32.add");
      started = true;
    }
    if (!started || polynomial.constant !== 0) {
      code.i32(polynomial.constant);
      if (started) code.op("i32.add");
    }
  }

  #pushFactor(key: string, index: Index): void {
    const { code } = this;
    const { algebra } = this.program;
    switch (index.kind) {
      case "var": {
        const held = this.#variables.get(index.name);
        if (held === undefined)
          throw new GraphError({ operation: "wasm", argument: index.name, found: "not in a loop" });
        return code.get(held.local);
      }
      case "scalar":
        return this.push(index.value);
      case "div":
      case "mod":
        return this.#shared(`x${key}`, "i32", this.#indexLevel(index), true, false, () => {
          this.pushPolynomial(algebra.normalize(index.a));
          this.pushPolynomial(algebra.normalize(index.b));
          code.op(index.kind === "div" ? "i32.div_u" : "i32.rem_u");
        });
      case "min":
      case "max":
        return this.#shared(`x${key}`, "i32", this.#indexLevel(index), true, false, () => {
          const [a, b] = [code.local("i32"), code.local("i32")];
          this.pushPolynomial(algebra.normalize(index.a));
          code.tee(a);
          this.pushPolynomial(algebra.normalize(index.b));
          code.tee(b);
          code.get(a);
          code.get(b);
          code.op(index.kind === "min" ? "i32.lt_s" : "i32.gt_s", "select");
        });
      case "const":
      case "add":
      case "sub":
      case "mul":
        return this.pushPolynomial(algebra.normalize(index));
    }
  }

  /** Pushes an extent or a bound. */
  pushBound(bound: Bound): void {
    if ("local" in bound) this.code.get(bound.local);
    else this.code.i32(bound.constant);
  }

  /** An extent as a bound, computed once. */
  bound(extent: Index): Bound {
    const polynomial = this.program.algebra.normalize(extent);
    if (polynomial.terms.length === 0) return { constant: polynomial.constant };
    const local = this.code.local("i32");
    this.pushPolynomial(polynomial);
    this.code.set(local);
    return { local };
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
    this.#variables.set(variable, { local, level: scope.level });
    code.redirect(bytes, () => {
      body();
      if (once) return;
      for (const pointer of scope.pointers.values()) {
        code.get(pointer.local);
        this.pushPolynomial(scalePolynomial(pointer.stride, step));
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
    this.#variables.delete(variable);
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

const guards = new WeakMap<Scalar, boolean>();

/** True if a condition tests positions: what it guards may then lie outside its buffer. */
export function isGuard(when: Scalar): boolean {
  const known = guards.get(when);
  if (known !== undefined) return known;
  const result = when.kind === "indexLess" || when.kind === "indexEqual" || operandsOf(when).some(isGuard);
  guards.set(when, result);
  return result;
}

/** A load whose address is contiguous along an index. */
export function isContiguous(program: Program, load: Load, along: string): boolean {
  return linearIn(program.algebra.normalize(load.offset), along)?.stride.key === "1";
}
