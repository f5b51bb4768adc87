/**
 * Finds local names that stand for something from outside: `const row = grid[i]` is a part of `grid`, and writing to it is
 * writing to `grid`. Only names that are bound once are followed, so what is found is certain.
 */
import type { AnyNode, Function as FunctionNode } from "acorn";
import type { Binding, Scope } from "./binding.js";
import { bindingOf, follow, own } from "./binding.js";
import { childrenOf } from "./syntax.js";

/** Methods that hand a member of their object out. */
const handsOut = new Set(["at", "get", "find", "findLast"]);

/** Methods that call back with a member of their object, and the position of it among the callback's arguments. */
const callsBack: ReadonlyMap<string, number> = new Map([
  ...["forEach", "map", "filter", "some", "every", "find", "findIndex", "findLast", "flatMap"].map(
    (name): [string, number] => [name, 0],
  ),
  ["reduce", 1],
  ["reduceRight", 1],
]);

/** The name of a member that is written out. */
function memberName(node: AnyNode & { type: "MemberExpression" }): string | null {
  const { property } = node;
  if (!node.computed && property.type === "Identifier") return property.name;
  return property.type === "Literal" ? String(property.value) : null;
}

/** Names that are assigned to anywhere in a function, whatever they stand for there. */
function assignedNames(root: AnyNode): Set<string> {
  const names = new Set<string>();
  const targets = (node: AnyNode): void => {
    if (node.type === "Identifier") names.add(node.name);
    else if (node.type !== "MemberExpression") for (const child of childrenOf(node)) targets(child);
  };
  const walk = (node: AnyNode): void => {
    if (node.type === "AssignmentExpression") targets(node.left);
    else if (node.type === "UpdateExpression") targets(node.argument);
    else if (
      (node.type === "ForOfStatement" || node.type === "ForInStatement") &&
      node.left.type !== "VariableDeclaration"
    ) {
      targets(node.left);
    }
    for (const child of childrenOf(node)) walk(child);
  };
  walk(root);
  return names;
}

export class AliasFinder {
  readonly #assigned: ReadonlySet<string>;

  constructor(root: FunctionNode) {
    this.#assigned = assignedNames(root as AnyNode); // Every function is a node.
  }

  /** What the value of an expression is a part of. */
  of(node: AnyNode, scope: Scope): Binding {
    switch (node.type) {
      case "Identifier":
        return bindingOf(node.name, scope);
      case "MemberExpression":
        return follow(this.of(node.object, scope), memberName(node));
      case "ChainExpression":
      case "ParenthesizedExpression":
      case "AwaitExpression":
        return node.type === "AwaitExpression"
          ? this.of(node.argument, scope)
          : this.of(node.expression, scope);
      case "ConditionalExpression":
        return [...this.of(node.consequent, scope), ...this.of(node.alternate, scope)];
      case "LogicalExpression":
        return [...this.of(node.left, scope), ...this.of(node.right, scope)];
      case "CallExpression": {
        const { callee } = node;
        if (callee.type !== "MemberExpression") return own;
        const name = memberName(callee);
        if (name === "subarray") return this.of(callee.object, scope);
        return name !== null && handsOut.has(name) ? follow(this.of(callee.object, scope), null) : own;
      }
      default:
        return own;
    }
  }

  /** What a pattern that is declared with an initializer stands for. A name that is bound again stands for nothing certain. */
  ofInitializer(pattern: AnyNode, init: AnyNode | null | undefined, scope: Scope): Binding {
    if (init == null) return own;
    if (pattern.type === "Identifier" && this.#assigned.has(pattern.name)) return own;
    return this.of(init, scope);
  }

  /** What a callback's parameters stand for, by the method that calls it back. */
  handedBy(callee: AnyNode, scope: Scope): (index: number) => Binding {
    const name = callee.type === "MemberExpression" ? memberName(callee) : null;
    const position = name === null ? undefined : callsBack.get(name);
    if (callee.type !== "MemberExpression" || position === undefined) return () => own;
    const member = follow(this.of(callee.object, scope), null);
    return (index) => (index === position ? member : own);
  }
}
