/**
 * Structure survives differentiation: Jacobians of linear, pointwise and partial functions are never multiplied out, and
 * what simplification leaves has the values of what it was given.
 */
import { Elements } from "#heddle/base/elements";
import type { Graph, OpName, ValueId } from "#heddle/ir/graph";
import { interpret } from "#heddle/backends/reference/interpret";
import { GraphBuilder } from "#heddle/primitives/builder";
import { jacfwdGraph, jacrevGraph } from "#heddle/transform/jacobian";
import { simplify } from "#heddle/transform/simplify";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

const vector = (n: number) => ({ dtype: "float64" as const, shape: [n] });
const matrix = (m: number, n: number) => ({ dtype: "float64" as const, shape: [m, n] });
const wave = (n: number, phase = 0): Float64Array =>
  Float64Array.from({ length: n }, (_, i) => Math.sin(i + 1 + phase));
const multiply = { signature: "m k, k -> m" };

function build(f: (b: GraphBuilder, x: ValueId) => ValueId, n: number): Graph {
  const b = new GraphBuilder();
  return b.build([f(b, b.input(vector(n)))]);
}

const opsOf = (graph: Graph): OpName[] => graph.equations.map(({ op }) => op);

describe("the Jacobian of", () => {
  test.each([
    ["forward", jacfwdGraph],
    ["reverse", jacrevGraph],
  ])("dot(A, x) − t is A itself (%s)", (_, jacobian) => {
    const A = new Elements(wave(600));
    const graph = build((b, x) => {
      const product = b.emit("contract", [b.constant(matrix(15, 40), A), x], multiply);
      return b.apply("sub", product, b.constant(vector(15), new Elements(wave(15))));
    }, 40);
    const result = simplify(jacobian(graph, [true]));
    expect(result.equations).toEqual([]);
    expect(result.constants.map(({ data }) => data)).toEqual([A]);
    expect(result.constants[0]?.data).toBe(A);
  });

  test("tanh(A x) scales the rows of A: one pass, no product of matrices", () => {
    const graph = build((b, x) => {
      return b.apply(
        "tanh",
        b.emit("contract", [b.constant(matrix(4, 3), new Elements(wave(12))), x], multiply),
      );
    }, 3);
    const ops = opsOf(simplify(jacfwdGraph(graph, [true])));
    expect(ops.filter((op) => op === "contract")).toHaveLength(1);
    expect(ops).not.toContain("eye");
    expect(ops).not.toContain("diag");
  });

  test("a pointwise function is a diagonal", () => {
    const graph = build((b, x) => {
      const positive = b.apply("greater", x, b.like(x, 0));
      return b.apply("select", positive, b.apply("mul", b.apply("sin", x), x), b.apply("exp", x));
    }, 5);
    const result = simplify(jacfwdGraph(graph, [true]));
    const last = result.equations.at(-1);
    expect(last?.op).toBe("diag");
    expect(opsOf(result)).not.toContain("eye");
    for (const { outputs } of result.equations.slice(0, -1)) {
      for (const id of outputs) expect(result.avals[id]?.shape.length).toBeLessThanOrEqual(1);
    }
  });

  test("a function of a part is padding around the part's Jacobian", () => {
    const graph = build((b, x) => {
      const part = b.emit("slice", [x], { start: [2], limit: [5], step: [1] });
      return b.apply(
        "tanh",
        b.emit("contract", [b.constant(matrix(4, 3), new Elements(wave(12))), part], multiply),
      );
    }, 8);
    const result = simplify(jacrevGraph(graph, [true]));
    expect(result.equations.at(-1)?.op).toBe("pad");
    for (const { op, outputs } of result.equations) {
      if (op !== "pad") for (const id of outputs) expect(result.avals[id]?.shape.at(-1)).not.toBe(8);
    }
  });
});

/** A random function of a vector of 6 to a vector, built of slices, products, pointwise functions and joins. */
const recipes = fc.letrec<{ node: Recipe }>((tie) => ({
  node: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.record({ kind: fc.constant("x" as const) }),
    fc.record({ kind: fc.constantFrom("sin", "tanh", "neg", "square"), of: tie("node") }),
    fc.record({ kind: fc.constantFrom("add", "mul", "divide", "where"), of: tie("node"), and: tie("node") }),
    fc.record({ kind: fc.constant("dot" as const), of: tie("node"), phase: fc.nat(3) }),
    fc.record({ kind: fc.constant("halves" as const), of: tie("node") }),
    fc.record({ kind: fc.constantFrom("neighbours", "shift"), of: tie("node") }),
  ),
})).node;

