/**
 * How much work scalar operations are, roughly, in additions: enough to decide what is worth storing.
 */
import type { Scalar, ScalarOp } from "../../ir/kernel.js";
import type { Statement } from "./program.js";
import { forEachScalar, forEachStatement, valuesOf } from "./program.js";

const heavy: ReadonlySet<ScalarOp> = new Set<ScalarOp>([
  "cbrt",
  "exp",
  "expm1",
  "log",
  "log1p",
  "sin",
  "cos",
  "tan",
  "asin",
  "acos",
  "atan",
  "sinh",
  "cosh",
  "tanh",
  "asinh",
  "acosh",
  "atanh",
  "pow",
  "atan2",
]);
const medium: ReadonlySet<ScalarOp> = new Set<ScalarOp>(["sqrt", "div", "floorDivide", "remainder"]);

/** The work of evaluating an expression once. */
export function weigh(value: Scalar): number {
  let weight = 0;
  forEachScalar([value], (part) => {
    if (part.kind === "apply") weight += heavy.has(part.op) ? 20 : medium.has(part.op) ? 6 : 1;
    else if (part.kind === "choose" || part.kind === "convert") weight += 1;
  });
  return weight;
}

/** True if a body calls a transcendental function. */
export function isHeavy(body: readonly Statement[]): boolean {
  const known = heaviness.get(body);
  if (known !== undefined) return known;
  let found = false;
  forEachStatement(body, (statement) => {
    forEachScalar(valuesOf(statement), (value) => {
      if (value.kind === "apply" && heavy.has(value.op)) found = true;
    });
  });
  heaviness.set(body, found);
  return found;
}

const heaviness = new WeakMap<readonly Statement[], boolean>();
