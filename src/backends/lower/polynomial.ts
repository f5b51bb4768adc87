/**
 * Index expressions in a normal form: polynomials with integer coefficients over loop indices, dynamic extents and the
 * few things that are not polynomial (division, remainder, extremes, gathered indices). In this form the divisions that
 * reshapes bring cancel, equal addresses look equal, and the stride along a loop can be read off.
 */
import { at } from "../../base/at.js";
import type { Index, Scalar } from "../../ir/kernel.js";
import { addIndex, constIndex, mulIndex } from "../../ir/kernel.js";

/** A quantity that is not a sum or product of others. */
export interface Factor {
  readonly key: string;
  /** The expression; its operands are in normal form too. */
  readonly index: Index;
}

/** A coefficient times a product of factors, which are sorted by key. */
export interface Term {
  readonly coefficient: number;
  readonly factors: readonly Factor[];
}

/** A constant plus terms, which are sorted by key. */
export interface Polynomial {
  readonly key: string;
  readonly constant: number;
  readonly terms: readonly Term[];
}

interface Range {
  readonly min: number;
  readonly max: number;
}

const anything: Range = { min: -Infinity, max: Infinity };

function termKey(factors: readonly Factor[]): string {
  const [only] = factors;
  return factors.length === 1 && only !== undefined
    ? only.key
    : factors.map((factor) => factor.key).join("*");
}

function make(constant: number, terms: readonly Term[]): Polynomial {
  const only = terms[0];
  if (only === undefined) return { key: String(constant), constant, terms };
  if (terms.length === 1 && constant === 0 && only.coefficient === 1) {
    return { key: termKey(only.factors), constant, terms };
  }
  const merged = new Map<string, Term>();
  for (const term of terms) {
    const key = termKey(term.factors);
    const known = merged.get(key);
    merged.set(
      key,
      known === undefined ? term : { ...term, coefficient: known.coefficient + term.coefficient },
    );
  }
  const kept = [...merged.entries()].filter(([, term]) => term.coefficient !== 0);
  kept.sort(([a], [b]) => (a < b ? -1 : 1));
  const parts = kept.map(([key, term]) => (term.coefficient === 1 ? key : `${term.coefficient}*${key}`));
  if (constant !== 0 || parts.length === 0) parts.push(String(constant));
  return { key: parts.join("+"), constant, terms: kept.map(([, term]) => term) };
}

/** A polynomial without terms. */
export function constantPolynomial(value: number): Polynomial {
  return make(value, []);
}

/** a + b. */
export function addPolynomials(a: Polynomial, b: Polynomial): Polynomial {
  if (a.key === "0") return b;
  if (b.key === "0") return a;
  return make(a.constant + b.constant, [...a.terms, ...b.terms]);
}

/** p times an integer. */
export function scalePolynomial(p: Polynomial, by: number): Polynomial {
  if (by === 1) return p;
  return make(
    p.constant * by,
    p.terms.map((term) => ({ ...term, coefficient: term.coefficient * by })),
  );
}

function multiply(a: Polynomial, b: Polynomial): Polynomial {
  if (b.terms.length === 0) return scalePolynomial(a, b.constant);
  if (a.terms.length === 0) return scalePolynomial(b, a.constant);
  const terms: Term[] = [];
  for (const x of [...a.terms, { coefficient: a.constant, factors: [] }]) {
    for (const y of [...b.terms, { coefficient: b.constant, factors: [] }]) {
      const factors = [...x.factors, ...y.factors].sort((p, q) =>
        p.key < q.key ? -1 : p.key > q.key ? 1 : 0,
      );
      if (factors.length > 0) terms.push({ coefficient: x.coefficient * y.coefficient, factors });
    }
  }
  return make(a.constant * b.constant, terms);
}

/** The expression of a polynomial. */
export function toIndex(p: Polynomial): Index {
  let sum = constIndex(0);
  for (const term of p.terms) {
    let product: Index = constIndex(1);
    for (const factor of term.factors) product = mulIndex(factor.index, product);
    sum = addIndex(sum, mulIndex(product, constIndex(term.coefficient)));
  }
  return addIndex(sum, constIndex(p.constant));
}

/** Normalizes index expressions, knowing the extents that loop indices run over. */
export class IndexAlgebra {
  readonly #extents = new Map<string, Polynomial>();
  readonly #memo = new WeakMap<Index, Polynomial>();
  readonly #scalars = new Map<Scalar, number>();

