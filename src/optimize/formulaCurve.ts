/**
 * A formula as an array program: every name and function of the parsed formula becomes an array or a function of `np`,
 * so that formulas are compiled and differentiated exactly as hand-written models are.
 */
import { np } from "../arrays/index.js";
import type { ArrayInput } from "../arrays/index.js";
import { ArgumentError } from "../base/errors.js";
import type { CurveData } from "./curveData.js";
import { parseFormula } from "./formula.js";
import type { BinaryOperator, Expression } from "./formula.js";
import { isRecord, tracedCurveProblem } from "./tracedCurve.js";
import type { CurveProblem, XData } from "./tracedCurve.js";

/** The names that a formula may use, with their values. */
export type Bindings = Readonly<Record<string, ArrayInput>>;

/** A formula whose every name is known. */
export type FormulaProgram = (bindings: Bindings) => ArrayInput;

type Unary = (x: ArrayInput) => ArrayInput;
type Binary = (x: ArrayInput, y: ArrayInput) => ArrayInput;

const constants = new Map<string, number>([
  ["pi", Math.PI],
  ["e", Math.E],
]);

const unary = new Map<string, Unary>(
  Object.entries({
    abs: np.abs,
    acos: np.acos,
    acosh: np.acosh,
    arccos: np.acos,
    arcsin: np.asin,
    arctan: np.atan,
    asin: np.asin,
    asinh: np.asinh,
    atan: np.atan,
    atanh: np.atanh,
    cbrt: np.cbrt,
    cos: np.cos,
    cosh: np.cosh,
    exp: np.exp,
    expm1: np.expm1,
    log: np.log,
    log10: np.log10,
    log1p: np.log1p,
    log2: np.log2,
    sign: np.sign,
    sin: np.sin,
    sinh: np.sinh,
    sqrt: np.sqrt,
    square: np.square,
    tan: np.tan,
    tanh: np.tanh,
  }),
);

const binary = new Map<string, Binary>(
  Object.entries({
    arctan2: np.atan2,
    atan2: np.atan2,
    hypot: np.hypot,
    maximum: np.maximum,
    minimum: np.minimum,
    pow: np.power,
    power: np.power,
  }),
);

const operators: Readonly<
  Record<BinaryOperator, { arrays: Binary; numbers: (a: number, b: number) => number }>
> = {
  "+": { arrays: np.add, numbers: (a, b) => a + b },
  "-": { arrays: np.subtract, numbers: (a, b) => a - b },
  "*": { arrays: np.multiply, numbers: (a, b) => a * b },
  "/": { arrays: np.divide, numbers: (a, b) => a / b },
  "**": { arrays: np.power, numbers: (a, b) => a ** b },
};

/** The problem of fitting a formula to data, whose names are those of `xdata`, or `x`. */
export function formulaProblem(
  operation: string,
  formula: string,
  xdata: XData,
  data: CurveData,
): CurveProblem {
  const named = isRecord(xdata) ? xdata : { x: xdata };
  const program = formulaProgram(operation, formula, Object.keys(named), data.names);
  return tracedCurveProblem(operation, (x, parameters) => program({ ...x, ...parameters }), named, data);
}

/**
 * The program of a formula over `variables` and `parameters`. Throws `ArgumentError` for a mistake in the formula, a name
 * that is not known, or a parameter that the formula does not use.
 */
export function formulaProgram(
  operation: string,
  formula: string,
  variables: readonly string[],
  parameters: readonly string[],
): FormulaProgram {
  const expression = parseFormula(operation, formula);
  const both = parameters.find((name) => variables.includes(name));
  if (both !== undefined) {
    throw new ArgumentError({
      operation,
      argument: `options.p0.${both}`,
      found: "also the name of the data",
      expected: "a name of its own",
    });
  }
  const used = new Set<string>();
  checkNames(operation, expression, [...parameters, ...variables], used);
  const idle = parameters.find((name) => !used.has(name));
  if (idle !== undefined) {
    throw new ArgumentError({
      operation,
      argument: `options.p0.${idle}`,
      found: "not used by the formula",
      expected: `some of ${[...used].sort().join(", ")}`,
      remedy: "leave it out",
    });
  }
  return (bindings) => evaluate(expression, bindings);
}

function checkNames(operation: string, node: Expression, known: readonly string[], used: Set<string>): void {
  switch (node.kind) {
    case "number":
      return;
    case "name":
      used.add(node.name);
      if (known.includes(node.name) || constants.has(node.name)) return;
      throw new ArgumentError({
        operation,
        argument: `the name "${node.name}" in the formula`,
        found: "not known",
        expected: `one of ${[...known, ...constants.keys()].join(", ")}`,
        remedy: "name it in p0 if it is a parameter",
      });
    case "negate":
      return checkNames(operation, node.operand, known, used);
    case "binary":
      checkNames(operation, node.left, known, used);
      return checkNames(operation, node.right, known, used);
    case "call": {
      const arity = unary.has(node.name) ? 1 : binary.has(node.name) ? 2 : undefined;
      if (arity === undefined) {
        throw new ArgumentError({
          operation,
          argument: `the function "${node.name}" in the formula`,
          found: "not known",
          expected: `one of ${[...unary.keys(), ...binary.keys()].join(", ")}`,
        });
      }
      if (node.args.length !== arity) {
        throw new ArgumentError({
          operation,
          argument: `the function "${node.name}" in the formula`,
          found: `called with ${node.args.length} arguments`,
          expected: String(arity),
        });
      }
      for (const arg of node.args) checkNames(operation, arg, known, used);
    }
  }
}

function evaluate(node: Expression, bindings: Bindings): ArrayInput {
  switch (node.kind) {
    case "number":
      return node.value;
    case "name":
      return bindings[node.name] ?? constants.get(node.name) ?? NaN;
    case "negate": {
      const operand = evaluate(node.operand, bindings);
      return typeof operand === "number" ? -operand : np.negative(operand);
    }
    case "binary": {
      const left = evaluate(node.left, bindings);
      const right = evaluate(node.right, bindings);
      // Numbers stay numbers: np treats a power with a constant exponent better than one with an array.
      return typeof left === "number" && typeof right === "number"
        ? operators[node.operator].numbers(left, right)
        : operators[node.operator].arrays(left, right);
    }
    case "call": {
      const [first = NaN, second = NaN] = node.args.map((arg) => evaluate(arg, bindings));
      return unary.get(node.name)?.(first) ?? binary.get(node.name)?.(first, second) ?? NaN;
    }
  }
}
