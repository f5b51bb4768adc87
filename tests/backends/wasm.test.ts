// Compares the WebAssembly backend with the reference: every primitive and dtype, shapes with no element, with one, and
// around the widths of vectors, random compositions, and outputs that lie anywhere.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { at } from "#heddle/base/at";
import type { DType } from "#heddle/base/dtype";
import { allocate, dtypes } from "#heddle/base/dtype";
import { sizeOf } from "#heddle/base/shape";
import { interpret } from "#heddle/backends/reference/interpret";
import { lower } from "#heddle/backends/lower/lower";
import { liveEquations } from "#heddle/backends/lower/materialize";
import { WasmBackend } from "#heddle/backends/wasm/backend";
import type { Aval, Graph, OpName, OpParams, ValueId } from "#heddle/ir/graph";
import { GraphBuilder } from "#heddle/primitives/builder";
import type { HostArray } from "#heddle/primitives/row";
import { primitives } from "#heddle/primitives/table";
import { samples } from "../laws/samples.js";
import type { RunOptions } from "./harness.js";
import { differenceOf, run } from "./harness.js";

const wasm = new WasmBackend();

/** A small deterministic generator, so that a failure names its seed. */
function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
}

const special: Readonly<Record<DType, readonly number[]>> = {
  float64: [
    0,
    -0,
    1,
    -1,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    Infinity,
    -Infinity,
    NaN,
    1e300,
    -1e-300,
    5e-324,
    4294967296.5,
  ],
  float32: [
    0,
    -0,
    1,
    -1,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    Infinity,
    -Infinity,
    NaN,
    3e38,
    -1e-40,
    2147483648,
    4294967040,
  ],
  int32: [0, 1, -1, 2, -2, 7, -7, 2147483647, -2147483648, 31, 65536, -65537],
  uint32: [0, 1, 2, 3, 7, 31, 65535, 65536, 2147483647, 2147483648, 4294967295],
  bool: [0, 1],
};

function array(aval: Aval, seed: number, kind: "special" | "plain" = "special"): HostArray {
  const next = random(seed);
  const data = allocate(aval.dtype, sizeOf(aval.shape));
  const pool = special[aval.dtype];
  for (let i = 0; i < data.length; i++) {
    const choice = next();
    if (kind === "special" && choice < 0.5) data[i] = at(pool, Math.floor(next() * pool.length));
    else if (aval.dtype === "bool") data[i] = choice < 0.75 ? 1 : 0;
    else data[i] = aval.dtype === "uint32" ? Math.floor(next() * 40) : (next() - 0.5) * 20;
  }
  return { ...aval, data };
}

const rounding: ReadonlySet<OpName> = new Set<OpName>(["reduceSum", "reduceProd", "contract"]);

function toleranceOf(graph: Graph): number {
  if (!graph.equations.some(({ op }) => rounding.has(op))) return 0;
  return graph.avals.some(({ dtype }) => dtype === "float32") ? 1e-4 : 1e-11;
}

function expectSame(graph: Graph, inputs: readonly HostArray[], options: RunOptions = {}): void {
  const expected = interpret(graph, inputs);
  const found = run(wasm, graph, inputs, options);
  expect(found.length).toBe(expected.length);
  found.forEach((result, position) => {
    const difference = differenceOf(result, at(expected, position), toleranceOf(graph));
    if (difference !== null) {
      const ops = graph.equations.map(
        ({ op, params, inputs: operands }) => `${op}(${operands}) ${JSON.stringify(params)}`,
      );
      throw new Error(
        `output ${position}: ${difference}\n${ops.join("\n")}\n${wasm.compile(graph).kernels.join()}`,
      );
    }
  });
}

function single<K extends OpName>(op: K, operands: readonly Aval[], params: OpParams[K]): Graph {
  const b = new GraphBuilder();
  const result = b.emit(
    op,
    operands.map((aval) => b.input(aval)),
    params,
  );
  return b.build([result]);
}

const shapes = [
  [],
  [0],
  [1],
  [2],
  [3],
  [5],
  [8],
  [17],
  [33],
  [130],
  [3, 0],
  [0, 4],
  [2, 3],
  [5, 7],
  [3, 1, 9],
  [2, 65],
];

