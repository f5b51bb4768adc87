/**
 * Objectives as items of a loop: each runs on the rank that holds it, and the blocks are those of the function.
 */
import { CaptureError, createPool, np, objective, objectiveFunction, parallelFor } from "heddle";
import type { Objective, Pool, PoolOptions } from "heddle";
import { afterEach, describe, expect, test } from "vitest";
import { seed } from "./seed.js";

const open: Pool[] = [];
afterEach(async () => {
  for (const pool of open.splice(0)) await pool.close();
});

async function poolOf(options: PoolOptions): Promise<Pool> {
  const pool = await createPool(options);
  open.push(pool);
  return pool;
}

const kinds: readonly [string, PoolOptions][] = [
  ["threads", {}],
  ["in-process", { inProcess: true }],
  ["deferred threads", { device: "deferred" }],
];

describe.each(kinds)("%s", (_, options) => {
  test("blocks of the loop, concatenated, are the function's Jacobian bit for bit", async () => {
    const pool = await poolOf({ ...options, ranks: 2 });
    const { objectives, c } = seed([1, 0]);
    const more: Objective[] = [
      objective((x) => np.tanh(x.slice([0, 7]).mul(x.slice([1, 8]))), { name: "third", weight: 3, rank: 1 }),
      objective((x, { k }) => np.sum(x.mul(x)).mul(k), {
        name: "fourth",
        rank: 1,
        derivative: "rev",
        data: { k: 2 },
      }),
    ];
    const list = [...objectives, ...more];
    const x = c.map((value, i) => value + Math.sin(i));
    const fun = await objectiveFunction(list, { x: c, pool });
    for (let round = 0; round < 2; round++) {
      const blocks = await parallelFor(list, (o, { c: at }: { c: Float64Array }) => o.jacobian(at), {
        with: { c: x },
        pool,
      });
      expect(np.concatenate(blocks).data).toEqual((await fun.jacobian(x)).data);
      const residuals = await parallelFor(list, (o, { c: at }: { c: Float64Array }) => o.residual(at), {
        with: { c: x },
        pool,
      });
      expect(np.concatenate(residuals).data).toEqual((await fun.residual(x)).data);
      const ranks = await parallelFor(list, (_o, { rank }: { rank: number }) => rank, { pool });
      expect([...ranks]).toEqual([1, 0, 1, 1]);
      await fun.setData("fourth", { k: 5 });
    }
  });

  test("three objectives on one rank run there under every schedule", async () => {
    const pool = await poolOf({ ...options, ranks: 2 });
    const list = [1, 2, 3].map((k) => objective((x) => x.mul(k), { name: `times ${k}`, rank: 1 }));
    const fun = await objectiveFunction(list, { x: [1, 2], pool });
    for (const schedule of ["static", "dynamic", "guided", "auto"] as const) {
      const ranks = await parallelFor(list, (_o, { rank }: { rank: number }) => rank, { pool, schedule });
      expect([...ranks]).toEqual([1, 1, 1]);
      const costs = await parallelFor(list, (o, { c }: { c: number[] }) => o.cost(c), {
        pool,
        schedule,
        with: { c: [1, 2] },
      });
      expect([...costs]).toEqual([2.5, 10, 22.5]);
    }
    await fun.dispose();
  });

  test("one objective may serve on every rank as a captured value", async () => {
    const pool = await poolOf({ ...options, ranks: 2 });
    const o = objective((x) => np.sin(x), { name: "sin" });
    await objectiveFunction([o], { x: [0, 0], pool });
    const points = Array.from({ length: 40 }, (_unused, i) => [i / 10, -i / 7]);
    const costs = await parallelFor(points, (at, { f }: { f: Objective }) => f.cost(at), {
      with: { f: o },
      pool,
    });
    points.forEach((at, i) => expect(costs[i]).toBe(o.cost(at)));
  });
});

test("an objective that no rank holds is refused, with the way out", async () => {
  const pool = await poolOf({ ranks: 1, inProcess: true });
  const o = objective((x) => x, { name: "alone" });
  const loop = parallelFor([o], (item) => item.cost([1]), { pool });
  await expect(loop).rejects.toThrow(CaptureError);
  await expect(loop).rejects.toThrow(/"alone", which no rank holds.*objectiveFunction/);
  const fun = await objectiveFunction([o], { x: [1], pool });
  expect([...(await parallelFor([o], (item) => item.cost([2]), { pool }))]).toEqual([2]);
  await fun.dispose();
  await expect(parallelFor([o], (item) => item.cost([1]), { pool })).rejects.toThrow(CaptureError);
});
