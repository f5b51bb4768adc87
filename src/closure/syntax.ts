/** Walking a syntax tree, whatever its nodes are. */
import type { AnyNode } from "acorn";

/** The child nodes of a node, whatever its type. */
export function childrenOf(node: AnyNode): AnyNode[] {
  const children: AnyNode[] = [];
  for (const value of Object.values(node) as unknown[]) {
    for (const item of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (typeof item === "object" && item !== null && "type" in item && typeof item.type === "string") {
        children.push(item as AnyNode); // acorn puts nodes, and nothing else with a type, into nodes.
      }
    }
  }
  return children;
}