describe("samples of the table", () => {
  for (const [name, list] of Object.entries(samples)) {
    it(name, () => {
      expect(list.length).toBeGreaterThan(0);
      list.forEach((sample, position) => {
        // The table of samples is indexed by name, which Object.entries forgets.
        const graph = single(name as OpName, sample.inputs, sample.params as never);
        const inputs = sample.inputs.map((operand, number) => {
          const next = random(position * 10 + number + 1);
          const data = allocate(operand.dtype, sizeOf(operand.shape));
          for (let i = 0; i < data.length; i++) data[i] = operand.low + (operand.high - operand.low) * next();
          return { ...operand, data };
        });
        expectSame(graph, inputs);
      });
    });
  }
});

describe("element-wise primitives", () => {
  const elementwise = (Object.keys(primitives) as OpName[]).filter((op) => {
    const sample = samples[op][0];
    return sample !== undefined && Object.keys(sample.params).length === 0 && op !== "diag";
  });

  it("are found", () => expect(elementwise.length).toBeGreaterThan(45));

  for (const op of elementwise) {
    it(`${op} agrees to the last bit for every dtype and shape`, () => {
      let tried = 0;
      for (const dtype of dtypes) {
        for (const shape of [...shapes, [1000]]) {
          const arity = op === "select" ? 3 : (primitives[op].arity ?? 1);
          const operands = Array.from({ length: arity }, (_, position): Aval => ({
            dtype: op === "select" && position === 0 ? "bool" : dtype,
            shape,
          }));
          let graph: Graph;
          try {
            graph = single(op, operands, {});
          } catch {
            continue;
          }
          tried++;
          expectSame(
            graph,
            operands.map((aval, position) => array(aval, tried * 7 + position)),
          );
        }
      }
      expect(tried).toBeGreaterThanOrEqual(shapes.length);
    });
  }

  it("convert agrees for every pair of dtypes", () => {
    for (const from of dtypes) {
      for (const to of dtypes) {
        for (const shape of [[], [0], [7], [130]]) {
          const aval: Aval = { dtype: from, shape };
          expectSame(single("convert", [aval], { dtype: to }), [array(aval, 5)]);
        }
      }
    }
  });
});

describe("reductions", () => {
  const axesOf: readonly [number[], number[]][] = [
    [[1], [0]],
    [[7], [0]],
    [[1000], [0]],
    [[5, 6], [0]],
    [[5, 6], [1]],
    [
      [33, 40],
      [0, 1],
    ],
    [[40, 33], [0]],
    [[40, 70], [1]],
    [
      [3, 4, 5],
      [0, 2],
    ],
    [[3, 4, 37], [1]],
    [
      [2, 9, 1],
      [1, 2],
    ],
    [[4, 1, 16], [0]],
  ];
  for (const op of ["reduceSum", "reduceProd", "reduceMax", "reduceMin"] as const) {
    it(op, () => {
      for (const dtype of dtypes) {
        if (dtype === "bool" && (op === "reduceSum" || op === "reduceProd")) continue;
        for (const [shape, axes] of axesOf) {
          const aval: Aval = { dtype, shape };
          const exact = op === "reduceMax" || op === "reduceMin";
          const input = array(aval, 11, exact ? "special" : "plain");
          if (op === "reduceProd" && (dtype === "float64" || dtype === "float32")) {
            for (let i = 0; i < input.data.length; i++) input.data[i] = 1 + at(input.data, i) / 1000;
          }
          expectSame(single(op, [aval], { axes }), [input]);
        }
      }
    });
  }
  for (const op of ["argMax", "argMin"] as const) {
    it(op, () => {
      for (const dtype of dtypes) {
        for (const [shape, [axis = 0]] of axesOf) {
          const aval: Aval = { dtype, shape };
          for (const kind of ["special", "plain"] as const) {
            expectSame(single(op, [aval], { axis }), [array(aval, 3, kind)]);
          }
        }
      }
    });
  }
  it("of nothing give the identity", () => {
    for (const [op, value] of [
      ["reduceSum", 0],
      ["reduceProd", 1],
    ] as const) {
      const [result] = run(wasm, single(op, [{ dtype: "float64", shape: [2, 0] }], { axes: [1] }), [
        { dtype: "float64", shape: [2, 0], data: new Float64Array(0) },
      ]);
      expect([...(result?.data ?? [])]).toEqual([value, value]);
    }
  });
  it("keep the sign of zero in a sum, as the reference does", () => {
    const aval: Aval = { dtype: "float64", shape: [20] };
    expectSame(single("reduceSum", [aval], { axes: [0] }), [
      { ...aval, data: new Float64Array(20).fill(-0) },
    ]);
  });
});

