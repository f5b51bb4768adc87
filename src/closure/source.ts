/**
 * The source text of a function as an expression that can be compiled in another thread, and its syntax tree. Methods
 * written in shorthand become members of an object literal; what has no usable source is refused.
 */
import type { AnyNode, Function as FunctionNode } from "acorn";
import { parseExpressionAt } from "acorn";
import { CaptureError } from "../base/errors.js";

/** A function's source. */
export interface FunctionSource {
  /** An expression whose value is the function. */
  readonly text: string;
  readonly node: FunctionNode;
  /** It parses by the rules of strict code, as modules and classes are. */
  readonly strict: boolean;
}

/** Any function; what it takes and gives is not looked at. */
export type AnyFunction = (...args: never[]) => unknown;

function refuse(operation: string, argument: string, found: string, remedy: string, cause?: unknown): never {
  throw new CaptureError({
    operation,
    argument,
    found,
    expected: "a function written in JavaScript",
    remedy,
    ...(cause === undefined ? {} : { cause }),
  });
}

function parseWith(text: string, sourceType: "module" | "script"): AnyNode {
  // acorn's types say Expression; every expression is a node.
  return parseExpressionAt(text, 0, { ecmaVersion: "latest", sourceType });
}

function functionIn(node: AnyNode): FunctionNode | undefined {
  switch (node.type) {
    case "ArrowFunctionExpression":
    case "FunctionExpression":
      return node;
    case "ParenthesizedExpression":
      return functionIn(node.expression);
    case "MemberExpression": {
      const object = node.object.type === "ObjectExpression" ? node.object.properties[0] : undefined;
      return object?.type === "Property" ? functionIn(object.value) : undefined;
    }
    default:
      return undefined;
  }
}

/** The member expression that makes a shorthand method a value: `({ name() {} }).name`. */
function methodText(source: string): string | undefined {
  const name =
    /^(?:async\s+)?\*?\s*([\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*|"[^"\\]*"|'[^'\\]*')\s*\(/u.exec(
      source,
    )?.[1];
  if (name === undefined) return undefined;
  return `({ ${source} })[${/^["']/.test(name) ? name : JSON.stringify(name)}]`;
}

const cache = new Map<string, FunctionSource>();
const cacheLimit = 1000;

/** Reads a function's source. Throws `CaptureError` for native and bound functions, classes and accessors. */
export function sourceOf(operation: string, argument: string, fn: AnyFunction): FunctionSource {
  const source = Function.prototype.toString.call(fn);
  const known = cache.get(source);
  if (known !== undefined) return known;
  if (/\{\s*\[native code\]\s*\}\s*$/.test(source)) {
    refuse(operation, argument, "a native or bound function", "write an arrow function that calls it");
  }
  if (/^class\b/.test(source)) {
    refuse(operation, argument, "a class", "write a function that makes what is needed on the rank");
  }
  let problem: unknown;
  for (const text of [`(${source})`, methodText(source)]) {
    if (text === undefined) continue;
    for (const sourceType of ["module", "script"] as const) {
      try {
        const node = functionIn(parseWith(text, sourceType));
        if (node === undefined) continue;
        const result = { text, node, strict: sourceType === "module" };
        if (cache.size >= cacheLimit) cache.clear();
        cache.set(source, result);
        return result;
      } catch (error) {
        problem ??= error;
      }
    }
  }
  return refuse(
    operation,
    argument,
    "a function whose source cannot be compiled elsewhere",
    "write it as an arrow function",
    problem,
  );
}
