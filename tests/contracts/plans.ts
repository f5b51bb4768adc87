// Plans for the transports' contract suite: every instruction occurs, and each plan says what must come out.
import type { Storage } from "#heddle/base/dtype";
import type { Graph } from "#heddle/ir/graph";
import { hashGraph } from "#heddle/ir/hash";
import { insertFrees } from "#heddle/plan/frees";
import type { CollectiveInstruction, Instruction, Plan, PlanProgram, Region } from "#heddle/plan/plan";

/** A plan, its inputs, and the outputs that every transport must give. */
export interface Case {
  readonly name: string;
  /** Outputs that a backend may round otherwise than JavaScript; all transports give the same bits all the same. */
  readonly rounded?: readonly string[];
  readonly plan: Plan;
  readonly arrays: Record<string, Storage>;
  readonly expected: Record<string, number[]>;
}

const f64 = (...shape: number[]) => ({ dtype: "float64", shape }) as const;

function withHash(program: Omit<PlanProgram<Graph>, "hash">): PlanProgram<Graph> {
  return { ...program, hash: hashGraph(program.graph) };
}

/** tanh of a matrix times a vector. */
export function tanhProgram(rows: number, columns: number, label: string): PlanProgram<Graph> {
  return withHash({
    inputs: [f64(rows, columns), f64(columns)],
    outputs: [f64(rows)],
    label,
    graph: {
      avals: [f64(rows, columns), f64(columns), f64(rows), f64(rows)],
      inputs: [0, 1],
      constants: [],
      equations: [
        { op: "contract", params: { signature: "m k, k -> m" }, inputs: [0, 1], outputs: [2] },
        { op: "tanh", params: {}, inputs: [2], outputs: [3] },
      ],
      outputs: [3],
    },
  });
}

/** x -> x + x */
export function doubleProgram(...shape: number[]): PlanProgram<Graph> {
  return withHash({
    inputs: [f64(...shape)],
    outputs: [f64(...shape)],
    graph: {
      avals: [f64(...shape), f64(...shape)],
      inputs: [0],
      constants: [],
      equations: [{ op: "add", params: {}, inputs: [0, 0], outputs: [1] }],
      outputs: [1],
    },
  });
}

function matrix(rows: number, columns: number, seed: number): Float64Array {
  return Float64Array.from({ length: rows * columns }, (_, i) => Math.sin(seed + 1.7 * i));
}

const all = (ranks: number): Record<string, number[]> => ({
  all: Array.from({ length: ranks }, (_, rank) => rank),
});

/** Seven blocks, dealt to the ranks, each writing its rows of y and its columns of the matrix J in place. */
export function blocks(ranks: number): Case {
  const count = 7;
  const [rows, columns] = [3, 5];
  const programs: Record<string, PlanProgram<Graph>> = { double: doubleProgram(rows, columns) };
  const regions: Record<string, Region> = {
    c: { ...f64(columns), role: "input" },
    y: { ...f64(count * rows), role: "output" },
    J: { ...f64(rows, count * columns + 1), role: "output", zero: true },
  };
  const arrays: Record<string, Storage> = { c: matrix(columns, 1, 0.5) };
  const lists: Instruction[][] = Array.from({ length: ranks }, () => []);
  const y: number[] = [];
  const jacobian = new Float64Array(rows * (count * columns + 1));
  for (let k = 0; k < count; k++) {
    programs[`f${k}`] = tanhProgram(rows, columns, `block ${k}`);
    regions[`A${k}`] = { ...f64(rows, columns), role: "constant" };
    const data = matrix(rows, columns, k);
    arrays[`A${k}`] = data;
    lists[(k * 5) % ranks]?.push(
      { kind: "load", buffer: "c", region: "c" },
      { kind: "load", buffer: "A", region: `A${k}` },
      { kind: "run", program: `f${k}`, inputs: ["A", "c"], outputs: ["y"] },
      { kind: "run", program: "double", inputs: ["A"], outputs: ["J"] },
      { kind: "store", buffer: "y", region: "y", window: { start: [k * rows], extent: [rows] } },
      {
        kind: "store",
        buffer: "J",
        region: "J",
        window: { start: [0, k * columns], extent: [rows, columns] },
      },
      ...["c", "A", "y", "J"].map((buffer): Instruction => ({ kind: "free", buffer })),
    );
    for (let i = 0; i < rows; i++) {
      let sum = 0;
      for (let j = 0; j < columns; j++) {
        const a = data[i * columns + j] ?? NaN;
        sum += a * (arrays["c"]?.[j] ?? NaN);
        jacobian[i * (count * columns + 1) + k * columns + j] = a + a;
      }
      y.push(Math.tanh(sum));
    }
  }
  return {
    name: "blocks in place",
    rounded: ["y"],
    plan: { version: 1, ranks, programs, regions, groups: {}, lists },
    arrays,
    expected: { y, J: [...jacobian] },
  };
}