describe("contractions", () => {
  const cases: readonly [string, number[], number[]][] = [
    ["m k, k n -> m n", [1, 1], [1, 1]],
    ["m k, k n -> m n", [5, 7], [7, 3]],
    ["m k, k n -> m n", [16, 16], [16, 16]],
    ["m k, k n -> m n", [37, 19], [19, 23]],
    ["m k, n k -> m n", [21, 40], [18, 40]],
    ["k m, k n -> m n", [33, 9], [33, 14]],
    ["k m, n k -> m n", [12, 13], [15, 12]],
    ["m k, k n -> n m", [9, 12], [12, 31]],
    ["m k, k -> m", [40, 65], [65]],
    ["k m, k -> m", [40, 65], [40]],
    ["k, k n -> n", [40], [40, 33]],
    ["k, k -> ", [77], [77]],
    ["m, n -> m n", [6], [9]],
    ["m, n -> n m", [6], [9]],
    ["b m k, b k n -> b m n", [3, 9, 11], [3, 11, 13]],
    ["b m k, b k -> b m", [3, 9, 11], [3, 11]],
    ["m k l, l k n -> m n", [9, 3, 5], [5, 3, 10]],
    ["m k l, k l -> m", [9, 6, 8], [6, 8]],
    ["i, i -> i", [9], [9]],
    ["m k, k n -> m n", [4, 0], [0, 5]],
    ["m k, k n -> m n", [0, 4], [4, 5]],
    ["b i j, j b -> i b", [4, 5, 6], [6, 4]],
  ];
  for (const [signature, a, b] of cases) {
    it(`${signature} of [${a}] and [${b}]`, () => {
      for (const dtype of ["float64", "float32", "int32", "uint32"] as const) {
        const operands: Aval[] = [
          { dtype, shape: a },
          { dtype, shape: b },
        ];
        const graph = single("contract", operands, { signature });
        expectSame(graph, [array(at(operands, 0), 1, "plain"), array(at(operands, 1), 2, "plain")]);
      }
    });
  }
});

/** Emits a random operation on values of a builder. */
function grow(b: GraphBuilder, values: ValueId[], next: () => number): void {
  const pick = (): ValueId => at(values, Math.floor(next() * values.length));
  const x = pick();
  const { dtype, shape } = b.aval(x);
  const rank = shape.length;
  const alike = values.filter((id) => {
    const aval = b.aval(id);
    return aval.dtype === dtype && aval.shape.join() === shape.join();
  });
  const y = at(alike, Math.floor(next() * alike.length));
  const choice = Math.floor(next() * 20);
  const axis = Math.floor(next() * rank);
  const push = (id: ValueId): void => void values.push(id);
  switch (choice) {
    case 0:
    case 1:
    case 2:
      return push(
        b.apply((["add", "sub", "mul", "max", "min"] as const)[Math.floor(next() * 5)] ?? "add", x, y),
      );
    case 3:
      return push(b.apply("mul", b.apply("tanh", x), y));
    case 4:
      return push(b.apply("select", b.apply("less", x, y), x, b.like(x, 0.5)));
    case 5:
      if (sizeOf(shape) < 200)
        return push(
          b.broadcast(
            x,
            [3, ...shape],
            shape.map((_, i) => i + 1),
          ),
        );
      return;
    case 6:
      if (sizeOf(shape) < 200)
        return push(
          b.broadcast(
            x,
            [...shape, 5],
            shape.map((_, i) => i),
          ),
        );
      return;
    case 7:
      return push(b.reshape(x, [sizeOf(shape)]));
    case 8:
      if (sizeOf(shape) % 2 === 0) return push(b.reshape(x, [2, sizeOf(shape) / 2]));
      return;
    case 9:
      return push(
        b.transpose(
          x,
          shape.map((_, i) => rank - 1 - i),
        ),
      );
    case 10:
      if (rank > 0) return push(b.emit("reverse", [x], { axes: [axis] }));
      return;
    case 11:
      if (rank > 0 && at(shape, axis) > 1) {
        return push(
          b.emit("slice", [x], {
            start: shape.map((_, i) => (i === axis ? 1 : 0)),
            limit: shape,
            step: shape.map((_, i) => (i === axis ? 2 : 1)),
          }),
        );
      }
      return;
    case 12:
      if (rank > 0 && sizeOf(shape) < 200) {
        const width = (k: number): number[] => shape.map((_, i) => (i === axis ? k : 0));
        return push(b.emit("pad", [x], { low: width(1), high: width(2), interior: width(1) }));
      }
      return;
    case 13:
      if (rank > 0 && sizeOf(shape) < 200) return push(b.emit("concatenate", [x, y], { axis }));
      return;
    case 14:
    case 15:
      if (rank > 0) return push(b.sum(x, [axis]));
      return;
    case 16:
      if (rank > 0 && sizeOf(shape) > 0) return push(b.emit("reduceMax", [x], { axes: [axis] }));
      return;
    case 17:
      if (rank === 2)
        return push(b.emit("contract", [x, b.transpose(y, [1, 0])], { signature: "m k, k n -> m n" }));
      return;
    case 18:
      if (rank === 1 && sizeOf(shape) > 0 && sizeOf(shape) < 40) return push(b.emit("diag", [x], {}));
      return;
    case 19: {
      if (rank === 0 || at(shape, axis) === 0) return;
      const indices = b.emit("iota", [], { dtype: "int32", shape: [4], axis: 0 });
      return push(b.emit("gather", [x, indices], { axis }));
    }
    default:
  }
}