type Recipe =
  | { kind: "x" }
  | { kind: "sin" | "tanh" | "neg" | "square" | "halves" | "neighbours" | "shift"; of: Recipe }
  | { kind: "add" | "mul" | "divide" | "where"; of: Recipe; and: Recipe }
  | { kind: "dot"; of: Recipe; phase: number };

const size = 6;

function cook(b: GraphBuilder, x: ValueId, recipe: Recipe): ValueId {
  if (recipe.kind === "x") return x;
  const y = cook(b, x, recipe.of);
  const part = (start: number, limit: number): ValueId =>
    b.emit("slice", [y], { start: [start], limit: [limit], step: [1] });
  switch (recipe.kind) {
    case "sin":
    case "tanh":
    case "neg":
      return b.apply(recipe.kind, y);
    case "square":
      return b.apply("mul", y, y);
    case "halves":
      return b.emit("concatenate", [b.apply("tanh", part(3, 6)), part(0, 3)], { axis: 0 });
    case "neighbours": {
      const product = b.apply("mul", part(1, size), part(0, size - 1));
      return b.emit("pad", [product], { low: [0], high: [1], interior: [0] });
    }
    case "shift":
      return b.emit("pad", [b.apply("sin", part(1, 4))], { low: [2], high: [1], interior: [0] });
    case "dot":
      return b.emit(
        "contract",
        [b.constant(matrix(size, size), new Elements(wave(size * size, recipe.phase))), y],
        multiply,
      );
    case "add":
    case "mul":
      return b.apply(recipe.kind, y, cook(b, x, recipe.and));
    case "divide": {
      const other = cook(b, x, recipe.and);
      return b.apply("div", y, b.apply("add", b.like(other, 2), b.apply("mul", other, other)));
    }
    case "where": {
      const other = cook(b, x, recipe.and);
      return b.apply("select", b.apply("greater", y, other), other, y);
    }
  }
}

test("random compositions: simplified Jacobians, forward and reverse, agree with each other and with differences", () => {
  fc.assert(
    fc.property(
      recipes,
      fc.array(fc.double({ min: 0.1, max: 1, noNaN: true }), { minLength: size, maxLength: size }),
      (recipe, point) => {
        const graph = build((b, x) => cook(b, x, recipe), size);
        const at = (values: readonly number[]) => [{ ...vector(size), data: Float64Array.from(values) }];
        const forward = jacfwdGraph(graph, [true]);
        const [plain, simple, reverse] = [
          interpret(forward, at(point))[0],
          interpret(simplify(forward), at(point))[0],
          interpret(simplify(jacrevGraph(graph, [true])), at(point))[0],
        ];
        if (plain === undefined || simple === undefined || reverse === undefined)
          throw new Error("no result");
        expect(plain.shape).toEqual([size, size]);
        const scale = Math.max(1, ...Array.from(plain.data, Math.abs));
        fc.pre(scale < 1e6);
        for (let i = 0; i < size * size; i++) {
          const wanted = plain.data[i] ?? NaN;
          expect(Math.abs((simple.data[i] ?? NaN) - wanted)).toBeLessThanOrEqual(1e-13 * scale);
          expect(Math.abs((reverse.data[i] ?? NaN) - wanted)).toBeLessThanOrEqual(1e-12 * scale);
        }
        // A branch may lie between the two points of a difference; then the differences of both sides disagree.
        for (let column = 0; column < size; column++) {
          const step = 1e-6;
          const value = (factor: number) =>
            interpret(graph, at(point.map((v, i) => (i === column ? v + factor * step : v))))[0]?.data ??
            new Float64Array();
          const [ahead, here, behind] = [value(1), value(0), value(-1)];
          for (let row = 0; row < size; row++) {
            const [a, h, c] = [ahead[row] ?? NaN, here[row] ?? NaN, behind[row] ?? NaN];
            const curvature = Math.abs(a - 2 * h + c) / step;
            const error = Math.abs((a - c) / (2 * step) - (plain.data[row * size + column] ?? NaN));
            expect(error).toBeLessThanOrEqual(1e-6 * scale * scale + 2 * curvature);
          }
        }
      },
    ),
    { numRuns: 150 },
  );
});
