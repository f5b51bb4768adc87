/**
 * Ranks that break while they evaluate objectives: the call rejects with an error that names rank and objective, the pool
 * heals, and the next call is right. A block of other coefficients than the published ones is an error too.
 */
import { EpochError, np, objective, objectiveFunction, RankError, RankLostError, sequential } from "heddle";
import { coreOf, adoptCore } from "#heddle/executor/cores";
import { openPool } from "#heddle/executor/open";
import type { PoolOptions } from "#heddle/executor/options";
import { Pool } from "#heddle/executor/pool";
import { fault } from "#heddle/rank/faults";
import { afterEach, describe, expect, test } from "vitest";

const open: Pool[] = [];
afterEach(async () => {
  for (const pool of open.splice(0)) await pool.close();
});

async function faulty(
  options: PoolOptions,
): Promise<{ pool: Pool; breakRank(rank: number, kind: number): void }> {
  const faults = [0, 1].map(() => new Int32Array(new SharedArrayBuffer(4)));
  const pool = new Pool();
  adoptCore(pool, await openPool({ ...options, ranks: 2 }, { faults }));
  open.push(pool);
  return {
    pool,
    breakRank: (rank, kind) => {
      const words = faults[rank];
      if (words !== undefined) Atomics.store(words, 0, kind);
    },
  };
}

const list = [
  objective((c) => np.tanh(c), { name: "smooth", rank: 0 }),
  objective((c) => c.mul(c), { name: "square", rank: 1 }),
];
const x = Float64Array.of(0.5, -1, 2);
const wanted = sequential(list, { x }).sync.linearize(x);

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => expect.fail("the call was expected to reject"),
    (error: unknown) => error,
  );
}

describe.each<[string, PoolOptions]>([
  ["threads", {}],
  ["in-process", { inProcess: true }],
])("%s", (_, options) => {
  test("a rank that throws: RankError names rank and objective, and the next call is right", async () => {
    const { pool, breakRank } = await faulty(options);
    const fun = await objectiveFunction(list, { x, pool });
    await fun.linearize(x);
    breakRank(1, fault.throw);
    const error = await failureOf(fun.linearize(x));
    expect(error).toBeInstanceOf(RankError);
    expect(error).toMatchObject({ rank: 1, task: "square", cause: { name: "RangeError" } });
    expect(String(error)).toMatch(/square on rank 1: RangeError: a fault was asked for/);
    const after = await fun.linearize(x);
    expect(after.residual.data).toEqual(wanted.residual.data);
    expect(after.jacobian.data).toEqual(wanted.jacobian.data);
  });
});

test("a rank that exits: RankLostError names rank and objective, the pool heals, in-place results survive", async () => {
  const { pool, breakRank } = await faulty({});
  const fun = await objectiveFunction(list, { x, pool });
  const kept = await fun.linearize(x, { out: await fun.linearize(x) });
  const before = pool.ranks.map(({ threadId }) => threadId);
  for (const rank of [1, 0]) {
    breakRank(rank, fault.exit);
    const error = await failureOf(fun.linearize(x));
    expect(error).toBeInstanceOf(RankLostError);
    expect(error).toMatchObject({ rank, task: rank === 1 ? "square" : "smooth" });
    const after = await fun.linearize(x);
    expect(after.residual.data).toEqual(wanted.residual.data);
    expect(after.jacobian.data).toEqual(wanted.jacobian.data);
  }
  const after = pool.ranks.map(({ threadId }) => threadId);
  expect(after.some((id) => before.includes(id))).toBe(false);
  expect(kept.jacobian.data).toEqual(wanted.jacobian.data);
});

test("a block of another epoch is refused, by objective and rank", async () => {
  const { pool } = await faulty({});
  const fun = await objectiveFunction(list, { x, pool });
  await fun.linearize(x);
  const core = coreOf(pool);
  const [residency] = core.residents.values();
  const mark = residency?.placed.marks.find(({ task, region }) => task === "square" && region === "jacobian");
  if (residency === undefined || mark === undefined) throw new Error("no resident plan");
  const words = core.heap.view("int32", residency.placed.words, residency.placed.wordCount);
  // By the time the epochs are compared, the block claims to be of the call before.
  const step = core.transport.step.bind(core.transport);
  core.transport.step = function* (...call) {
    const outcome = yield* step(...call);
    words[mark.word] = (words[mark.word] ?? 0) - 1;
    return outcome;
  };
  const error = await failureOf(fun.linearize(x));
  expect(error).toBeInstanceOf(EpochError);
  expect(String(error)).toMatch(
    /square on rank 1: its block of region "jacobian" is of epoch 1, expected epoch 2/,
  );
  core.transport.step = step;
  expect((await fun.linearize(x)).jacobian.data).toEqual(wanted.jacobian.data);
});