function composition(seed: number): { graph: Graph; inputs: HostArray[] } {
  const next = random(seed);
  const b = new GraphBuilder();
  const dtype: DType = next() < 0.7 ? "float64" : "float32";
  const avals: Aval[] = [
    { dtype, shape: [4, 6] },
    { dtype, shape: [6] },
    { dtype, shape: [37] },
    { dtype, shape: [] },
  ];
  const values = avals.map((aval) => b.input(aval));
  for (let i = 0; i < 14; i++) {
    grow(b, values, next);
    const last = at(values, values.length - 1);
    // Keep numbers small, so that rounding stays comparable.
    if (next() < 0.4) values.push(b.apply("sin", last));
  }
  const outputs = Array.from({ length: 1 + Math.floor(next() * 4) }, () =>
    at(values, Math.max(0, values.length - 1 - Math.floor(next() * 8))),
  );
  const graph = b.build(outputs);
  return {
    graph,
    inputs: avals.map((aval, position) => {
      const made = array(aval, seed + position, "plain");
      for (let i = 0; i < made.data.length; i++) made.data[i] = at(made.data, i) / 10;
      return made;
    }),
  };
}

describe("compositions", () => {
  it("agree with the reference", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e9 }), fc.boolean(), (seed, strided) => {
        const { graph, inputs } = composition(seed);
        const strides = new Map<number, readonly number[]>();
        if (strided) {
          graph.outputs.forEach((id, position) => {
            const { shape } = at(graph.avals, id);
            const inner = seed % 3 === 0 ? 2 : 1;
            let stride = inner;
            const list = [...shape].reverse().map((extent) => {
              const own = stride;
              stride = stride * Math.max(1, extent) + 3;
              return own;
            });
            strides.set(position, list.reverse());
          });
        }
        expectSame(graph, inputs, { strides });
      }),
      { numRuns: 400 },
    );
  });

  it("do not explode: x = x·x + x sixty times, also with shifts", () => {
    for (const shifted of [false, true]) {
      const b = new GraphBuilder();
      const aval: Aval = { dtype: "float64", shape: [64] };
      let x = b.input(aval);
      const input = x;
      for (let i = 0; i < 60; i++) {
        const other = shifted ? b.emit("reverse", [x], { axes: [0] }) : x;
        x = b.apply("mul", b.apply("add", b.apply("mul", x, other), x), b.like(input, 0.4));
      }
      const graph = b.build([x]);
      const started = performance.now();
      expectSame(
        graph,
        [array(aval, 1, "plain")].map((a) => ({ ...a, data: a.data.map((v) => v / 20) })),
      );
      expect(performance.now() - started).toBeLessThan(2000);
    }
  });

  it("read parts of a concatenation, stacks, and values behind transposed outputs", () => {
    const b = new GraphBuilder();
    const parts = Array.from({ length: 6 }, () => b.input({ dtype: "float64", shape: [5] }));
    const joined = b.emit("concatenate", parts, { axis: 0 });
    const stacked = b.emit(
      "concatenate",
      parts.slice(0, 5).map((id) => b.reshape(b.apply("tanh", id), [1, 5])),
      { axis: 0 },
    );
    const first = b.emit("slice", [joined], { start: [0], limit: [5], step: [1] });
    const later = b.emit("slice", [joined], { start: [5], limit: [10], step: [1] });
    const product = b.emit("contract", [stacked, stacked], { signature: "m k, k n -> m n" });
    const turned = b.transpose(product, [1, 0]);
    const graph = b.build([
      turned,
      b.apply("add", first, later),
      stacked,
      b.apply("mul", turned, b.broadcast(first, [5, 5], [0])),
      b.sum(b.apply("mul", stacked, b.transpose(stacked, [1, 0])), [0]),
    ]);
    const inputs = parts.map((id, position) => array(at(graph.avals, id), position, "plain"));
    expectSame(graph, inputs);
    expectSame(graph, inputs, {
      strides: new Map([
        [0, [9, 1]],
        [3, [2, 11]],
      ]),
    });
  });

  it("handle outputs that are inputs, constants, repeated, or unused", () => {
    const b = new GraphBuilder();
    const aval: Aval = { dtype: "float64", shape: [3, 4] };
    const x = b.input(aval);
    const unused = b.input(aval);
    const y = b.apply("exp", x);
    b.apply("log", unused);
    const graph = b.build([x, y, y, b.fill(2.5, aval), x, b.eye("float64", 4, 3), b.apply("add", y, y)]);
    expectSame(graph, [array(aval, 1), array(aval, 2)]);
  });
});