  /** Declares a loop index: 0 ≤ name < extent. */
  declare(name: string, extent: Index): void {
    if (!this.#extents.has(name)) this.#extents.set(name, this.normalize(extent));
  }

  /** The normal form of an index expression. */
  normalize(index: Index): Polynomial {
    const known = this.#memo.get(index);
    if (known !== undefined) return known;
    const result = this.#collapse(this.#normalize(index));
    this.#memo.set(index, result);
    return result;
  }

  /** The same expression in normal form. */
  simplify(index: Index): Index {
    return toIndex(this.normalize(index));
  }

  #normalize(index: Index): Polynomial {
    switch (index.kind) {
      case "const":
        return constantPolynomial(index.value);
      case "var":
        return this.#atom(index.name, index);
      case "scalar": {
        const number = this.#scalars.get(index.value) ?? this.#scalars.size;
        this.#scalars.set(index.value, number);
        return this.#atom(`scalar${number}`, index);
      }
      case "add":
        return addPolynomials(this.normalize(index.a), this.normalize(index.b));
      case "sub":
        return addPolynomials(this.normalize(index.a), scalePolynomial(this.normalize(index.b), -1));
      case "mul":
        return multiply(this.normalize(index.a), this.normalize(index.b));
      case "div":
        return this.#divide(this.normalize(index.a), this.normalize(index.b)).quotient;
      case "mod":
        return this.#divide(this.normalize(index.a), this.normalize(index.b)).remainder;
      case "min":
      case "max":
        return this.#extreme(index.kind, this.normalize(index.a), this.normalize(index.b));
    }
  }

  #atom(key: string, index: Index): Polynomial {
    return make(0, [{ coefficient: 1, factors: [{ key, index }] }]);
  }

  #binary(kind: "div" | "mod" | "min" | "max", a: Polynomial, b: Polynomial): Polynomial {
    return this.#atom(`${kind}(${a.key},${b.key})`, { kind, a: toIndex(a), b: toIndex(b) });
  }

  #extreme(kind: "min" | "max", a: Polynomial, b: Polynomial): Polynomial {
    const [x, y] = [this.range(a), this.range(b)];
    if (x.max <= y.min) return kind === "min" ? a : b;
    if (y.max <= x.min) return kind === "min" ? b : a;
    return this.#binary(kind, a, b);
  }

  /** Splits off what divides evenly: p = whole · by + rest. */
  #split(p: Polynomial, by: Polynomial): { whole: Polynomial; rest: Polynomial } {
    if (by.terms.length === 0) {
      const n = by.constant;
      const even = p.terms.filter((term) => term.coefficient % n === 0);
      const remainder = ((p.constant % n) + n) % n;
      return {
        whole: make(
          (p.constant - remainder) / n,
          even.map((term) => ({ ...term, coefficient: term.coefficient / n })),
        ),
        rest: make(
          remainder,
          p.terms.filter((term) => term.coefficient % n !== 0),
        ),
      };
    }
    const divisor = at(by.terms, 0);
    const whole: Term[] = [];
    const rest: Term[] = [];
    for (const term of p.terms) {
      const left = [...term.factors];
      const divides = divisor.factors.every((factor) => {
        const position = left.findIndex((other) => other.key === factor.key);
        if (position >= 0) left.splice(position, 1);
        return position >= 0;
      });
      if (divides) whole.push({ coefficient: term.coefficient, factors: left });
      else rest.push(term);
    }
    const constant = whole.filter((term) => term.factors.length === 0);
    return {
      whole: make(
        constant.reduce((sum, term) => sum + term.coefficient, 0),
        whole.filter((term) => term.factors.length > 0),
      ),
      rest: make(p.constant, rest),
    };
  }

  /** True if 0 ≤ p < bound is certain. */
  #below(p: Polynomial, bound: Polynomial): boolean {
    const { min, max } = this.range(p);
    if (min < 0) return false;
    if (bound.terms.length === 0) return max < bound.constant;
    if (p.terms.length === 0) return p.constant === 0;
    const [term] = p.terms;
    if (p.terms.length !== 1 || p.constant !== 0 || term?.coefficient !== 1 || term.factors.length !== 1)
      return false;
    const { index } = at(term.factors, 0);
    if (index.kind === "mod") return this.normalize(index.b).key === bound.key;
    return index.kind === "var" && this.#extents.get(index.name)?.key === bound.key;
  }

  #divide(p: Polynomial, by: Polynomial): { quotient: Polynomial; remainder: Polynomial } {
    const zero = constantPolynomial(0);
    const single = by.terms.length === 1 && by.constant === 0 && by.terms[0]?.coefficient === 1;
    if (by.terms.length === 0 ? by.constant <= 0 : !single) {
      return { quotient: this.#binary("div", p, by), remainder: this.#binary("mod", p, by) };
    }
    if (by.key === "1") return { quotient: p, remainder: zero };
    const { whole, rest } = this.#split(p, by);
    if (this.#below(rest, by)) return { quotient: whole, remainder: rest };
    if (this.range(rest).min < 0) {
      return { quotient: this.#binary("div", p, by), remainder: this.#binary("mod", p, by) };
    }
    return {
      quotient: addPolynomials(whole, this.#quotient(rest, by)),
      remainder: this.#binary("mod", rest, by),
    };
  }

  /** ⌊⌊x / a⌋ / b⌋ = ⌊x / ab⌋. */
  #quotient(p: Polynomial, by: Polynomial): Polynomial {
    const factor = p.constant === 0 && p.terms.length === 1 ? at(p.terms, 0) : undefined;
    if (factor?.coefficient === 1 && factor.factors.length === 1) {
      const { index } = at(factor.factors, 0);
      if (index.kind === "div")
        return this.#quotient(this.normalize(index.a), multiply(this.normalize(index.b), by));
    }
    return this.#binary("div", p, by);
  }

  /** c·b·⌊x / b⌋ + c·(x mod b) = c·x. */
  #collapse(p: Polynomial): Polynomial {
    for (const term of p.terms) {
      if (term.factors.length !== 1) continue;
      const { index } = at(term.factors, 0);
      if (index.kind !== "mod") continue;
      const [x, by] = [this.normalize(index.a), this.normalize(index.b)];
      const partner = multiply(scalePolynomial(by, term.coefficient), this.#quotient(x, by));
      const wanted = partner.terms[0];
      if (partner.terms.length !== 1 || partner.constant !== 0 || wanted === undefined) continue;
      const key = termKey(wanted.factors);
      const found = p.terms.find((other) => termKey(other.factors) === key);
      if (found?.coefficient !== wanted.coefficient) continue;
      const others = p.terms.filter((other) => other !== term && other !== found);
      return this.#collapse(addPolynomials(make(p.constant, others), scalePolynomial(x, term.coefficient)));
    }
    return p;
  }

  /** The least and greatest value that a polynomial can have. */
  range(p: Polynomial): Range {
    let [min, max] = [p.constant, p.constant];
    for (const term of p.terms) {
      let [low, high] = [1, 1];
      for (const factor of term.factors) {
        const range = this.#factorRange(factor.index);
        if (range.min < 0 && term.factors.length > 1) return anything;
        low *= range.min;
        high = high === 0 || range.max === 0 ? 0 : high * range.max;
      }
      min += term.coefficient * (term.coefficient > 0 ? low : high);
      max += term.coefficient * (term.coefficient > 0 ? high : low);
    }
    return { min, max };
  }

  #factorRange(index: Index): Range {
    switch (index.kind) {
      case "var": {
        const extent = this.#extents.get(index.name);
        return extent === undefined ? { min: 0, max: Infinity } : { min: 0, max: this.range(extent).max - 1 };
      }
      case "div": {
        const [a, b] = [this.range(this.normalize(index.a)), this.range(this.normalize(index.b))];
        return a.min < 0 ? anything : { min: 0, max: Math.floor(a.max / Math.max(1, b.min)) };
      }
      case "mod": {
        const [a, b] = [this.range(this.normalize(index.a)), this.range(this.normalize(index.b))];
        return a.min < 0 ? anything : { min: 0, max: Math.min(a.max, b.max - 1) };
      }
      case "min":
      case "max": {
        const [a, b] = [this.range(this.normalize(index.a)), this.range(this.normalize(index.b))];
        const pick = index.kind === "min" ? Math.min : Math.max;
        return { min: pick(a.min, b.min), max: pick(a.max, b.max) };
      }
      case "const":
      case "scalar":
      case "add":
      case "sub":
      case "mul":
        return anything;
    }
  }
}

