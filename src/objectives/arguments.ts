/**
 * What the programs of objectives read and write, by method: vectors that all objectives share, arrays of their own, and
 * windows of the joined results.
 */
import { at } from "../base/at.js";
import type { Storage } from "../base/dtype.js";
import type { Elements } from "../base/elements.js";
import type { Shape } from "../base/shape.js";
import type { Aval } from "../ir/graph.js";
import type { Window } from "../plan/plan.js";
import type { AxisRun } from "../transform/block.js";
import type { Entry } from "./entry.js";
import type { Method } from "./programs.js";

/** The vectors that callers give. */
export type VectorName = "x" | "tangent" | "cotangent";

/** Where an input of an objective's program comes from. */
export type Source =
  /** `shape` elements of a vector, from `offset` on. */
  | { readonly kind: "vector"; readonly region: VectorName; readonly shape: Shape; readonly offset: number }
  /** An array of its data, which can change. */
  | { readonly kind: "data"; readonly path: string; readonly aval: Aval; readonly data: Storage }
  | { readonly kind: "constant"; readonly aval: Aval; readonly data: Elements };

/** The region of the extra vector that a method takes. */
export function extraRegion(method: Method): "tangent" | "cotangent" | null {
  return method === "jvp" ? "tangent" : method === "vjp" ? "cotangent" : null;
}

/** The region of an objective's own Jᵀw or Jᵀr. */
export function gradientRegion(objective: number): string {
  return `gradient ${objective}`;
}

/** The region of an array of an objective's data. */
export function dataRegion(objective: number, path: string): string {
  return `data ${objective}${path}`;
}

/** The sources of an objective's inputs, in the order of its program. */
export function sourcesOf(entry: Entry, method: Method): Source[] {
  const extra = extraRegion(method);
  const vectors = (region: VectorName): Source[] =>
    entry.part.leaves.map(({ start, size }) => ({ kind: "vector", region, shape: [size], offset: start }));
  return [
    ...vectors("x"),
    ...entry.data.map(({ path, dtype, shape, data }): Source => ({
      kind: "data",
      path,
      aval: { dtype, shape },
      data,
    })),
    ...(extra === "tangent" ? vectors(extra) : []),
    ...(extra === "cotangent"
      ? [{ kind: "vector", region: extra, shape: [entry.dimF], offset: entry.start } as const]
      : []),
    ...entry.program(method).constants.map(({ aval, data }): Source => ({ kind: "constant", aval, data })),
  ];
}

/** A box of a joined result. */
export interface Target {
  readonly region: string;
  readonly window: Window;
}

/** Where an output of an objective's program, or a part of it, belongs. */
export function targetOf(
  entry: Entry,
  objective: number,
  method: Method,
  output: number,
  part: AxisRun | null,
): Target {
  const { region, window } = wholeTarget(entry, objective, method, output);
  if (part === null) return { region, window };
  const along = (list: readonly number[], value: (own: number) => number): number[] =>
    list.map((own, axis) => (axis === part.axis ? value(own) : own));
  return {
    region,
    window: {
      start: along(window.start, (own) => own + part.start),
      extent: along(window.extent, () => part.extent),
    },
  };
}

function wholeTarget(entry: Entry, objective: number, method: Method, output: number): Target {
  const rows = (region: string): Target => ({
    region,
    window: { start: [entry.start], extent: [entry.dimF] },
  });
  const leaf = (position: number) => at(entry.part.leaves, position);
  switch (method) {
    case "residual":
      return rows("residual");
    case "jvp":
      return rows("product");
    case "jacobian":
    case "linearize": {
      const first = method === "linearize" ? 1 : 0;
      if (output < first) return rows("residual");
      const { start, size } = leaf(output - first);
      return { region: "jacobian", window: { start: [entry.start, start], extent: [entry.dimF, size] } };
    }
    case "vjp":
    case "gradient": {
      const { start, size } = leaf(output);
      return { region: gradientRegion(objective), window: { start: [start], extent: [size] } };
    }
  }
}

/** A joined result of a method. */
export interface ResultShape {
  readonly name: string;
  readonly shape: Shape;
  /** True if programs write every element; the others are zero. */
  readonly covered: boolean;
}

/** The results of a method for all objectives. */
export function resultsOf(method: Method, entries: readonly Entry[], dimX: number): ResultShape[] {
  const dimF = entries.reduce((sum, entry) => sum + entry.dimF, 0);
  const residual: ResultShape = { name: "residual", shape: [dimF], covered: true };
  const covered = entries.every(({ part }) => part.size === dimX);
  const jacobian: ResultShape = { name: "jacobian", shape: [dimF, dimX], covered };
  switch (method) {
    case "residual":
      return [residual];
    case "linearize":
      return [residual, jacobian];
    case "jacobian":
      return [jacobian];
    case "jvp":
      return [{ name: "product", shape: [dimF], covered: true }];
    case "vjp":
    case "gradient":
      return entries.map(({ part }, objective) => ({
        name: gradientRegion(objective),
        shape: [dimX],
        covered: part.size === dimX,
      }));
  }
}

/** The vectors that a method takes, and their lengths. */
export function vectorsOf(
  method: Method,
  entries: readonly Entry[],
  dimX: number,
): { readonly name: VectorName; readonly size: number }[] {
  const extra = extraRegion(method);
  const dimF = entries.reduce((sum, entry) => sum + entry.dimF, 0);
  const x = { name: "x", size: dimX } as const;
  return extra === null ? [x] : [x, { name: extra, size: extra === "tangent" ? dimX : dimF }];
}
