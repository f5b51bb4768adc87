/**
 * Evaluates expressions inside loops: shared parts once, what a loop does not change before it, addresses by pointers
 * that advance with the innermost loop.
 */
import { at } from "../../base/at.js";
import type { DType } from "../../base/dtype.js";
import { itemSize } from "../../base/dtype.js";
import { GraphError } from "../../base/errors.js";
import type { Index, Scalar } from "../../ir/kernel.js";
import type { Polynomial } from "../lower/polynomial.js";
import { addPolynomials, constantPolynomial, linearIn, scalePolynomial } from "../lower/polynomial.js";
import type { Program } from "../lower/program.js";
import { operandsOf } from "../lower/program.js";
import type { Code, Local } from "./code.js";
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
import type { Bound } from "./scope.js";
import { Scopes } from "./scope.js";
import { Dependence, isGuard } from "./dependence.js";
import { pushSplat, pushVectorConversion, vectorInstructionsOf } from "./vector.js";

type Load = Extract<Scalar, { kind: "load" }>;
type Choose = Extract<Scalar, { kind: "choose" }>;

/** What the emitter is told about a kernel. */
export interface KernelParameters {
  /** The local that holds the address of each buffer. */
  readonly addresses: Map<number, Local>;
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
  readonly #ids = new Map<Scalar, number>();
  readonly #scopes: Scopes;
  readonly #dependence: Dependence;

  constructor(code: Code, program: Program, host: HostFunctions, kernel: KernelParameters) {
    this.code = code;
    this.program = program;
    this.#host = host;
    this.#kernel = kernel;
    this.#scopes = new Scopes(code);
    this.#dependence = new Dependence(this.#scopes);
    for (const [name, local] of kernel.variables) this.#dependence.variables.set(name, { local, level: 0 });
  }

  /** Names a value that statements hold. `along` are the loop indices of which there is one value each. */
  define(name: string, dtype: DType, local: Local, lane: Lane = single, along: readonly string[] = []): void {
    const key = name + this.#suffix(new Set(along), lane);
    this.#dependence.held.set(key, { local, level: this.#scopes.level, dtype, along: new Set(along) });
    this.#dependence.held.set(name, { local, level: this.#scopes.level, dtype, along: new Set(along) });
  }

