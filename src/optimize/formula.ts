/**
 * Formulas such as `a * (1 - exp(-b * x))`, parsed with the precedence of Python and NumPy and never evaluated as code:
 * the grammar has numbers, names, calls of known functions, `+ - * / **` and parentheses, and nothing else.
 */
import { ArgumentError } from "../base/errors.js";

/** A parsed formula. */
export type Expression =
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "negate"; readonly operand: Expression }
  | {
      readonly kind: "binary";
      readonly operator: BinaryOperator;
      readonly left: Expression;
      readonly right: Expression;
    }
  | { readonly kind: "call"; readonly name: string; readonly args: readonly Expression[] };

/** The operators between two operands. */
export type BinaryOperator = "+" | "-" | "*" | "/" | "**";

interface Token {
  readonly kind: "number" | "name" | "symbol" | "end";
  readonly text: string;
  readonly position: number;
}

const token = /\s*(?:((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|(\*\*|[-+*/(),]))/y;

// Formulas are no longer and nest no deeper than this, so that no input can exhaust the stack of the parser or of
// those who walk the tree.
const longest = 5000;
const deepest = 200;

/** Parses `formula`, or throws an `ArgumentError` that shows the position of the first mistake. */
export function parseFormula(operation: string, formula: string): Expression {
  if (formula.length > longest) {
    throw new ArgumentError({
      operation,
      argument: "formula",
      found: `${formula.length} characters long`,
      expected: `at most ${longest}`,
      remedy: "write the model as a function",
    });
  }
  return new Parser(operation, formula).parse();
}

class Parser {
  readonly #operation: string;
  readonly #formula: string;
  #next: Token;
  #depth = 0;

  constructor(operation: string, formula: string) {
    this.#operation = operation;
    this.#formula = formula;
    this.#next = this.#read(0);
  }

  parse(): Expression {
    const expression = this.#sum();
    if (this.#next.kind !== "end") throw this.#refusal("an operator or the end");
    return expression;
  }

  #sum(): Expression {
    let left = this.#product();
    for (let operator = this.#take("+", "-"); operator !== undefined; operator = this.#take("+", "-")) {
      left = { kind: "binary", operator, left, right: this.#product() };
    }
    return left;
  }

  #product(): Expression {
    let left = this.#signed();
    for (let operator = this.#take("*", "/"); operator !== undefined; operator = this.#take("*", "/")) {
      left = { kind: "binary", operator, left, right: this.#signed() };
    }
    return left;
  }

  #signed(): Expression {
    return this.#nested(() => {
      const sign = this.#take("-", "+");
      if (sign === "-") return { kind: "negate", operand: this.#signed() };
      return sign === "+" ? this.#signed() : this.#power();
    });
  }

  /** Binds tighter than a sign on its left, looser than one on its right: `-a ** -b` is `-(a ** (-b))`. */
  #power(): Expression {
    const left = this.#atom();
    const operator = this.#take("**");
    return operator === undefined ? left : { kind: "binary", operator, left, right: this.#signed() };
  }

  #atom(): Expression {
    const { kind, text } = this.#next;
    if (kind === "number") {
      this.#advance();
      return { kind: "number", value: Number(text) };
    }
    if (kind === "name") {
      this.#advance();
      return this.#take("(") === undefined
        ? { kind: "name", name: text }
        : { kind: "call", name: text, args: this.#args() };
    }
    if (this.#take("(") === undefined) throw this.#refusal("a number, a name or a parenthesis");
    const inner = this.#sum();
    this.#require(")");
    return inner;
  }

  #args(): Expression[] {
    const args = [this.#sum()];
    while (this.#take(",") !== undefined) args.push(this.#sum());
    this.#require(")");
    return args;
  }

  #nested<T>(parse: () => T): T {
    if (++this.#depth > deepest) throw this.#refusal(`at most ${deepest} levels of nesting`);
    const result = parse();
    this.#depth--;
    return result;
  }

  #take<S extends string>(...symbols: readonly S[]): S | undefined {
    const found =
      this.#next.kind === "symbol" ? symbols.find((symbol) => symbol === this.#next.text) : undefined;
    if (found !== undefined) this.#advance();
    return found;
  }

  #require(symbol: string): void {
    if (this.#take(symbol) === undefined) throw this.#refusal(`"${symbol}"`);
  }

  #advance(): void {
    this.#next = this.#read(this.#next.position + this.#next.text.length);
  }

  #read(from: number): Token {
    token.lastIndex = from;
    const match = token.exec(this.#formula);
    if (match !== null) {
      const [whole, number, name, symbol = ""] = match;
      const text = number ?? name ?? symbol;
      const kind = number !== undefined ? "number" : name !== undefined ? "name" : "symbol";
      return { kind, text, position: from + whole.length - text.length };
    }
    const rest = this.#formula.slice(from);
    const text = rest.trimStart().slice(0, 1);
    const position = from + rest.length - rest.trimStart().length;
    if (text === "") return { kind: "end", text, position };
    this.#next = { kind: "symbol", text, position };
    throw this.#refusal(text === "^" ? `"**" for a power` : "a number, a name, or one of + - * / ** ( ) ,");
  }

  #refusal(expected: string): ArgumentError {
    const { kind, text, position } = this.#next;
    return new ArgumentError({
      operation: this.#operation,
      argument: `formula "${this.#formula}", position ${position},`,
      found: kind === "end" ? "the end" : `"${text}"`,
      expected,
    });
  }
}
