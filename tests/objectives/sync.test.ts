/**
 * The methods of an objective function that block: the same bits as the awaited ones, on every kind of pool, with `out`,
 * new data, timeouts and failures; and the optimizer over them.
 */
import {
  BlockingError,
  createPool,
  leastSquares,
  np,
  objective,
  objectiveFunction,
  parameters,
  sequential,
  StaleArrayError,
} from "heddle";
import type { NDArray, ObjectiveFunction, Pool, PoolOptions } from "heddle";
import { afterEach, describe, expect, test } from "vitest";
import { seed } from "./seed.js";

const open: Pool[] = [];
afterEach(async () => {
  for (const pool of open.splice(0)) await pool.close();
});

function poolNow(options: PoolOptions): Pool {
  const pool = createPool.sync(options);
  open.push(pool);
  return pool;
}

const list = [
  objective((c) => np.tanh(np.outer(c, c)), { name: "outer" }),
  objective((c, { t }) => np.sin(c).sub(t), { name: "wave", data: { t: [0.1, 0.2, 0.3] } }),
  objective((c) => c.sum(), { name: "sum" }),
];
const x = Float64Array.of(0.3, -0.2, 0.7);
const v = Float64Array.of(1, 2, -1);

/** A gradient, which is one array since the coefficients are. */
const listOf = (gradient: unknown): unknown => (gradient as NDArray).toArray();

/** Every method's results as plain lists. */
async function awaited(fun: ObjectiveFunction): Promise<unknown[]> {
  const w = Float64Array.from({ length: fun.dimF }, (_, i) => i - 3);
  const both = await fun.linearize(x);
  return [
    (await fun.residual(x)).toArray(),
    (await fun.jacobian(x)).toArray(),
    both.residual.toArray(),
    both.jacobian.toArray(),
    await fun.cost(x),
    listOf(await fun.gradient(x)),
    (await fun.jvp(x, v)).toArray(),
    listOf(await fun.vjp(x, w)),
  ];
}

function blocked({ dimF, sync }: ObjectiveFunction): unknown[] {
  const w = Float64Array.from({ length: dimF }, (_, i) => i - 3);
  const both = sync.linearize(x);
  return [
    sync.residual(x).toArray(),
    sync.jacobian(x).toArray(),
    both.residual.toArray(),
    both.jacobian.toArray(),
    sync.cost(x),
    listOf(sync.gradient(x)),
    sync.jvp(x, v).toArray(),
    listOf(sync.vjp(x, w)),
  ];
}

describe.each<[string, PoolOptions]>([
  ["threads", { ranks: 2 }],
  ["one thread", { ranks: 1 }],
  ["more threads than objectives", { ranks: 5 }],
  ["threads that never leave a step to the caller", { ranks: 2, inline: false }],
  ["in-process ranks", { ranks: 3, inProcess: true }],
  ["a device that answers later", { ranks: 2, device: "deferred" }],
])("on %s", (_, options) => {
  test("every method has the bits of the awaited one and of the loop", async () => {
    const wanted = blocked(sequential(list, { x: [0, 0, 0] }));
    const fun = objectiveFunction.sync(list, { x: [0, 0, 0], pool: poolNow(options) });
    // Many times: the caller takes over steps, or parts of them, when it has seen a few.
    for (let round = 0; round < 6; round++) expect(blocked(fun)).toEqual(wanted);
    expect(await awaited(fun)).toEqual(wanted);
    expect(blocked(fun)).toEqual(wanted);
    fun.sync.dispose();
    expect(() => fun.sync.residual(x)).toThrow(/disposed of/);
  });

  test("out is written in place, and new data is seen", () => {
    const loop = sequential(list, { x: [0, 0, 0] });
    const fun = objectiveFunction.sync(list, { x: [0, 0, 0], pool: poolNow(options) });
    let live = fun.sync.linearize(x);
    for (let round = 1; round < 6; round++) {
      const t = [round, 0, -round];
      loop.sync.setData("wave", { t });
      fun.sync.setData("wave", { t });
      const before = live;
      live = fun.sync.linearize(x, { out: before });
      expect(() => before.jacobian.data).toThrow(StaleArrayError);
      expect(live.residual.toArray()).toEqual(loop.sync.residual(x).toArray());
      expect(live.jacobian.toArray()).toEqual(loop.sync.jacobian(x).toArray());
    }
  });

  test("least squares ends at the same point", async () => {
    const { objectives, c } = seed();
    const pool = poolNow(options);
    const now = leastSquares.sync(objectives, c, { pool });
    const later = await leastSquares(objectives, c, { pool });
    expect(now.x).toEqual(later.x);
    expect(now.nfev).toBe(later.nfev);
    expect(now.success).toBe(true);
    // The function that it built is gone from the heap's books.
    expect(pool.report().plans).toEqual([]);
  });
});

test("a call that blocks is refused while an awaited one is under way", async () => {
  const fun = await objectiveFunction(list, { x: [0, 0, 0], pool: poolNow({ ranks: 2 }) });
  const running = fun.residual(x);
  expect(() => fun.sync.residual(x)).toThrow(BlockingError);
  const found = await running;
  expect(fun.sync.residual(x).toArray()).toEqual(found.toArray());
});

test("bad input is refused as by the awaited methods, before anything runs", () => {
  const fun = objectiveFunction.sync(list, { x: [0, 0, 0], pool: poolNow({ ranks: 2 }) });
  expect(() => fun.sync.residual([1, 2])).toThrow(/residual: x is \[2\], expected \[3\]/);
  expect(() => fun.sync.jvp(x, [1])).toThrow(/jvp: v/);
  expect(() => fun.sync.setData("none", {})).toThrow(/one of outer, wave, sum/);
  expect(() => fun.sync.residual(x, { timeout: -1 })).toThrow(/options.timeout/);
});

test("the default pool serves, and trees come back as trees", () => {
  const p = parameters({ wall: [1, 2], coil: 3 });
  const near = p.objective(["wall"], ({ wall }) => wall.sub([2, 1]), { name: "near" });
  const small = p.objective(["coil"], ({ coil }) => coil, { name: "small" });
  const fit = leastSquares.sync([near, small], p);
  expect(fit.solution.wall.slice(0).item()).toBeCloseTo(2, 6);
  expect(fit.solution.wall.slice(1).item()).toBeCloseTo(1, 6);
  expect(fit.solution.coil.item()).toBeCloseTo(0, 6);
});

test("plain functions are fitted at once, and may not promise anything", () => {
  const fit = leastSquares.sync((p) => [(p[0] ?? 0) - 3, 2 * (p[1] ?? 0) + 4], [0, 0]);
  expect(fit.x[0]).toBeCloseTo(3, 8);
  expect(fit.x[1]).toBeCloseTo(-2, 8);
  expect(() => leastSquares.sync(async (p) => Promise.resolve([p[0] ?? 0]), [1])).toThrow(
    /returns a promise/,
  );
  expect(() =>
    leastSquares.sync((p) => [p[0] ?? 0], [1], { jac: async () => Promise.reject(new Error("late")) }),
  ).toThrow(/returns a promise/);
  expect(() => leastSquares.sync((p) => [p[0] ?? 0], [1], { signal: AbortSignal.abort("stop") })).toThrow(
    "stop",
  );
});