/** p as `stride · name + rest`, or `null` if it depends on the index in another way. */
export function linearIn(p: Polynomial, name: string): { stride: Polynomial; rest: Polynomial } | null {
  const strides: Term[] = [];
  const rest: Term[] = [];
  let constant = 0;
  for (const term of p.terms) {
    const uses = term.factors.filter((factor) => mentions(factor.index, name));
    if (uses.length === 0) {
      rest.push(term);
      continue;
    }
    if (uses.length > 1 || at(uses, 0).index.kind !== "var") return null;
    const factors = term.factors.filter((factor) => factor !== uses[0]);
    if (factors.length === 0) constant += term.coefficient;
    else strides.push({ coefficient: term.coefficient, factors });
  }
  return { stride: make(constant, strides), rest: make(p.constant, rest) };
}

/** True if the expression mentions the index, also inside gathered indices. */
export function mentions(index: Index, name: string): boolean {
  switch (index.kind) {
    case "const":
      return false;
    case "var":
      return index.name === name;
    case "scalar":
      return scalarMentions(index.value, name);
    case "add":
    case "sub":
    case "mul":
    case "div":
    case "mod":
    case "min":
    case "max":
      return mentions(index.a, name) || mentions(index.b, name);
  }
}

function scalarMentions(value: Scalar, name: string): boolean {
  switch (value.kind) {
    case "const":
    case "local":
      return false;
    case "load":
      return mentions(value.offset, name);
    case "fromIndex":
      return mentions(value.index, name);
    case "apply":
      return value.args.some((arg) => scalarMentions(arg, name));
    case "convert":
      return scalarMentions(value.arg, name);
    case "choose":
      return [value.when, value.then, value.otherwise].some((part) => scalarMentions(part, name));
    case "indexLess":
    case "indexEqual":
      return mentions(value.a, name) || mentions(value.b, name);
  }
}
