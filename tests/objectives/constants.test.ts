// Large constants lie in memory once: in the heap while ranks hold them, in memory of their own before and after.
import { createPool, jit, np, objective, objectiveFunction, parallelFor, sequential } from "heddle";
import type { NDArray, Objective, Pool } from "heddle";
import { elementsOf } from "#heddle/arrays/ndarray";
import { coreOf } from "#heddle/executor/cores";
import { describe, expect, it } from "vitest";
import { same } from "./same.js";

const [rows, columns] = [512, 64];
const bytes = rows * columns * 8;
const numbers = (k: number): Float64Array =>
  Float64Array.from({ length: rows * columns }, (_, i) => Math.sin(1.7 * i + k));
const matrix = (k: number): NDArray => np.array(numbers(k)).reshape(rows, columns);
const c = Float64Array.from({ length: columns }, (_, i) => Math.cos(i));
const times = (A: NDArray): Objective => objective((x) => np.dot(A, x));
const moved = (A: NDArray): boolean => elementsOf(A)?.moved === true;
const used = (pool: Pool): number => coreOf(pool).heap.report().usedBytes;

describe("a large constant", () => {
  it("lies in the heap only while ranks hold it, and reads the same throughout", async () => {
    await using pool = await createPool({ ranks: 2, inProcess: true });
    const A = matrix(0);
    const expected = sequential([times(matrix(0))], { x: c }).sync.residual(c);
    const before = used(pool);
    const fun = await objectiveFunction([times(A)], { x: c, pool });
    expect(moved(A)).toBe(false);
    same(await fun.residual(c), expected);
    expect(moved(A)).toBe(true);
    expect(used(pool) - before).toBeLessThan(1.5 * bytes);
    // Whatever reads it, concrete, compiled or copied to a rank.
    expect(A.item(3, 5)).toBe(numbers(0)[3 * columns + 5]);
    expect(A.toArray()).toEqual(matrix(0).toArray());
    expect(String(A)).toBe(String(matrix(0)));
    same(np.dot(A, c), np.dot(matrix(0), c));
    same(jit((x) => np.dot(A, x))(np.array(c)), jit((x) => np.dot(matrix(0), x))(np.array(c)));
    expect([...(await parallelFor(2, (i) => A.item(i, 1), { pool }))]).toEqual([A.item(0, 1), A.item(1, 1)]);
    expect(moved(A)).toBe(true);
    const other = await objectiveFunction([times(A.reshape(rows, columns))], { x: c, pool });
    same(await other.residual(c), expected);
    expect(used(pool) - before).toBeLessThan(1.5 * bytes);
    await fun.dispose();
    expect(moved(A)).toBe(true);
    await other.dispose();
    expect(moved(A)).toBe(false);
    expect(used(pool)).toBe(before);
    expect(A.data).toEqual(numbers(0));
  });

  it("stays where it is if somebody has its memory, and whoever takes it keeps it", async () => {
    await using pool = await createPool({ ranks: 1, inProcess: true });
    const [A, B] = [matrix(1), matrix(2)];
    const taken = A.data;
    const fun = await objectiveFunction([times(A), times(B)], { x: c, pool });
    await fun.residual(c);
    expect([moved(A), moved(B)]).toEqual([false, true]);
    expect(A.data).toBe(taken);
    const later = B.data;
    expect(moved(B)).toBe(false);
    await fun.dispose();
    expect(later).toEqual(numbers(2));
    expect(B.data).toBe(later);
    expect(taken).toEqual(numbers(1));
  });

  it("is right after the plans that held it have moved, and in a heap that is too small for it", async () => {
    await using wide = await createPool({ ranks: 1, inProcess: true });
    await using narrow = await createPool({ ranks: 1, inProcess: true, heap: 2 ** 20 });
    const list = [0, 1, 2, 3, 4].map((k) => matrix(k));
    const objectives = list.map((A) => times(A));
    const expected = sequential(
      list.map((_, k) => times(matrix(k))),
      { x: c },
    ).sync.linearize(c);
    const first = await objectiveFunction(objectives, { x: c, pool: wide });
    const second = await objectiveFunction(objectives, { x: c, pool: narrow });
    for (let round = 0; round < 3; round++) {
      same((await first.linearize(c)).jacobian, expected.jacobian);
      same((await second.linearize(c)).jacobian, expected.jacobian);
      same(await second.residual(c), expected.residual);
    }
    await first.dispose();
    expect(second.report().streamed.length).toBeGreaterThan(0);
    expect(list.every((A) => !moved(A))).toBe(true);
    same(await second.residual(c), expected.residual);
    list.forEach((A, k) => expect(A.data).toEqual(numbers(k)));
  });
});
