/**
 * Objectives that the heap cannot hold at once are evaluated in waves of chunks, with the same bits, and the heap never
 * holds more than its limit.
 */
import {
  ArgumentError,
  createPool,
  leastSquares,
  MemoryError,
  np,
  objective,
  objectiveFunction,
  sequential,
} from "heddle";
import type { NDArray, Objective, ObjectiveFunction, Pool, PoolEvent, PoolOptions } from "heddle";
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

const megabyte = 2 ** 20;
const wave = (size: number, shift = 0): Float64Array =>
  Float64Array.from({ length: size }, (_, i) => Math.sin(0.37 * i + shift));

/** Objectives of 128 KiB of constants each, and a Jacobian of the same size. */
const dimX = 64;
const rows = 256;
const matrix = (k: number): NDArray => np.array(wave(rows * dimX, k)).reshape(rows, dimX);
const dense = Array.from({ length: 12 }, (_, k) => {
  const A = matrix(k);
  return objective((c) => np.tanh(np.dot(A, c)), { name: `dense ${k}`, chunk: 24 });
});
const others: readonly Objective[] = [
  objective((c, { D }) => np.tanh(np.dot(D, c)), { name: "data", chunk: 50, data: { D: matrix(20) } }),
  objective((c) => np.sin(c).mul(c), { name: "pointwise", chunk: 10 }),
  objective((c) => c.mul(c).sum(), { name: "squares" }),
  objective((c) => np.sum(np.tanh(np.outer(np.dot(matrix(21).slice([0, 24]), c), c))), {
    name: "by columns",
    chunk: 9,
    derivative: "fwd",
  }),
  objective((c) => np.cos(np.dot(matrix(22), c)), { name: "pinned", chunk: 24, rank: 0 }),
];
const list = [...dense, ...others];

async function expectLoop(
  fun: ObjectiveFunction<Float64Array>,
  loop: ObjectiveFunction<Float64Array>,
  x: Float64Array,
): Promise<void> {
  const v = wave(x.length, 5);
  const w = wave(fun.dimF, 6);
  same(await fun.residual(x), loop.sync.residual(x));
  same(fun.sync.jacobian(x), loop.sync.jacobian(x));
  const both = await fun.linearize(x);
  same(both.residual, loop.sync.residual(x));
  same(both.jacobian, loop.sync.jacobian(x));
  same(fun.sync.jvp(x, v), loop.sync.jvp(x, v));
  same(await fun.vjp(x, w), loop.sync.vjp(x, w));
  same(fun.sync.gradient(x), loop.sync.gradient(x));
}

describe.each<[string, PoolOptions]>([
  ["threads", { ranks: 2 }],
  ["in-process", { ranks: 3, inProcess: true }],
  ["processes", { ranks: 2, isolation: "process" }],
])("%s", (_, options) => {
  test("waves have the bits of the loop, through both doors", async () => {
    const events: PoolEvent[] = [];
    const pool = await poolOf({ ...options, heap: 1.5 * megabyte, onEvent: (event) => events.push(event) });
    const x = wave(dimX, 0.3);
    const fun = await objectiveFunction(list, { x, pool });
    const loop = sequential(list, { x });
    await expectLoop(fun, loop, x);
    await expectLoop(fun, loop, wave(dimX, 1.3));
    const streamed = events.flatMap((event) => (event.type === "streamed" ? [event.method] : []));
    expect(streamed).toContain("linearize");
    expect(streamed).toContain("residual");
    const { heap } = pool.report();
    expect(heap.limit).toBe(1.5 * megabyte);
    expect(heap.usedBytes).toBeLessThanOrEqual(heap.limit);
    const waves = fun.report().streamed.find(({ method }) => method === "linearize")?.waves;
    expect(waves).toBeGreaterThan(3);
    expect(String(fun.report())).toMatch(/linearize: in \d+ waves/);
    await fun.dispose();
    expect(pool.report().plans).toEqual([]);
  });
});

