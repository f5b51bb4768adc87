// Tracing: what becomes of a function, what it may not do, and how traces nest.
import { Elements } from "#heddle/base/elements";
import { inspect } from "node:util";
import type { NDArray, PrintedGraph } from "heddle";
import {
  ArgumentError,
  ConcretizationError,
  grad,
  GraphError,
  jit,
  LeakedTraceError,
  makeGraph,
  np,
  ShapeError,
  tree,
  vmap,
} from "heddle";
import type { Graph } from "#heddle/ir/graph";
import { checkGraph } from "#heddle/primitives/check";
import { describe, expect, it } from "vitest";
import { expectError } from "./expectError.js";

const a = np.array([
  [1, 2],
  [3, 4],
  [5, 6],
]);

describe("makeGraph", () => {
  it("prints the typed graph, with constants, parameters and scalars", () => {
    const printed = makeGraph((c) => np.dot(a, c).tanh().sub(1))(np.ones(2));
    const text = [
      "graph(a: f64[2]) {",
      "  const k0: f64[3,2]",
      '  b: f64[3] = contract["i j, j -> i"] k0 a',
      "  c: f64[3] = tanh b",
      "  d: f64[3] = fill[1]",
      "  e: f64[3] = sub c d",
      "  return e",
      "}",
    ].join("\n");
    expect(String(printed)).toBe(text);
    expect(inspect(printed)).toBe(text);
    expect(checkGraph(printed.graph)).toBe(printed.graph);
  });

  it("refers to the same data once, and keeps structure symbolic", () => {
    const { graph } = makeGraph((c: NDArray) =>
      np
        .dot(a, c)
        .add(np.dot(a, np.eye(2)).sum())
        .add(np.zeros(3)),
    )(np.ones(2));
    expect(graph.constants).toHaveLength(2);
    expect(graph.equations.map(({ op }) => op)).toContain("fill");
    // What is known already is computed: the product with eye is a constant.
    expect(graph.equations.filter(({ op }) => op === "contract")).toHaveLength(1);
  });

  it("is structured-cloneable data", () => {
    const { graph } = makeGraph((x: NDArray) => x.mul(np.array([1, 2])).sum())([1, 2]);
    const clone = structuredClone(graph);
    expect(clone).toEqual(graph);
    expect(checkGraph(clone)).toBe(clone);
  });

  it("flattens trees of arguments and results by sorted keys", () => {
    const f = (p: { b: NDArray; a: NDArray }, [x]: [NDArray]) => ({ z: p.b, y: [x, p.a] });
    const { graph } = makeGraph(f)({ b: [1, 2, 3], a: 1 }, [np.ones([2, 2])]);
    expect(graph.inputs.map((id) => graph.avals[id]?.shape)).toEqual([[], [3], [2, 2]]);
    expect(graph.outputs.map((id) => graph.avals[id]?.shape)).toEqual([[2, 2], [], [3]]);
  });

  it("takes results that are numbers or lists", () => {
    const { graph } = makeGraph(() => ({ a: 1, b: [1, 2] }))();
    expect(graph.outputs.map((id) => graph.avals[id]?.shape)).toEqual([[], [2]]);
  });
});

describe("a traced value where a concrete one is needed", () => {
  const refused: readonly [string, (x: NDArray) => unknown, ...string[]][] = [
    ["comparison", (x) => (Number(x) > 0 ? x : x.neg()), "np.where"],
    ["arithmetic", (x) => Number(x) + 1, ".add"],
    ["a property name", (x) => [1, 2][x as unknown as number], ".slice"],
    ["a template", (x) => `x is ${x as unknown as string}`, "console.log"],
    ["data", (x) => x.data, ".data"],
    ["item", (x) => x.item(), "np.where"],
    ["toArray", (x) => x.toArray(), ".toArray()"],
    ["JSON", (x) => JSON.stringify(x), ".toArray()"],
  ];

  it.each(refused)("%s", (_, f, ...parts) => {
    expectError(
      () => makeGraph(f)(1),
      ConcretizationError,
      "HEDDLE_CONCRETIZATION",
      "traced f64[]",
      "makeGraph",
      ...parts,
    );
    expect(() => jit(f)(1)).toThrow(ConcretizationError);
    expect(() => grad(f as (x: NDArray) => NDArray)(1)).toThrow(ConcretizationError);
  });

  it("still describes itself, and has a type", () => {
    makeGraph((x: NDArray) => {
      expect([x.shape, x.dtype, x.ndim, x.size, x.length, x.traced]).toEqual([[3], "float64", 1, 3, 3, true]);
      expect(inspect(x)).toBe("NDArray(traced f64[3])");
      expect(x.toString()).toBe("traced f64[3]");
      expect([...x]).toHaveLength(3);
      return x;
    })([1, 2, 3]);
  });

  it("does not concern constants inside a traced function", () => {
    const f = (x: NDArray) => (np.dot(a, [1, 1]).sum().item() > 20 ? x.mul(2) : x);
    expect(jit(f)(3).item()).toBe(6);
  });

  it("shapes are checked while tracing", () => {
    expectError(
      () => makeGraph((x) => np.dot(a, x))(np.ones(3)),
      ShapeError,
      "HEDDLE_SHAPE",
      "2 in a [3,2]",
      "3 in b [3]",
    );
  });
});