describe("fusion", () => {
  it("makes one kernel of tanh(A·c) − t and its Jacobian", () => {
    const b = new GraphBuilder();
    const [m, n] = [50, 37];
    const A = b.input({ dtype: "float64", shape: [m, n] });
    const c = b.input({ dtype: "float64", shape: [n] });
    const t = b.input({ dtype: "float64", shape: [m] });
    const h = b.apply("tanh", b.emit("contract", [A, c], { signature: "m k, k -> m" }));
    const slope = b.apply("sub", b.like(h, 1), b.apply("mul", h, h));
    const jacobian = b.apply("mul", b.broadcast(slope, [m, n], [0]), A);
    const graph = b.build([b.apply("sub", h, t), jacobian]);
    const executable = wasm.compile(graph);
    expect(executable.kernels).toEqual(["contract_tanh_mul_sub_2more[50,37]"]);
    expect(lower(graph, { layouts: ["dense", "rows"] }).workspaceBytes).toBe(0);
    expectSame(
      graph,
      graph.inputs.map((id, position) => array(at(graph.avals, id), position, "plain")),
      { strides: new Map([[1, [n + 5, 1]]]) },
    );
  });
});

describe("the comparison", () => {
  it("catches a backend that computes another operation in the middle of a composition", () => {
    const swapped: Readonly<Partial<Record<OpName, OpName>>> = {
      add: "sub",
      sub: "add",
      mul: "add",
      sin: "cos",
    };
    let seeded = 0;
    let caught = 0;
    for (let seed = 0; seed < 60; seed++) {
      const { graph, inputs } = composition(seed);
      const live = liveEquations(graph).filter(({ op }) => swapped[op] !== undefined);
      const victim = live[seed % Math.max(1, live.length)];
      if (victim === undefined) continue;
      const mutant: Graph = {
        ...graph,
        // Both operations take the same operands and no parameters.
        equations: graph.equations.map((equation) =>
          equation === victim
            ? ({ ...equation, op: swapped[equation.op] } as Graph["equations"][number])
            : equation,
        ),
      };
      seeded++;
      const expected = interpret(graph, inputs);
      const found = run(wasm, mutant, inputs);
      const differs = found.some(
        (result, position) => differenceOf(result, at(expected, position), toleranceOf(graph)) !== null,
      );
      if (differs) caught++;
    }
    expect(seeded).toBeGreaterThan(40);
    // Some mutants mean the same: where an operand is zero, or only zeros of a pad are read.
    expect(caught / seeded).toBeGreaterThan(0.85);
  });

  it("sees a changed bit, a changed sign of zero and a write out of place", () => {
    const aval: Aval = { dtype: "float64", shape: [2] };
    const one = { ...aval, data: new Float64Array([1, 0]) };
    expect(differenceOf({ ...aval, data: new Float64Array([1 + 2 ** -52, 0]) }, one, 0)).toContain(
      "element 0",
    );
    expect(differenceOf({ ...aval, data: new Float64Array([1, -0]) }, one, 0)).toContain("element 1");
    const graph = single("neg", [aval], {});
    const astray = {
      name: "astray",
      compile: () => ({
        workspaceBytes: 0,
        kernels: [],
        bind: (memory: WebAssembly.Memory) => () => new Uint8Array(memory.buffer).fill(1, 0, 1),
      }),
    };
    expect(() => run(astray, graph, [one])).toThrow("outside");
  });
});
