/**
 * Measured costs decide where objectives are: a placement that the table's costs got wrong is mended, plans follow, and no
 * bit of any result changes.
 */
import { createPool, np, objective, objectiveFunction, parallelFor, sequential } from "heddle";
import type { NDArray, Objective, Pool, PoolEvent, PoolOptions } from "heddle";
import { at } from "#heddle/base/at";
import { makeEntries } from "#heddle/objectives/entry";
import { layoutOf } from "#heddle/objectives/layout";
import { Measurements } from "#heddle/objectives/measure";
import { definitionOf } from "#heddle/objectives/objective";
import type { ObjectivePlacement } from "#heddle/objectives/placement";
import { piecesOf, placeEntries, taskOf } from "#heddle/objectives/placement";
import type { Ledger } from "#heddle/executor/ledger";
import { afterEach, describe, expect, test } from "vitest";

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
const dimX = 8;
const budget = { ranks: 2, memory: 2 ** 30, sharesHeap: true };

/** Entries of large objectives, a ledger that says what a test wants, and a way to run calls. */
function bench(list: readonly Objective[], cost: (objective: number, chunk: number | null) => number) {
  const layout = layoutOf("test", wave(dimX));
  const entries = makeEntries("test", list.map(definitionOf), layout);
  const totals = new Map<string, { milliseconds: number; count: number }>();
  const numbers: string[] = [];
  const numberOf = (task: string): number => {
    if (!numbers.includes(task)) numbers.push(task);
    return numbers.indexOf(task);
  };
  const totalOf = (rank: number, task: number): { milliseconds: number; count: number } => {
    const key = `${rank} ${task}`;
    const total = totals.get(key) ?? { milliseconds: 0, count: 0 };
    totals.set(key, total);
    return total;
  };
  const ledger = { total: totalOf } as unknown as Ledger; // All that measurements read.
  const measurements = new Measurements(entries, ledger, numberOf);
  let placement: readonly ObjectivePlacement[] = placeEntries(entries, budget);
  const changes: number[] = [];
  const call = (count: number): void => {
    for (let i = 0; i < count; i++) {
      const end = measurements.begin("linearize", placement);
      placement.forEach((place, objective) => {
        for (const { rank, chunk } of piecesOf(place, "linearize")) {
          const total = totalOf(rank, numberOf(taskOf(at(entries, objective), place, chunk)));
          total.milliseconds += cost(objective, chunk);
          total.count++;
        }
      });
      end?.();
      const found = measurements.consider(placement, budget);
      if (found === undefined) continue;
      expect(found.after).toBeLessThan(0.85 * found.before);
      placement = found.placement;
      changes.push(i);
    }
  };
  return {
    call,
    changes,
    ranks: () => placement.map(({ parts }) => parts.map(({ rank }) => rank)),
    placement: () => placement,
  };
}

const A = np.array(wave(60 * dimX)).reshape(60, dimX);
const row = (k: number, chunk: number | "auto" = "auto"): Objective =>
  objective((c) => np.tanh(np.dot(A, c)).mul(k + 1), { name: `row ${k}`, chunk });

