/**
 * A stable fingerprint of a graph: equal graphs have equal hashes on every machine, and different ones, in practice,
 * never do. It is for caches and comparison, not for security.
 */
import { at } from "../base/at.js";
import type { Graph } from "./graph.js";

/** JSON in which −0, NaN and infinities keep their identity. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) => {
    if (typeof item !== "number" || (Number.isFinite(item) && !Object.is(item, -0))) return item;
    return `#${Object.is(item, -0) ? "-0" : String(item)}`;
  });
}

/** Four 32-bit FNV-1a lanes with different starting points, as 32 hexadecimal digits. */
function fingerprint(text: string): string {
  const lanes = [0x811c9dc5, 0x9dc5811c, 0x01000193, 0x2c1b3c6d];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    lanes.forEach((lane, k) => {
      const mixed = Math.imul(lane ^ (code + k * 0x9e37), 0x01000193);
      lanes[k] = mixed ^ (mixed >>> 15);
    });
  }
  return lanes.map((lane) => (lane >>> 0).toString(16).padStart(8, "0")).join("");
}

/** The hash of a graph whose constants have become inputs. */
export function hashGraph(graph: Graph): string {
  return fingerprint(
    canonical([
      graph.inputs.map((id) => at(graph.avals, id)),
      graph.inputs,
      graph.equations.map(({ op, params, inputs, outputs }) => [op, params, inputs, outputs]),
      graph.outputs,
    ]),
  );
}