/** A number goes round the ring of ranks, doubled by each, five times over. */
export function ring(ranks: number): Case {
  const to = (rank: number): number => (rank + 1) % ranks;
  const from = (rank: number): number => (rank + ranks - 1) % ranks;
  const double: Instruction = { kind: "run", program: "double", inputs: ["x"], outputs: ["y"] };
  const lists = Array.from({ length: ranks }, (_, rank): Instruction[] => {
    if (ranks === 1) {
      return [
        { kind: "load", buffer: "x", region: "x" },
        {
          kind: "loop",
          count: 5,
          body: [double, { kind: "free", buffer: "x" }, copy("y", "x"), { kind: "free", buffer: "y" }],
        },
        { kind: "store", buffer: "x", region: "y" },
        { kind: "free", buffer: "x" },
      ];
    }
    const receive: Instruction = { kind: "recv", buffer: "x", ...f64(3), from: from(rank), tag: "ring" };
    const pass: Instruction[] = [
      double,
      { kind: "send", buffer: "y", to: to(rank), tag: "ring" },
      { kind: "free", buffer: "x" },
      { kind: "free", buffer: "y" },
    ];
    if (rank !== 0) return [{ kind: "loop", count: 5, body: [receive, ...pass] }];
    return [
      { kind: "load", buffer: "x", region: "x" },
      { kind: "loop", count: 5, body: [...pass, receive] },
      { kind: "store", buffer: "x", region: "y" },
      { kind: "free", buffer: "x" },
    ];
  });
  const input = [0.1, -0, 1e-300];
  return {
    name: "a ring of sends",
    plan: {
      version: 1,
      ranks,
      programs: { double: doubleProgram(3), copy: copyProgram(3) },
      regions: { x: { ...f64(3), role: "input" }, y: { ...f64(3), role: "output" } },
      groups: {},
      lists,
    },
    arrays: { x: Float64Array.from(input) },
    expected: { y: input.map((value) => value * 2 ** (5 * ranks)) },
  };
}

function copy(input: string, output: string): Instruction {
  return { kind: "run", program: "copy", inputs: [input], outputs: [output] };
}

function copyProgram(...shape: number[]): PlanProgram<Graph> {
  return withHash({
    inputs: [f64(...shape)],
    outputs: [f64(...shape)],
    graph: {
      avals: [f64(...shape), f64(...shape)],
      inputs: [0],
      constants: [],
      equations: [{ op: "stopGradient", params: {}, inputs: [0], outputs: [1] }],
      outputs: [1],
    },
  });
}

type Parameters = CollectiveInstruction extends infer C
  ? C extends CollectiveInstruction
    ? Omit<C, "kind" | "group" | "input" | "output">
    : never
  : never;