describe("what cannot be traced", () => {
  it("async functions", async () => {
    expectError(
      () => makeGraph(async (x: NDArray) => x)(1),
      ArgumentError,
      "HEDDLE_ARGUMENT",
      "f is an async function",
      "await",
    );
    const disguised = (x: NDArray) => Promise.reject(new Error(`never seen ${x.ndim}`));
    expectError(() => makeGraph(disguised)(1), ArgumentError, "HEDDLE_ARGUMENT", "async");
    await new Promise((resolve) => setTimeout(resolve, 1));
  });

  it("functions that return no arrays, by place", () => {
    const trace = (value: unknown) => () => makeGraph(() => value)();
    expectError(trace(undefined), ArgumentError, "HEDDLE_ARGUMENT", "the result of f is undefined");
    expectError(
      trace({ a: [np.ones(1), "x"] }),
      ArgumentError,
      "HEDDLE_ARGUMENT",
      'the result of f.a[1] is the string "x"',
    );
    expectError(
      trace({ m: new Map() }),
      ArgumentError,
      "HEDDLE_ARGUMENT",
      "result of f.m",
      "Map",
      "tree.register",
    );
    expectError(
      trace(() => 1),
      ArgumentError,
      "HEDDLE_ARGUMENT",
      "a function",
    );
    expectError(
      () => makeGraph(3 as unknown as () => NDArray),
      ArgumentError,
      "HEDDLE_ARGUMENT",
      "f is a number",
    );
  });

  it("arguments that are no arrays", () => {
    const f = makeGraph((x: unknown) => x) as (x: unknown) => PrintedGraph;
    expectError(() => f({ a: "x" }), ArgumentError, "HEDDLE_ARGUMENT", "argument 0.a", '"x"');
    expectError(() => f(undefined), ArgumentError, "HEDDLE_ARGUMENT", "argument 0", "undefined");
    expect(f(null).graph.inputs).toEqual([]);
  });

  it("values that outlive their trace", () => {
    let leaked = np.array(0) as NDArray;
    makeGraph((x: NDArray) => (leaked = x.mul(2)))([1, 2]);
    expectError(
      () => leaked.add(1),
      LeakedTraceError,
      "HEDDLE_LEAKED_TRACE",
      "add",
      "operand 0",
      "f64[2]",
      "makeGraph",
    );
    expectError(
      () => makeGraph((x: NDArray) => x.add(leaked))([1, 2]),
      LeakedTraceError,
      "HEDDLE_LEAKED_TRACE",
      "operand 1",
    );
    expectError(() => leaked.data, ConcretizationError, "HEDDLE_CONCRETIZATION", "makeGraph");
    expect(() => makeGraph(() => leaked)()).toThrow(LeakedTraceError);
  });

  it("a function that throws leaves nothing behind", () => {
    expect(() =>
      makeGraph(() => {
        throw new Error("inside");
      })(),
    ).toThrow("inside");
    expect(np.add(1, 2).item()).toBe(3);
    expect(grad((x) => x.mul(x))(3).item()).toBe(6);
  });
});

