/**
 * The same bits wherever objectives run: threads, in-process, a device that answers later, and the plain sequential loop,
 * on any number of ranks; and the right ones, against closed forms.
 */
import type { NDArray, Objective, Pool, PoolOptions } from "heddle";
import { createPool, np, objective, objectiveFunction, sequential } from "heddle";
import { afterEach, describe, expect, test } from "vitest";
import { seed } from "./seed.js";

const open: Pool[] = [];
afterEach(async () => {
  for (const pool of open.splice(0)) await pool.close();
});

async function pool(options: PoolOptions): Promise<Pool> {
  const made = await createPool(options);
  open.push(made);
  return made;
}

const transports: readonly [string, PoolOptions][] = [
  ["threads", {}],
  ["in-process", { inProcess: true }],
  ["deferred", { inProcess: true, device: "deferred" }],
  ["deferred threads", { device: "deferred" }],
];

const rows = 7;
const columns = 5;
const A = np.array(
  Array.from({ length: rows }, (_, i) => Array.from({ length: columns }, (_, j) => Math.sin(3 * i + j))),
);

/** Different functions, different output shapes: [7], [2, 2], a scalar, [5] with a branch. */
function heterogeneous(): Objective[] {
  return [
    objective((c) => np.tanh(np.dot(A, c)), { name: "tanh", weight: 2 }),
    objective(
      (c) =>
        c
          .slice([0, 4])
          .mul(c.slice([1, 5]))
          .reshape(2, 2),
      {
        name: "neighbours",
        target: [
          [1, 2],
          [3, 4],
        ],
      },
    ),
    objective((c) => np.sum(np.exp(c.mul(0.1))), { name: "sum", normalization: 4 }),
    objective((c) => np.where(np.greater(c, 0), np.sin(c), c.mul(c)), { name: "where", bounds: [-0.5, 0.5] }),
  ];
}

const point = [0.3, -0.8, 0.05, 1.2, -0.4];

/** Residual and Jacobian of `heterogeneous`, by hand. */
function closedForm(c: readonly number[]): { residual: number[]; jacobian: number[][] } {
  const residual: number[] = [];
  const jacobian: number[][] = [];
  const at = (i: number): number => c[i] ?? NaN;
  for (let i = 0; i < rows; i++) {
    const u = c.reduce((sum, value, j) => sum + Math.sin(3 * i + j) * value, 0);
    residual.push(2 * Math.tanh(u));
    jacobian.push(c.map((_, j) => (2 * Math.sin(3 * i + j)) / Math.cosh(u) ** 2));
  }
  for (let i = 0; i < 4; i++) {
    residual.push(at(i) * at(i + 1) - (i + 1));
    jacobian.push(c.map((_, j) => (j === i ? at(i + 1) : j === i + 1 ? at(i) : 0)));
  }
  residual.push(c.reduce((sum, value) => sum + Math.exp(0.1 * value), 0) / 4);
  jacobian.push(c.map((value) => (0.1 * Math.exp(0.1 * value)) / 4));
  c.forEach((value, i) => {
    const f = value > 0 ? Math.sin(value) : value * value;
    const slope = value > 0 ? Math.cos(value) : 2 * value;
    const outside = f < -0.5 ? f + 0.5 : f > 0.5 ? f - 0.5 : 0;
    residual.push(outside);
    jacobian.push(c.map((_, j) => (j === i && outside !== 0 ? slope : 0)));
  });
  return { residual, jacobian };
}

test("residual and Jacobian of different functions agree with closed forms to 1e-12", () => {
  const { residual, jacobian } = sequential(heterogeneous(), { x: point }).sync.linearize(point);
  const wanted = closedForm(point);
  expect(residual.shape).toEqual([17]);
  expect(jacobian.shape).toEqual([17, 5]);
  wanted.residual.forEach((value, i) => expect(residual.data[i]).toBeCloseTo(value, 12));
  wanted.jacobian.flat().forEach((value, i) => expect(jacobian.data[i]).toBeCloseTo(value, 12));
});

