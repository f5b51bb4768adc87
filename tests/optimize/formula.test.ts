/**
 * The grammar of formulas: Python's precedence, nothing that runs code, and mistakes shown at their place.
 */
import { ArgumentError } from "#heddle/base/errors";
import { parseFormula } from "#heddle/optimize/formula";
import type { Expression } from "#heddle/optimize/formula";
import { describe, expect, it } from "vitest";

/** Fully parenthesised, to show what binds to what. */
function shown(expression: Expression): string {
  switch (expression.kind) {
    case "number":
      return String(expression.value);
    case "name":
      return expression.name;
    case "negate":
      return `(-${shown(expression.operand)})`;
    case "binary":
      return `(${shown(expression.left)}${expression.operator}${shown(expression.right)})`;
    case "call":
      return `${expression.name}(${expression.args.map(shown).join(",")})`;
  }
}

const parsed = (formula: string): string => shown(parseFormula("curveFit", formula));

describe("a formula", () => {
  it.each([
    ["a - b - c", "((a-b)-c)"],
    ["a - b * c / d", "(a-((b*c)/d))"],
    ["a ** b ** c", "(a**(b**c))"],
    ["-a ** 2", "(-(a**2))"],
    ["a ** -b", "(a**(-b))"],
    ["a ** -b ** c", "(a**(-(b**c)))"],
    ["-a * b", "((-a)*b)"],
    ["a * -b", "(a*(-b))"],
    ["--a", "(-(-a))"],
    ["+a", "a"],
    ["(a + b) * c", "((a+b)*c)"],
    ["a * (1 - exp(-b * x))", "(a*(1-exp(((-b)*x))))"],
    ["atan2(y, x + 1)", "atan2(y,(x+1))"],
    ["  1.5e-3*x_1+.5 ", "((0.0015*x_1)+0.5)"],
    ["\n a\n + b", "(a+b)"],
  ])("%s is %s", (formula, expected) => {
    expect(parsed(formula)).toBe(expected);
  });

  it.each([
    ["", "position 0, is the end, expected a number, a name or a parenthesis"],
    ["a +", "position 3, is the end, expected a number, a name or a parenthesis"],
    ["a b", 'position 2, is "b", expected an operator or the end'],
    ["2x", 'position 1, is "x", expected an operator or the end'],
    ["(a", 'position 2, is the end, expected ")"'],
    ["a)", 'position 1, is ")", expected an operator or the end'],
    ["exp()", 'position 4, is ")", expected a number, a name or a parenthesis'],
    ["a ^ 2", 'position 2, is "^", expected "**" for a power'],
    ["a.constructor", 'position 1, is ".", expected'],
    ["a[0]", 'position 1, is "[", expected'],
    ["a = 1", 'position 2, is "=", expected'],
    ["`x`", 'position 0, is "`", expected'],
    ["a; b", 'position 1, is ";", expected'],
  ])("%j is refused", (formula, message) => {
    expect(() => parsed(formula)).toThrow(ArgumentError);
    expect(() => parsed(formula)).toThrow(message);
  });

  it("cannot exhaust the stack", () => {
    expect(() => parsed("(".repeat(4000))).toThrow(/at most 200 levels/);
    expect(() => parsed("-".repeat(4000))).toThrow(/at most 200 levels/);
    expect(() => parsed("a**".repeat(1000))).toThrow(/at most 200 levels/);
    expect(() => parsed("a+".repeat(100_000) + "a")).toThrow(/200001 characters long, expected at most 5000/);
    expect(parsed("a" + "+a".repeat(2000)).length).toBe(2001 + 2000 * 3);
  });
});