describe("measurements", () => {
  test("mend a placement that the table got wrong, once", () => {
    const costs = [8, 8, 1, 1];
    const { call, changes, ranks } = bench(
      [0, 1, 2, 3].map((k) => row(k)),
      (objective) => at(costs, objective),
    );
    const before = ranks();
    call(200);
    expect(changes.length).toBeLessThanOrEqual(1);
    const [first, second] = ranks();
    expect(first).not.toEqual(second);
    expect(before.length).toBe(4);
  });

  test("change nothing where the gain is small", () => {
    const { call, changes } = bench(
      [0, 1, 2, 3].map((k) => row(k)),
      (objective) => 1 + 0.05 * objective,
    );
    call(300);
    expect(changes).toEqual([]);
  });

  test("divide what turns out to be more than a fair share, and join what does not", () => {
    let costs = [20, 1];
    const list = [row(0, 6), row(1, 6)];
    const { call, placement } = bench(
      list,
      (objective, chunk) => at(costs, objective) / (chunk === null ? 1 : 10),
    );
    expect(placement().map(({ parts }) => parts.length)).toEqual([1, 1]);
    call(20);
    expect(placement().map(({ parts }) => parts.length)).toEqual([2, 1]);
    costs = [5, 5];
    call(2000);
    expect(placement().map(({ parts }) => parts.length)).toEqual([1, 1]);
    const [first, second] = placement();
    expect(first?.parts[0]?.rank).not.toBe(second?.parts[0]?.rank);
  });

  test("follow chunks that cost differently", () => {
    const list = [row(0, 6)];
    const { call, placement } = bench(list, (_objective, chunk) => (chunk !== null && chunk < 2 ? 10 : 1));
    call(20);
    expect(
      placement()[0]
        ?.parts.map(({ from, to }) => to - from)
        .sort(),
    ).toEqual([1, 9]);
  });

  test("do not believe a call that was disturbed", () => {
    let calls = 0;
    const { call, changes } = bench([row(0), row(1)], (objective) => {
      calls++;
      return objective === 0 && calls % 10 === 1 ? 50 : 1;
    });
    call(300);
    expect(changes).toEqual([]);
  });

  test("do not swing to and fro when costs do", () => {
    let costs = [4, 4, 1, 1];
    const { call, changes } = bench(
      [0, 1, 2, 3].map((k) => row(k)),
      (objective) => at(costs, objective),
    );
    for (let round = 0; round < 40; round++) {
      costs = [...costs].reverse();
      call(50);
    }
    expect(changes.length).toBeLessThan(12);
  });
});

test("on a pool: what the table thinks cheap and is not is moved, with an event and the same bits", async () => {
  const events: PoolEvent[] = [];
  const pool = await poolOf({ ranks: 2, onEvent: (event) => events.push(event) });
  // By the table gathers are free; placed by it, the dense objective has a rank for itself and the two share the other.
  const size = 400_000;
  const index = np.array(Float64Array.from({ length: size }, (_, i) => (i * 7919) % size)).astype("int32");
  const gathered = (k: number): Objective =>
    objective(
      (c) => {
        let value: NDArray = np.broadcastTo(c.slice([0, 1]), [size]);
        for (let i = 0; i < 6; i++) value = np.take(value.add(0), index);
        return value.sum().mul(k);
      },
      { name: `gathered ${k}` },
    );
  const dense = objective((c) => np.tanh(np.dot(np.array(wave(3000 * dimX)).reshape(3000, dimX), c)), {
    name: "dense",
  });
  const list = [gathered(1), gathered(2), dense];
  const x = wave(dimX, 0.4);
  const fun = await objectiveFunction(list, { x, pool });
  const loop = sequential(list, { x });
  const wanted = loop.sync.residual(x).data;
  const ranks = (): number[] => fun.report().objectives.map(({ rank }) => rank);
  for (let i = 0; i < 40; i++) {
    expect((await fun.residual(x)).data).toEqual(wanted);
    expect(fun.sync.residual(x).data).toEqual(wanted);
  }
  const [first, second] = ranks();
  expect(first).not.toBe(second);
  const blocks = await parallelFor(list, (o, { c }: { c: Float64Array }) => o.residual(c), {
    with: { c: x },
    pool,
  });
  expect(np.concatenate(blocks).data).toEqual(wanted);
  const changed = events.filter((event) => event.type === "rebalanced");
  expect(fun.report().rebalanced).toBe(changed.length);
  for (const { before, after, moved } of changed) {
    expect(after).toBeLessThan(0.85 * before);
    expect(moved.length).toBeGreaterThan(0);
  }
  expect((await fun.linearize(x)).jacobian.data).toEqual(loop.sync.jacobian(x).data);
  await fun.dispose();
  expect(pool.report().plans).toEqual([]);
});
