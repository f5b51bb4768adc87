/**
 * Objectives that are more than a rank's share are computed in chunks on several ranks; no bit of any result changes.
 */
import {
  ArgumentError,
  createPool,
  np,
  objective,
  objectiveFunction,
  parallelFor,
  parameters,
  sequential,
} from "heddle";
import type {
  NDArray,
  Objective,
  ObjectiveFunction,
  ObjectiveOptions,
  Pool,
  PoolEvent,
  PoolOptions,
} from "heddle";
import { afterEach, describe, expect, test } from "vitest";
import { same } from "./same.js";

const open: Pool[] = [];
afterEach(async () => {
  for (const pool of open.splice(0)) await pool.close();
});

async function poolOf(options: PoolOptions): Promise<Pool> {
  const pool = await createPool(options);
  open.push(pool);
  return pool;
}

const wave = (size: number, shift = 0): Float64Array =>
  Float64Array.from({ length: size }, (_, i) => Math.sin(1.3 * i + shift));
const dimX = 12;
const matrix = (rows: number, shift: number): NDArray =>
  np.array(wave(rows * dimX, shift)).reshape(rows, dimX);
const A = matrix(90, 0);
const B = matrix(8, 1);
const index = np.array(Float64Array.from({ length: 70 }, (_, i) => (i * 5) % 8)).astype("int32");

/** Large objectives of every kind, each beside a small one. */
const kinds: readonly [string, (c: NDArray, data: { readonly D: NDArray }) => NDArray, ObjectiveOptions][] = [
  ["dense rows", (c) => np.tanh(np.dot(A, c)), { chunk: 7, target: wave(90, 3), weight: 2 }],
  ["dense rows in reverse", (c) => np.tanh(np.dot(A, c)), { chunk: 16, derivative: "rev" }],
  ["a linear function", (c) => np.dot(A, c), { chunk: 16 }],
  [
    "a pointwise function of a large product",
    (c) => np.sin(np.dot(A, c)).mul(np.exp(np.dot(A, c).mul(0.1))),
    { chunk: 11 },
  ],
  [
    "differences",
    (c) =>
      np
        .tanh(np.dot(A, c))
        .slice([1])
        .sub(np.tanh(np.dot(A, c)).slice([0, -1])),
    { chunk: 10 },
  ],
  ["a flattened outer product", (c) => np.sin(np.outer(np.dot(A, c), c)), { chunk: 120 }],
  ["a softmax", (c) => np.exp(np.dot(A, c).mul(0.1)).div(np.exp(np.dot(A, c).mul(0.1)).sum()), { chunk: 30 }],
  ["gathered", (c) => np.take(np.dot(B, c), index).mul(2), { chunk: 9 }],
  ["parts joined", (c) => np.concatenate([np.dot(A, c), c, np.flip(np.sin(np.dot(A, c)))]), { chunk: 25 }],
  ["bounds", (c) => np.dot(A, c), { chunk: 16, bounds: [-0.5, wave(90).map((v) => Math.abs(v))] }],
  [
    "a sum of squares, by columns",
    (c) => np.sum(np.matmul(A.mul(c), A.mul(c).T)),
    { chunk: 5, derivative: "fwd" },
  ],
  ["data", (c, { D }) => np.tanh(np.dot(D, c)), { chunk: 13, data: { D: A } }],
];

const small = [
  objective((c) => np.sin(c), { name: "sines" }),
  objective((c) => c.mul(c).sum(), { name: "squares" }),
];

/** All methods, awaited and blocking, against the loop. */
async function expectLoop(
  fun: ObjectiveFunction<Float64Array>,
  loop: ObjectiveFunction<Float64Array>,
  x: Float64Array,
  blocks: boolean,
): Promise<void> {
  const v = wave(x.length, 5);
  const w = wave(fun.dimF, 6);
  same(await fun.residual(x), loop.sync.residual(x));
  same(await fun.jacobian(x), loop.sync.jacobian(x));
  const both = blocks ? fun.sync.linearize(x) : await fun.linearize(x);
  same(both.residual, loop.sync.residual(x));
  same(both.jacobian, loop.sync.jacobian(x));
  same(await fun.jvp(x, v), loop.sync.jvp(x, v));
  same(await fun.vjp(x, w), loop.sync.vjp(x, w));
  same(await fun.gradient(x), loop.sync.gradient(x));
  expect(await fun.cost(x)).toBe(loop.sync.cost(x));
}