describe("nested traces", () => {
  it("do not confuse each other's variables", () => {
    expect(grad((x) => x.mul(grad((y) => x.add(y))(1)))(3).item()).toBe(1);
    expect(grad((x) => x.mul(grad((y) => x.mul(y))(2)))(3).item()).toBe(6);
    expect(grad((x) => grad((y) => x.mul(y).mul(y))(x))(3).item()).toBe(12);
    // 2xy² from the innermost; then 4xy with x fixed, 4x² at y = x, and 8x.
    expect(grad((x) => grad((y) => grad((z) => x.mul(y).mul(z).mul(z))(y))(x))(2).item()).toBe(16);
  });

  it("capture values of outer ones through every kind", () => {
    const f = (x: NDArray) =>
      vmap((row: NDArray) => row.mul(x).sum())(
        np.array([
          [1, 2],
          [3, 4],
        ]),
      ).sum();
    expect(grad(f)([1, 1]).toArray()).toEqual([4, 6]);
    expect(jit(grad(f))([1, 1]).toArray()).toEqual([4, 6]);
    const g = (x: NDArray) => jit((y: NDArray) => y.mul(x))(np.array([1, 2])).sum();
    expect(grad(g)(5).item()).toBe(3);
    expect(jit(g)(5).item()).toBe(15);
    const h = (x: NDArray) => vmap((y: NDArray) => grad((z: NDArray) => z.mul(y).mul(x))(1))([1, 2, 3]);
    expect(h(np.array(2)).toArray()).toEqual([2, 4, 6]);
    expect(vmap(h)([1, 2]).toArray()).toEqual([
      [1, 2, 3],
      [2, 4, 6],
    ]);
  });

  it("a compiled function does not remember values of a trace", () => {
    const seen: number[] = [];
    const inner = (x: NDArray) => jit((y: NDArray) => y.mul(x));
    for (const value of [2, 3]) seen.push(grad((x: NDArray) => inner(x)(1))(value).item());
    expect(seen).toEqual([1, 1]);
    const shared: { x: NDArray } = { x: np.array(0) };
    const f = jit((y: NDArray) => y.mul(shared.x));
    const outer = (x: NDArray) => {
      shared.x = x;
      return f(np.array(2));
    };
    expect([grad(outer)(1).item(), grad(outer)(5).item()]).toEqual([2, 2]);
  });
});

describe("checkGraph", () => {
  const { graph } = makeGraph((x: NDArray) => x.add(1).mul(np.array([1, 2])))([1, 2]);
  const broken = (change: (copy: { -readonly [K in keyof Graph]: Graph[K] }) => void, ...parts: string[]) => {
    const copy = { ...structuredClone(graph) };
    change(copy);
    expectError(() => checkGraph(copy), GraphError, "HEDDLE_GRAPH", ...parts);
  };

  it("refuses each way of breaking the form", () => {
    expect(checkGraph(graph)).toBe(graph);
    broken((g) => (g.equations = [...g.equations].reverse()), "equation 0", "defined before");
    broken((g) => (g.outputs = [99]), "output 0", "value 99");
    broken((g) => (g.inputs = [0, 0]), "input 1", "second definition");
    broken(
      (g) => (g.avals = g.avals.map((aval) => ({ ...aval, dtype: "float32" }))),
      "equation 0 (fill)",
      "f32[2]",
      "f64[2]",
    );
    broken(
      (g) => (g.avals = g.avals.map((aval, i) => (i === 0 ? { ...aval, shape: [3] } : aval))),
      "shape rule refuses",
    );
    broken((g) => (g.avals = []), "a value that has a type");
    broken(
      (g) => (g.constants = g.constants.map(({ id }) => ({ id, data: new Elements(new Float64Array(1)) }))),
      "constant 0",
      "1 elements",
    );
    broken((g) => (g.equations = g.equations.map((e) => ({ ...e, outputs: [] }))), "0 results");
  });
});

describe("trees of user classes", () => {
  class Line {
    readonly slope: NDArray;
    readonly name: string;
    constructor(slope: NDArray, name: string) {
      this.slope = slope;
      this.name = name;
    }
  }
  tree.register(Line, {
    flatten: (line) => [[line.slope], line.name],
    unflatten: ([slope]: [NDArray], name: string) => new Line(slope, name),
  });

  it("are arguments and results", () => {
    const scaled = jit((line: Line) => new Line(line.slope.mul(2), line.name))(
      new Line(np.array([3]), "first"),
    );
    expect(scaled).toBeInstanceOf(Line);
    expect([scaled.slope.toArray(), scaled.name]).toEqual([[6], "first"]);
    const slope = grad((line: Line) => line.slope.mul(line.slope).sum())(new Line(np.array([3]), "a"));
    expect(slope).toMatchObject({ name: "a" });
    expect(slope.slope.toArray()).toEqual([6]);
  });
});