describe.each(transports)("%s", (_, options) => {
  test.each([1, 2, 3, 7])("%i ranks: the bits of the sequential loop", async (ranks) => {
    const shared = await pool({ ...options, ranks });
    const { objectives, c } = seed();
    for (const [list, x] of [
      [objectives, c],
      [heterogeneous(), Float64Array.from(point)],
    ] as const) {
      const loop = sequential(list, { x });
      const fun = await objectiveFunction(list, { x, pool: shared });
      const v = Float64Array.from(x, (_value, i) => Math.cos(i));
      const w = Float64Array.from({ length: fun.dimF }, (_value, i) => Math.sin(i));
      const same = (found: NDArray, wanted: NDArray): void => {
        expect(found.shape).toEqual(wanted.shape);
        expect(found.data).toEqual(wanted.data);
      };
      same(await fun.residual(x), loop.sync.residual(x));
      same(await fun.jacobian(x), loop.sync.jacobian(x));
      const both = await fun.linearize(x);
      same(both.residual, loop.sync.residual(x));
      same(both.jacobian, loop.sync.jacobian(x));
      same(await fun.jvp(x, v), loop.sync.jvp(x, v));
      same(await fun.vjp(x, w), loop.sync.vjp(x, w));
      same(await fun.gradient(x), loop.sync.gradient(x));
      expect(await fun.cost(x)).toBe(loop.sync.cost(x));
      await fun.dispose();
      await loop.dispose();
    }
  });

  test("the seed's Jacobian is its cosine matrices, to the last bit", async () => {
    const { objectives, matrices, c } = seed();
    const fun = await objectiveFunction(objectives, { x: c, pool: await pool({ ...options, ranks: 2 }) });
    const jacobian = await fun.jacobian(c);
    expect(jacobian.shape).toEqual([30, 40]);
    expect(jacobian.slice([0, 15]).data).toEqual(matrices[0].data);
    expect(jacobian.slice([15, 30]).data).toEqual(matrices[1].data);
  });
});

test("on two ranks the threads differ, their busy intervals overlap, and only WebAssembly ran", async () => {
  const shared = await pool({ ranks: 2 });
  const size = 600;
  const matrix = np
    .array(Float64Array.from({ length: size * size }, (_, i) => Math.sin(i)))
    .reshape(size, size);
  const heavy = (name: string, rank: number): Objective =>
    objective((c) => np.tanh(np.matmul(matrix, np.tanh(np.matmul(matrix, c)))), { name, rank });
  const x = new Float64Array(size).fill(0.01);
  const fun = await objectiveFunction([heavy("first", 0), heavy("second", 1)], { x, pool: shared });
  let overlaps = false;
  for (let attempt = 0; attempt < 5 && !overlaps; attempt++) {
    await fun.jacobian(x);
    const timeline = shared.timeline();
    const latest = (task: string) => timeline.filter((entry) => entry.task === task).at(-1);
    const [first, second] = [latest("first"), latest("second")];
    expect(first?.rank).toBe(0);
    expect(second?.rank).toBe(1);
    if (first === undefined || second === undefined) throw new Error("no timeline");
    overlaps = first.start < second.end && second.start < first.end;
  }
  expect(overlaps).toBe(true);
  const [a, b] = shared.ranks;
  expect(a?.threadId).not.toBe(b?.threadId);
  expect(a?.threadId).toBeGreaterThan(0);
  const programs = shared.report().plans.flatMap((plan) => plan.programs);
  expect(programs.length).toBeGreaterThan(0);
  for (const { backend } of programs) expect(backend).toBe("wasm");
  const report = fun.report();
  expect(report.objectives.map(({ name, rank, device }) => [name, rank, device])).toEqual([
    ["first", 0, "wasm"],
    ["second", 1, "wasm"],
  ]);
  for (const { milliseconds, calls } of report.objectives) {
    expect(milliseconds).toBeGreaterThan(0);
    expect(calls).toBeGreaterThan(0);
  }
  expect(String(report)).toMatch(/first .*wasm/);
});

test("two calls at once on one pool queue, and both are right", async () => {
  const shared = await pool({ ranks: 2 });
  const list = heterogeneous();
  const fun = await objectiveFunction(list, { x: point, pool: shared });
  const loop = sequential(list, { x: point });
  const others = [point, point.map((v) => v + 1), point.map((v) => -v), point.map((v) => v / 3)];
  const results = await Promise.all(others.map((x) => fun.linearize(x)));
  results.forEach(({ residual, jacobian }, i) => {
    const x = others[i] ?? point;
    expect(residual.data).toEqual(loop.sync.residual(x).data);
    expect(jacobian.data).toEqual(loop.sync.jacobian(x).data);
  });
});