const transports: readonly [string, PoolOptions, readonly number[]][] = [
  ["threads", {}, [2, 7]],
  ["in-process", { inProcess: true }, [1, 2, 3, 4, 5, 6, 7]],
  ["deferred in-process", { inProcess: true, device: "deferred" }, [3]],
  ["processes", { isolation: "process" }, [2]],
];

describe.each(transports)("%s", (_, options, counts) => {
  test.each(counts)("%i ranks: split or not, the bits of the loop", async (ranks) => {
    const events: PoolEvent[] = [];
    const pool = await poolOf({ ...options, ranks, onEvent: (event) => events.push(event) });
    const x = wave(dimX, 0.2);
    for (const [name, f, more] of kinds) {
      const list: Objective[] = [objective(f as never, { name, ...more }), ...small];
      const fun = await objectiveFunction(list, { x, pool });
      const loop = sequential(list, { x });
      // How it is placed at first: what later calls measure may join it again.
      const [first] = fun.report().objectives;
      // A device that answers in a later turn of the calling thread cannot be blocked for.
      const blocks = options.device !== "deferred";
      await expectLoop(fun, loop, x, blocks);
      await expectLoop(fun, loop, wave(dimX, 0.9), blocks);
      // A softmax's rows share most of their work, so that there is nothing to gain.
      const split = ranks > 1 && name !== "a softmax";
      expect(first?.chunks, name).toBeGreaterThanOrEqual(split ? 2 : 1);
      expect(first?.parts.length, name).toBeGreaterThanOrEqual(split ? 2 : 1);
      expect(events.some((event) => event.type === "split" && event.objective === name)).toBe(split);
      await fun.dispose();
      await loop.dispose();
    }
    expect(pool.report().plans).toEqual([]);
  });
});

test("every chunk size gives the same bits", async () => {
  const pool = await poolOf({ ranks: 2, inProcess: true });
  const x = wave(dimX, 0.2);
  const reference = sequential([objective((c) => np.tanh(np.dot(A, c)))], { x }).sync.linearize(x);
  for (const chunk of [1, 2, 3, 4, 5, 8, 31, 45, 89, 90, 1000, "auto"] as const) {
    const fun = await objectiveFunction([objective((c) => np.tanh(np.dot(A, c)), { chunk })], { x, pool });
    const found = await fun.linearize(x);
    same(found.residual, reference.residual);
    same(found.jacobian, reference.jacobian);
    const chunks = typeof chunk === "number" && chunk < 90 ? Math.ceil(90 / chunk) : 1;
    expect(fun.report().objectives[0]?.chunks).toBe(chunks);
    await fun.dispose();
  }
});

test("parts of the coefficients: other columns are zero, and columns of each part are cut", async () => {
  const pool = await poolOf({ ranks: 3, inProcess: true });
  const p = parameters({ a: wave(5), b: wave(dimX), z: wave(4) });
  const sum = p.objective(["a", "b"], ({ a, b }) => np.sum(np.matmul(A.mul(b), A.mul(b).T)).mul(np.sum(a)), {
    name: "sum",
    chunk: 2,
    derivative: "fwd",
  });
  const rows = p.objective(["b"], ({ b }) => np.tanh(np.dot(A, b)), { name: "rows", chunk: 8 });
  const fun = await objectiveFunction([sum, rows], { x: p, pool });
  const loop = sequential([sum, rows], { x: p });
  expect(fun.report().objectives.map(({ chunks }) => chunks > 1)).toContain(true);
  const x = wave(21, 2);
  same(await fun.jacobian(x), loop.sync.jacobian(x));
  same((await fun.linearize(x)).jacobian, loop.sync.jacobian(x));
  same(await fun.residual(x), loop.sync.residual(x));
});

test("data of a split objective changes for all of its chunks", async () => {
  const pool = await poolOf({ ranks: 3 });
  const x = wave(dimX);
  const make = (D: NDArray): Objective =>
    objective((c, { D: own }) => np.tanh(np.dot(own, c)), { name: "data", chunk: 10, data: { D } });
  const fun = await objectiveFunction([make(A)], { x, pool });
  await fun.linearize(x);
  const D = matrix(90, 4);
  await fun.setData("data", { D });
  const loop = sequential([make(D)], { x });
  same(await fun.residual(x), loop.sync.residual(x));
  same((await fun.linearize(x)).jacobian, loop.sync.jacobian(x));
});

