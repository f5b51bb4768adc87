/**
 * What expressions depend on: the loop indices and parameters that they mention, and from these the outermost loop level
 * at which they can be computed.
 */
import type { DType } from "../../base/dtype.js";
import type { Index, Scalar } from "../../ir/kernel.js";
import type { Polynomial } from "../lower/polynomial.js";
import { forEachGathered, indicesOf, operandsOf } from "../lower/program.js";
import type { Local } from "./code.js";
import type { Scopes } from "./scope.js";

/** A value that statements hold. */
export interface HeldValue {
  readonly local: Local;
  readonly level: number;
  readonly dtype: DType;
  /** The loop indices of which there is one value each. */
  readonly along: ReadonlySet<string>;
}

/** The names of one kernel, and what depends on them. */
export class Dependence {
  readonly #scopes: Scopes;
  /** Loop indices and parameters. */
  readonly variables = new Map<string, { readonly local: Local; readonly level: number }>();
  /** Values that statements hold, by name and shift. */
  readonly held = new Map<string, HeldValue>();
  readonly #names = new Map<Scalar, ReadonlySet<string>>();
  readonly #loading = new Map<Scalar, boolean>();

  constructor(scopes: Scopes) {
    this.#scopes = scopes;
  }

  /** Everything of the kernel's indices and parameters that an expression depends on. */
  namesOf(value: Scalar): ReadonlySet<string> {
    const known = this.#names.get(value);
    if (known !== undefined) return known;
    const result = new Set<string>();
    if (value.kind === "local") for (const name of this.held.get(value.name)?.along ?? []) result.add(name);
    for (const operand of operandsOf(value)) for (const name of this.namesOf(operand)) result.add(name);
    for (const index of indicesOf(value)) this.#indexNames(index, result);
    if (value.kind !== "local") this.#names.set(value, result);
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
        for (const name of this.namesOf(index.value)) names.add(name);
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

  /** The outermost level at which an expression can be computed. */
  levelOf(value: Scalar): number {
    const levels = this.#scopes.innermost.levels;
    const known = levels.get(value);
    if (known !== undefined) return known;
    let level = 0;
    if (value.kind === "local") level = this.held.get(value.name)?.level ?? 0;
    for (const operand of operandsOf(value)) level = Math.max(level, this.levelOf(operand));
    for (const index of indicesOf(value)) level = Math.max(level, this.indexLevel(index));
    if (value.kind === "load") {
      level = Math.max(level, this.#scopes.writtenAt(value.buffer));
    }
    levels.set(value, level);
    return level;
  }

  /** The same for an index expression. */
  indexLevel(index: Index): number {
    const names = new Set<string>();
    this.#indexNames(index, names);
    let level = 0;
    for (const name of names) level = Math.max(level, this.variables.get(name)?.level ?? 0);
    forEachGathered(index, (value) => {
      level = Math.max(level, this.levelOf(value));
    });
    return level;
  }

  /** True if evaluating an expression reads memory. */
  loads(value: Scalar): boolean {
    const known = this.#loading.get(value);
    if (known !== undefined) return known;
    let result = value.kind === "load" || operandsOf(value).some((operand) => this.loads(operand));
    for (const index of indicesOf(value)) {
      forEachGathered(index, () => {
        result = true;
      });
    }
    this.#loading.set(value, result);
    return result;
  }

  /** The same for a polynomial. */
  polynomialLevel(polynomial: Polynomial): number {
    let level = 0;
    for (const term of polynomial.terms) {
      for (const factor of term.factors) level = Math.max(level, this.indexLevel(factor.index));
    }
    return level;
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