test("calls at once take turns, and an aborted one leaves the others right", async () => {
  const pool = await poolOf({ ranks: 2, heap: 1.5 * megabyte });
  const fun = await objectiveFunction(list, { x: wave(dimX), pool });
  const loop = sequential(list, { x: wave(dimX) });
  const abort = new AbortController();
  const points = [1, 2, 3].map((k) => wave(dimX, k));
  const calls = points.map((x, i) => fun.linearize(x, i === 1 ? { signal: abort.signal } : {}));
  abort.abort(new Error("enough"));
  const [first, second, third] = await Promise.allSettled(calls);
  expect(second).toMatchObject({ status: "rejected", reason: { message: "enough" } });
  for (const [found, x] of [
    [first, points[0]],
    [third, points[2]],
  ] as const) {
    if (found?.status !== "fulfilled" || x === undefined) throw new Error("no result");
    same(found.value.jacobian, loop.sync.jacobian(x));
  }
});

test("data changes between waves' calls", async () => {
  const pool = await poolOf({ ranks: 2, heap: 1.5 * megabyte });
  const x = wave(dimX);
  const fun = await objectiveFunction(list, { x, pool });
  const loop = sequential(list, { x });
  await fun.linearize(x);
  for (const k of [30, 31]) {
    await fun.setData("data", { D: matrix(k) });
    await loop.setData("data", { D: matrix(k) });
    same((await fun.linearize(x)).jacobian, loop.sync.jacobian(x));
    fun.sync.setData("data", { D: matrix(k + 5) });
    loop.sync.setData("data", { D: matrix(k + 5) });
    same(fun.sync.residual(x), loop.sync.residual(x));
  }
});

test("least squares in waves take the steps that they take without", async () => {
  const x = new Float64Array(dimX);
  const problem = dense.slice(0, 6);
  const pool = await poolOf({ ranks: 2, heap: megabyte + 200_000 });
  const streamed = await leastSquares(problem, x, { pool, maxNfev: 4 });
  const plain = await leastSquares(problem, x, { pool: await poolOf({ ranks: 2 }), maxNfev: 4 });
  expect(streamed.x).toEqual(plain.x);
  expect(streamed.nfev).toBe(plain.nfev);
});

test("what fits stays resident, and a method that does not fit beside it streams", async () => {
  const pool = await poolOf({ ranks: 2, inProcess: true, heap: 2.5 * megabyte });
  const x = wave(dimX);
  const fun = await objectiveFunction(dense, { x, pool });
  const loop = sequential(dense, { x });
  same(await fun.residual(x), loop.sync.residual(x));
  same(await fun.jacobian(x), loop.sync.jacobian(x));
  same(await fun.residual(x), loop.sync.residual(x));
  expect(fun.report().streamed.map(({ method }) => method)).toEqual(["jacobian"]);
});

test("a chunk that is larger than the heap is refused, and the pool stays usable", async () => {
  const pool = await poolOf({ ranks: 1, inProcess: true, heap: megabyte + 100_000 });
  const x = wave(dimX);
  const large = np.array(wave(4096 * dimX)).reshape(4096, dimX);
  const whole = objective((c) => np.tanh(np.dot(large, c)), { name: "whole", chunk: 4000 });
  const fun = await objectiveFunction([whole], { x, pool });
  await expect(fun.linearize(x)).rejects.toThrow(MemoryError);
  expect(() => fun.sync.residual(x)).toThrow(MemoryError);
  const small = objective((c) => c.mul(2), { name: "small" });
  const other = await objectiveFunction([small], { x, pool });
  expect((await other.residual(x)).data).toEqual(x.map((value) => 2 * value));
});

test("bad limits are refused", async () => {
  for (const heap of [0, 1000, NaN, 2.5e6 + 0.5, "much" as never]) {
    await expect(createPool({ ranks: 1, inProcess: true, heap })).rejects.toThrow(ArgumentError);
  }
});