/** Each collective once, twice over in a loop; rank r gives x[r] = r·10 + position. */
export function collective(ranks: number, parameters: Parameters): Case {
  const n = ranks; // Every rank's input is n x 2, so that it divides.
  const value = (rank: number, i: number): number => rank * 10 + i + 0.25;
  const input = Array.from({ length: ranks }, (_, rank) =>
    Array.from({ length: 2 * n }, (_, i) => value(rank, i)),
  );
  const reduce = (values: number[]): number => {
    const operation = "reduce" in parameters ? parameters.reduce : "add";
    const step = {
      add: (a: number, b: number) => a + b,
      mul: (a: number, b: number) => a * b,
      max: Math.max,
      min: Math.min,
    };
    return values.slice(1).reduce((a, b) => step[operation](a, b), values[0] ?? NaN);
  };
  const at = (rank: number, i: number): number => input[rank]?.[i] ?? NaN;
  const reduced = Array.from({ length: 2 * n }, (_, i) => reduce(input.map((row) => row[i] ?? NaN)));
  const outputOf = (rank: number): number[] => {
    switch (parameters.operation) {
      case "allReduce":
        return reduced;
      case "reduceScatter":
        return reduced.slice(2 * rank, 2 * rank + 2);
      case "allGather":
        return input.flat();
      case "allToAll":
        return Array.from({ length: 2 * n }, (_, i) => at(Math.floor(i / 2), 2 * rank + (i % 2)));
      case "broadcast":
        return input[parameters.root] ?? [];
      case "permute": {
        const source = parameters.pairs.find(([, to]) => to === rank);
        return source === undefined ? new Array<number>(2 * n).fill(0) : (input[source[0]] ?? []);
      }
    }
  };
  const rowsOf =
    parameters.operation === "allGather" ? n * n : parameters.operation === "reduceScatter" ? 1 : n;
  const lists = Array.from({ length: ranks }, (_, rank): Instruction[] =>
    insertFrees([
      { kind: "load", buffer: "x", region: "x", window: { start: [rank * n, 0], extent: [n, 2] } },
      {
        kind: "loop",
        count: 2,
        body: [{ kind: "collective", group: "all", input: "x", output: "t", ...parameters }],
      },
      { kind: "collective", group: "all", input: "x", output: "y", ...parameters },
      { kind: "store", buffer: "y", region: "y", window: { start: [rank * rowsOf, 0], extent: [rowsOf, 2] } },
    ]),
  );
  return {
    name: `${parameters.operation} of ${ranks}`,
    plan: {
      version: 1,
      ranks,
      programs: {},
      regions: { x: { ...f64(n * n, 2), role: "input" }, y: { ...f64(ranks * rowsOf, 2), role: "output" } },
      groups: all(ranks),
      lists,
    },
    arrays: { x: Float64Array.from(input.flat()) },
    expected: { y: Array.from({ length: ranks }, (_, rank) => outputOf(rank)).flat() },
  };
}

/** All collectives for a number of ranks. */
export function collectives(ranks: number): Case[] {
  return [
    collective(ranks, { operation: "allReduce", reduce: "add" }),
    collective(ranks, { operation: "allReduce", reduce: "max" }),
    collective(ranks, { operation: "allReduce", reduce: "mul" }),
    collective(ranks, { operation: "allReduce", reduce: "min" }),
    collective(ranks, { operation: "allGather", axis: 0 }),
    collective(ranks, { operation: "reduceScatter", reduce: "add", axis: 0 }),
    collective(ranks, { operation: "allToAll", axis: 0 }),
    collective(ranks, { operation: "broadcast", root: ranks - 1 }),
    collective(ranks, { operation: "permute", pairs: ranks > 1 ? [[0, ranks - 1]] : [] }),
  ];
}

/** A scratch region is written by one rank and read, transposed in halves, by the next. */
export function scratch(ranks: number): Case {
  const lists = Array.from({ length: ranks }, (_, rank): Instruction[] =>
    insertFrees([
      ...(rank === 0
        ? ([{ kind: "load", buffer: "x", region: "x" }] as const)
        : ([
            { kind: "recv", buffer: "token", ...f64(), from: rank - 1, tag: "go" },
            { kind: "load", buffer: "x", region: `s${rank - 1}` },
          ] as const)),
      { kind: "run", program: "double", inputs: ["x"], outputs: ["y"] },
      ...(rank === ranks - 1
        ? ([{ kind: "store", buffer: "y", region: "y" }] as const)
        : ([
            { kind: "store", buffer: "y", region: `s${rank}` },
            { kind: "load", buffer: "token out", region: "one" },
            { kind: "send", buffer: "token out", to: rank + 1, tag: "go" },
          ] as const)),
    ]),
  );
  const regions: Record<string, Region> = {
    x: { ...f64(2, 3), role: "input" },
    one: { ...f64(), role: "input" },
    y: { ...f64(2, 3), role: "output" },
  };
  for (let rank = 0; rank < ranks - 1; rank++) regions[`s${rank}`] = { ...f64(2, 3), role: "scratch" };
  const x = [1, 2, 3, 4, 5, 6];
  return {
    name: "scratch regions",
    plan: { version: 1, ranks, programs: { double: doubleProgram(2, 3) }, regions, groups: {}, lists },
    arrays: { x: Float64Array.from(x), one: Float64Array.of(1) },
    expected: { y: x.map((value) => value * 2 ** ranks) },
  };
}

/** Every case for a number of ranks. */
export function cases(ranks: number): Case[] {
  return [blocks(ranks), ring(ranks), scratch(ranks), ...collectives(ranks)];
}
