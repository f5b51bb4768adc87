// Results stay in the ranks' memory until somebody reads them or the next call needs it; nobody can tell but by the memory.
import { createPool, np, objective, objectiveFunction, sequential, StaleArrayError } from "heddle";
import type { NDArray, PoolOptions } from "heddle";
import { describe, expect, it } from "vitest";
import { coreOf } from "#heddle/executor/cores";
import { same } from "./same.js";

const A = np.array(Float64Array.from({ length: 512 * 64 }, (_, i) => Math.sin(1.7 * i))).reshape(512, 64);
const list = [objective((c) => np.tanh(np.dot(A, c)), { name: "rows" })];
const at = (shift: number): Float64Array => Float64Array.from({ length: 64 }, (_, i) => Math.cos(i + shift));
const loop = sequential(list, { x: at(0) });
const expected = (shift: number): NDArray => loop.sync.jacobian(at(shift));

describe.each<[string, PoolOptions]>([
  ["threads", { ranks: 2 }],
  ["in-process", { ranks: 2, inProcess: true }],
  ["processes", { ranks: 2, isolation: "process" }],
])("results on %s", (_, options) => {
  it("keep their bits, read before the next call, after it, or never", async () => {
    await using pool = await createPool(options);
    const fun = await objectiveFunction(list, { x: at(0), pool });
    const before = await fun.jacobian(at(1));
    const view = before.data;
    const after = await fun.jacobian(at(2));
    const unread = await fun.jacobian(at(3));
    const blocking = fun.sync.jacobian(at(4));
    const last = fun.sync.jacobian(at(5));
    expect(before.data).toBe(view);
    same(before, expected(1));
    same(after, expected(2));
    same(unread, expected(3));
    same(blocking, expected(4));
    await fun.dispose();
    same(last, expected(5));
  });

  it("given as out are over, and the memory is used again", async () => {
    await using pool = await createPool(options);
    const fun = await objectiveFunction(list, { x: at(0), pool });
    const first = await fun.jacobian(at(1));
    const second = await fun.jacobian(at(2), { out: first });
    expect(() => first.data).toThrow(StaleArrayError);
    same(second, expected(2));
    const third = await fun.jacobian(at(3));
    same(second, expected(2));
    same(third, expected(3));
  });

  it("outlive the pool", async () => {
    const pool = await createPool(options);
    const fun = await objectiveFunction(list, { x: at(0), pool });
    const result = await fun.linearize(at(1));
    await pool.close();
    same(result.jacobian, expected(1));
    expect(result.residual.shape).toEqual([512]);
  });
});

it("a result takes no memory of its own until it is read", async () => {
  await using pool = await createPool({ ranks: 1, inProcess: true });
  const fun = await objectiveFunction(list, { x: at(0), pool });
  const result = await fun.jacobian(at(1));
  const core = coreOf(pool);
  const { heap } = core;
  const [residency] = core.residents.values();
  if (residency === undefined) throw new Error("no plan is loaded");
  // What is written to the ranks' memory now is what a first reader finds, and nothing that is written later.
  const region = core.region(residency, "jacobian");
  region[0] = 42;
  expect(result.data[0]).toBe(42);
  region[0] = 43;
  expect(result.data[0]).toBe(42);
  const inPlace = await fun.jacobian(at(2), { out: result });
  expect(inPlace.data.buffer).toBe(heap.memory.buffer);
});