  /** The loop indices and parameters that an expression depends on. */
  dependencies(value: Scalar): ReadonlySet<string> {
    return this.#dependence.namesOf(value);
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

  /** Pushes one number. */
  push(value: Scalar, lane: Lane = single): void {
    if (value.kind === "const") return pushConstant(this.code, value.dtype, value.value);
    if (value.kind === "local") {
      const held = this.#dependence.held.get(value.name + this.#suffix(this.dependencies(value), lane));
      if (held === undefined)
        throw new GraphError({ operation: "wasm", argument: value.name, found: "not defined" });
      return this.code.get(held.local);
    }
    const keep = lane.repeated || (this.#kernel.uses.get(value) ?? 0) > 1;
    const compute = (): void => this.#compute(value, lane);
    this.#scopes.shared(
      this.#key(value, lane, "n"),
      stackType[value.dtype],
      this.#dependence.levelOf(value),
      keep,
      !this.#dependence.loads(value),
      compute,
    );
  }

  /** Evaluates an expression into a local. */
  toLocal(value: Scalar, lane: Lane = single): Local {
    if (value.kind !== "const" && value.kind !== "local") {
      const key = this.#key(value, lane, "n");
      this.push(value, lane);
      const found = this.#scopes.find(key);
      if (found !== undefined) {
        this.code.op("drop");
        return found;
      }
      const local = this.code.local(stackType[value.dtype]);
      this.code.set(local);
      this.#scopes.remember(key, local);
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
      () => this.#scopes.inArm(() => this.push(value.then, lane)),
      () => this.#scopes.inArm(() => this.push(value.otherwise, lane)),
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
    this.code.branch(null, () => this.#scopes.inArm(write));
  }

  /** Pushes a vector along the lane's index. */
  pushVector(value: Scalar, lane: Lane): void {
    const { code } = this;
    const varies = lane.along !== null && this.dependencies(value).has(lane.along);
    if (!varies) {
      const level = value.kind === "const" ? 0 : this.#dependence.levelOf(value);
      const key =
        value.kind === "const"
          ? `c${value.dtype}${Object.is(value.value, -0) ? "-0" : value.value}`
          : this.#key(value, lane, "s");
      return this.#scopes.shared(key, "v128", level, true, !this.#dependence.loads(value), () => {
        if (
          value.kind === "load" &&
          value.dtype !== "bool" &&
          this.#scopes.find(this.#key(value, lane, "n")) === undefined
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
      const held = this.#dependence.held.get(value.name + this.#suffix(this.dependencies(value), lane));
      if (held === undefined)
        throw new GraphError({ operation: "wasm", argument: value.name, found: "not defined" });
      return code.get(held.local);
    }
    const keep = (this.#kernel.uses.get(value) ?? 0) > 1 || lane.repeated;
    this.#scopes.shared(
      this.#key(value, lane, "v"),
      "v128",
      this.#dependence.levelOf(value),
      keep,
      !this.#dependence.loads(value),
      () => this.#computeVector(value, lane),
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
            () => this.#scopes.inArm(() => this.pushVector(value.then, lane)),
            () => this.#scopes.inArm(() => this.pushVector(value.otherwise, lane)),
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
    const scope = this.#scopes.current;
    const linear = scope.variable === null ? null : linearIn(bytes, scope.variable);
    if (
      linear === null ||
      linear.stride.key === "0" ||
      this.#dependence.polynomialLevel(linear.rest) >= this.#scopes.level
    ) {
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
    this.#scopes.outside(this.#scopes.level - 1, () => {
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

  /** Shifts a buffer so that the element of a position along an index is found at that index from now on. */
  rebase(buffer: number, index: string, write: () => void): void {
    const { addresses } = this.#kernel;
    const original = addresses.get(buffer);
    const held = this.#dependence.variables.get(index);
    if (original === undefined || held === undefined) {
      throw new GraphError({ operation: "wasm", argument: `buffer ${buffer}`, found: "without address" });
    }
    const local = this.code.local("i32");
    this.code.get(original);
    this.code.get(held.local);
    this.code.i32(itemSize(at(this.program.buffers, buffer).dtype));
    this.code.op("i32.mul", "i32.sub");
    this.code.set(local);
    addresses.set(buffer, local);
    write();
    addresses.set(buffer, original);
  }

  #pushBase(buffer: number): void {
    const local = this.#kernel.addresses.get(buffer);
    if (local === undefined)
      throw new GraphError({ operation: "wasm", argument: `buffer ${buffer}`, found: "without address" });
    this.code.get(local);
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
        const held = this.#dependence.variables.get(index.name);
        if (held === undefined)
          throw new GraphError({ operation: "wasm", argument: index.name, found: "not in a loop" });
        return code.get(held.local);
      }
      case "scalar":
        return this.push(index.value);
      case "div":
      case "mod":
        return this.#scopes.shared(`x${key}`, "i32", this.#dependence.indexLevel(index), true, false, () => {
          this.pushPolynomial(algebra.normalize(index.a));
          this.pushPolynomial(algebra.normalize(index.b));
          code.op(index.kind === "div" ? "i32.div_u" : "i32.rem_u");
        });
      case "min":
      case "max":
        return this.#scopes.shared(`x${key}`, "i32", this.#dependence.indexLevel(index), true, false, () => {
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

  /** An extent as a bound, computed once. */
  bound(extent: Index): Bound {
    const polynomial = this.program.algebra.normalize(extent);
    if (polynomial.terms.length === 0) return { constant: polynomial.constant };
    const local = this.code.local("i32");
    this.pushPolynomial(polynomial);
    this.code.set(local);
    return { local };
  }

  /** Pushes an extent or a bound. */
  pushBound(bound: Bound): void {
    this.#scopes.pushBound(bound);
  }

  /** The greatest multiple of `step` that does not exceed an extent. */
  roundDown(extent: Bound, step: number): Bound {
    return this.#scopes.roundDown(extent, step);
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
    const { variables } = this.#dependence;
    this.#scopes.loop(
      variable,
      from,
      to,
      step,
      writes,
      (local, level) => void variables.set(variable, { local, level }),
      (stride) => this.pushPolynomial(stride),
      body,
    );
    variables.delete(variable);
  }
}

/** A load whose address is contiguous along an index. */
export function isContiguous(program: Program, load: Load, along: string): boolean {
  return linearIn(program.algebra.normalize(load.offset), along)?.stride.key === "1";
}