test("a pinned objective stays whole, and is the one on its rank", async () => {
  const pool = await poolOf({ ranks: 3, inProcess: true });
  const x = wave(dimX);
  const list = [
    objective((c) => np.tanh(np.dot(A, c)), { name: "pinned", rank: 1, chunk: 10 }),
    objective((c) => np.sin(c), { name: "free" }),
  ];
  const fun = await objectiveFunction(list, { x, pool });
  await fun.linearize(x);
  const [pinned, free] = fun.report().objectives;
  expect(pinned?.parts.map(({ rank, chunks }) => [rank, chunks])).toEqual([[1, 1]]);
  expect(free?.rank).not.toBe(1);
});

test("what is less than a fair share stays whole; neighbouring chunks stay together", async () => {
  const pool = await poolOf({ ranks: 2, inProcess: true });
  const x = wave(dimX);
  const even = [0, 1].map((k) =>
    objective((c) => np.tanh(np.dot(A, c)).mul(k + 1), { name: `half ${k}`, chunk: 5 }),
  );
  const fun = await objectiveFunction(even, { x, pool });
  expect(fun.report().objectives.map(({ chunks, rank }) => [chunks, rank])).toEqual([
    [1, 1],
    [1, 0],
  ]);
  const alone = await objectiveFunction([objective((c) => np.tanh(np.dot(A, c)), { chunk: 10 })], {
    x,
    pool,
  });
  await alone.linearize(x);
  const [only] = alone.report().objectives;
  expect(only?.parts.map(({ chunks }) => chunks).sort()).toEqual([4, 5]);
  expect(String(alone.report())).toMatch(/0,1/);
  const tasks = pool.timeline().filter(({ task }) => task.startsWith("objective 0 rows"));
  const onFirst = tasks.filter(({ rank }) => rank === only?.parts[0]?.rank).map(({ task }) => task);
  expect(onFirst.length).toBe(only?.parts[0]?.chunks);
  expect(onFirst[0]).toBe("objective 0 rows 0:10");
});

test("a loop over objectives runs each on the rank that has most of it, with the function's bits", async () => {
  const pool = await poolOf({ ranks: 2 });
  const x = wave(dimX);
  const list = [objective((c) => np.tanh(np.dot(A, c)), { name: "split", chunk: 10 }), ...small];
  const fun = await objectiveFunction(list, { x, pool });
  const home = fun.report().objectives.map(({ rank }) => rank);
  const ranks = await parallelFor(list, (_o, { rank }: { rank: number }) => rank, { pool });
  expect([...ranks]).toEqual(home);
  const blocks = await parallelFor(list, (o, { c }: { c: Float64Array }) => o.jacobian(c), {
    with: { c: x },
    pool,
  });
  expect(np.concatenate(blocks).data).toEqual((await fun.jacobian(x)).data);
});

test("an objective that exceeds the declared memory is computed in chunks, also on one rank", async () => {
  const pool = await poolOf({ ranks: 1, inProcess: true, memory: 4096 });
  const x = wave(dimX);
  const list = [objective((c) => np.tanh(np.dot(A, c)), { name: "large" })];
  const fun = await objectiveFunction(list, { x, pool });
  same((await fun.linearize(x)).jacobian, sequential(list, { x }).sync.jacobian(x));
  expect(fun.report().objectives[0]?.chunks).toBeGreaterThan(4);
});

test("results in place stay right on split objectives", async () => {
  const pool = await poolOf({ ranks: 2 });
  const list = [objective((c) => np.tanh(np.dot(A, c)), { name: "split", chunk: 10 })];
  const fun = await objectiveFunction(list, { x: wave(dimX), pool });
  const loop = sequential(list, { x: wave(dimX) });
  let out = await fun.linearize(wave(dimX));
  for (const shift of [1, 2, 3]) {
    out = await fun.linearize(wave(dimX, shift), { out });
    same(out.jacobian, loop.sync.jacobian(wave(dimX, shift)));
  }
});

test("bad chunks are refused", async () => {
  for (const chunk of [0, -1, 1.5, NaN, "most" as never]) {
    expect(() => objective((c) => c, { name: "bad", chunk })).toThrow(ArgumentError);
  }
  const pool = await poolOf({ ranks: 2, inProcess: true });
  const many = objective((c) => np.tile(c, 200), { name: "many", chunk: 1 });
  await expect(objectiveFunction([many], { x: wave(dimX), pool })).rejects.toThrow(
    /"many".*chunk.*at least 3/,
  );
});
