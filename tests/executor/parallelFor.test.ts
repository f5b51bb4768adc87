// parallelFor equals the loop that it replaces, for every range, schedule and number of ranks; what it refuses, and how
// it fails. The same tests run on ranks in the calling thread and on worker threads.
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { LoopOptions, Pool, PoolOptions, ScheduleOption } from "heddle";
import {
  ArgumentError,
  CaptureError,
  createPool,
  np,
  parallelFor,
  PoolClosedError,
  RankError,
  RankLostError,
  registerCodec,
  sharedArray,
  TimeoutError,
} from "heddle";
import { at } from "#heddle/base/at";
import { ring } from "../contracts/plans.js";

const schedules: ScheduleOption[] = [
  "static",
  "dynamic",
  "guided",
  "auto",
  { kind: "static", chunk: 3 },
  { kind: "dynamic", chunk: 4 },
  { kind: "guided", chunk: 2 },
];

async function failureOf<E extends Error>(
  promise: Promise<unknown>,
  errorClass: new (...args: never[]) => E,
): Promise<E> {
  const error: unknown = await promise.then(
    () => expect.fail("the call was expected to reject"),
    (reason: unknown) => reason,
  );
  return error instanceof errorClass ? error : expect.fail(`not a ${errorClass.name}: ${String(error)}`);
}

class Held {
  readonly rank: number;
  readonly value: number;
  constructor(rank: number, value: number) {
    this.rank = rank;
    this.value = value;
  }
}
registerCodec<Held>({
  name: "test held",
  test: (value) => value instanceof Held,
  encode: ({ rank, value }) => ({ rank, value }),
  decode: (data) => data as Held,
  pin: ({ rank }) => rank,
});

describe.each<[string, PoolOptions, number]>([
  ["in-process, 3 ranks", { inProcess: true }, 3],
  ["threads, 1 rank", {}, 1],
  ["threads, 2 ranks", {}, 2],
])("parallelFor, %s", (_name, options, ranks) => {
  let pool: Pool;
  beforeAll(async () => {
    pool = await createPool({ ...options, ranks });
  });
  afterAll(async () => {
    await pool.close();
  });

  it("equals the sequential loop, and runs every index once", async () => {
    const counts = sharedArray("int32", 500);
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          from: fc.integer({ min: -50, max: 50 }),
          length: fc.integer({ min: 0, max: 60 }),
          step: fc.constantFrom(1, 2, 7, -1, -3),
        }),
        fc.constantFrom(...schedules),
        async ({ from, length, step }, schedule) => {
          const to = from + Math.sign(step) * length;
          const expected: number[] = [];
          for (let i = from; step > 0 ? i < to : i > to; i += step) expected.push(Math.sin(i) * 2);
          counts.fill(0);
          const found = await parallelFor(
            { from, to, step },
            (i, { counts }) => {
              Atomics.add(counts, i + 250, 1);
              return Math.sin(i) * 2;
            },
            { pool, schedule, with: { counts } },
          );
          expect(found).toEqual(Float64Array.from(expected));
          expect(counts.reduce((sum, count) => sum + count, 0)).toBe(expected.length);
          expect(Math.max(...counts)).toBeLessThanOrEqual(1);
        },
      ),
      { numRuns: 60 },
    );
  });

  it.each(schedules)("deals out many iterations: %j", async (schedule) => {
    const found = await parallelFor(5000, (i) => i, { pool, schedule });
    expect(found.length).toBe(5000);
    expect(found.every((value, i) => value === i)).toBe(true);
  });

  it("gives numbers as a typed array, and anything else as a list", async () => {
    expect(await parallelFor(3, (i) => i / 2, { pool })).toEqual(Float64Array.of(0, 0.5, 1));
    expect(await parallelFor(3, (i) => (i === 1 ? "one" : i), { pool })).toEqual([0, "one", 2]);
    expect(await parallelFor(3, () => {}, { pool })).toEqual([undefined, undefined, undefined]);
    expect(await parallelFor(2, (i) => ({ i, list: [i] }), { pool })).toEqual([
      { i: 0, list: [0] },
      { i: 1, list: [1] },
    ]);
    expect(await parallelFor(2, async (i) => Promise.resolve(i * 3), { pool })).toEqual(
      Float64Array.of(0, 3),
    );
    expect(await parallelFor(0, (i) => i, { pool })).toEqual(new Float64Array(0));
    expect(await parallelFor([], (i) => i, { pool })).toEqual(new Float64Array(0));
    expect(await parallelFor({ from: 5, to: 2 }, (i) => i, { pool })).toEqual(new Float64Array(0));
  });

  it("runs over items, with their index", async () => {
    const found = await parallelFor(new Set(["a", "bb", "ccc"]), (text, { index }) => [index, text.length], {
      pool,
    });
    expect(found).toEqual([
      [0, 1],
      [1, 2],
      [2, 3],
    ]);
  });

  it("tells the body where it is", async () => {
    const found = await parallelFor(
      20,
      (i, { rank, numRanks, index, signal, local }) => {
        const calls = local("calls", () => ({ count: 0 }));
        calls.count++;
        return { i, rank, numRanks, index, aborted: signal.aborted, count: calls.count };
      },
      { pool, schedule: "static" },
    );
    expect(found.map(({ i }) => i)).toEqual(Array.from({ length: 20 }, (_, i) => i));
    expect(
      found.every(({ i, index, numRanks, aborted }) => i === index && numRanks === ranks && !aborted),
    ).toBe(true);
    expect(new Set(found.map(({ rank }) => rank)).size).toBe(ranks);
    const again = await parallelFor(1, (_i, { local }) => local("calls", () => ({ count: 0 })).count, {
      pool,
    });
    expect(at(again, 0)).toBeGreaterThan(0);
  });

  it("takes part with no more ranks than asked", async () => {
    const found = await parallelFor(20, (_i, { rank, numRanks }) => [rank, numRanks], {
      pool,
      ranks: 1,
      schedule: "dynamic",
    });
    expect(found.every(([rank, numRanks]) => rank === 0 && numRanks === 1)).toBe(true);
  });

  it("brings what was given, by name and through the context", async () => {
    const scale = (x: number, k: number): number => x * k;
    const table = { offset: 10, data: Float64Array.of(1, 2, 3) };
    const x = np.array([1, 2, 3]);
    const found = await parallelFor(
      3,
      (i, { table: t }) => scale(t.data[i] ?? NaN, 2) + table.offset + np.sum(x.mul(i)).item(),
      { pool, with: { scale, table, np, x } },
    );
    expect(found).toEqual(Float64Array.of(12, 20, 28));
  });

  it("copies what it brings: nobody sees what the caller does afterwards", async () => {
    const data = Float64Array.of(1, 2, 3, 4);
    const first = parallelFor(4, (i, { data: d }) => d[i] ?? NaN, { pool, with: { data } });
    const second = parallelFor(4, (i, { data: d }) => d[i] ?? NaN, { pool, with: { data } });
    data.fill(0);
    expect(await first).toEqual(Float64Array.of(1, 2, 3, 4));
    expect(await second).toEqual(Float64Array.of(1, 2, 3, 4));
  });

  it("writes into shared arrays", async () => {
    const out = sharedArray("float64", [10, 10]);
    await parallelFor(
      100,
      (i, { out: o }) => {
        o[i] = i * i;
      },
      { pool, with: { out } },
    );
    expect(out.every((value, i) => value === i * i)).toBe(true);
  });

  it.each(schedules)("runs held items on the rank that holds them: %j", async (schedule) => {
    const items = Array.from({ length: 12 }, (_, i) => new Held((i * 7) % ranks, i));
    const found = await parallelFor(
      [...items, 100, 101, 102],
      (item, { rank }) => [typeof item === "number" ? item : item.value, rank],
      { pool, schedule },
    );
    items.forEach(({ rank, value }, i) => expect(found[i]).toEqual([value, rank]));
    expect(found.slice(12).map(([value]) => value)).toEqual([100, 101, 102]);
    const onLast = await parallelFor([new Held(ranks - 1, 1)], (_item, { rank }) => rank, {
      pool,
      ranks: 1,
      schedule,
    });
    expect(onLast).toEqual(Float64Array.of(ranks - 1));
  });

  it("reports progress", async () => {
    const seen: [number, number][] = [];
    await parallelFor(50, (i) => i, { pool, onProgress: (done, total) => seen.push([done, total]) });
    expect(seen.at(-1)).toEqual([50, 50]);
  });

  it("fails with what its listener throws", async () => {
    const problem = new Error("no progress, please");
    const call = parallelFor(50, (i) => i, {
      pool,
      onProgress: () => {
        throw problem;
      },
    });
    await expect(call).rejects.toBe(problem);
    expect(await parallelFor(2, (i) => i, { pool })).toEqual(Float64Array.of(0, 1));
  });

  it("rejects with index, rank, stack and cause when a body throws, and starts no more", async () => {
    const started = sharedArray("int32", 1);
    const error = await failureOf(
      parallelFor(
        10_000,
        (i, { started: s }) => {
          Atomics.add(s, 0, 1);
          if (i === 5) throw new RangeError("five", { cause: { why: "five" } });
          return i;
        },
        { pool, schedule: "dynamic", with: { started } },
      ),
      RankError,
    );
    expect(error.index).toBe(5);
    expect(error.message).toBe(`iteration 5 on rank ${error.rank}: RangeError: five`);
    expect(error.workerStack).toMatch(/RangeError: five\n\s+at /);
    expect(error.cause).toBeInstanceOf(RangeError);
    expect((error.cause as Error).cause).toEqual({ why: "five" });
    expect(started[0]).toBeLessThan(10_000);
    expect(await parallelFor(3, (i) => i, { pool })).toEqual(Float64Array.of(0, 1, 2));
  });

  it("names the index as the body sees it, and passes on whatever was thrown", async () => {
    const error = await failureOf(
      parallelFor(
        { from: 10, to: 20, step: 5 },
        async (i) => {
          await Promise.resolve();
          if (i === 15) throw { code: 7 }; // eslint-disable-line @typescript-eslint/only-throw-error
        },
        { pool },
      ),
      RankError,
    );
    expect(error).toMatchObject({ index: 15, cause: { code: 7 } });
    expect(error.message).toMatch(/iteration 15 on rank \d: threw \{"code":7\}/);
  });

  it("refuses results that cannot come back", async () => {
    const error = await failureOf(
      parallelFor(3, (i) => (i === 1 ? Symbol("x") : i), { pool }),
      RankError,
    );
    expect(error.index).toBe(1);
    expect(error.message).toMatch(/the result of iteration 1 is a symbol, which cannot cross/);
  });

  it("gives up when its signal says so, and the pool works on", async () => {
    const reason = new Error("enough");
    await expect(parallelFor(3, (i) => i, { pool, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const controller = new AbortController();
    const started = sharedArray("int32", 2);
    const call = parallelFor(
      100_000,
      async (_i, { started: s, signal }) => {
        Atomics.add(s, 0, 1);
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, 20_000);
          signal.addEventListener("abort", () => {
            clearTimeout(timer);
            Atomics.add(s, 1, 1);
            resolve();
          });
        });
      },
      { pool, with: { started }, signal: controller.signal },
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
    expect(await parallelFor(3, (i) => i, { pool })).toEqual(Float64Array.of(0, 1, 2));
    expect(started[0]).toBeLessThan(100);
    expect(started[1]).toBe(started[0]);
  });

  it("queues calls that are made at once", async () => {
    const calls = Array.from({ length: 8 }, (_, k) =>
      parallelFor(10, (i, { k: shift }) => i + shift, { pool, with: { k } }),
    );
    const results = await Promise.all(calls);
    results.forEach((result, k) =>
      expect(result).toEqual(Float64Array.from({ length: 10 }, (_, i) => i + k)),
    );
  });

  it.each<[string, unknown, LoopOptions, RegExp]>([
    ["a negative number", -1, {}, /parallelFor: n is -1, expected an integer that is not negative/],
    ["a fraction", 1.5, {}, /n is 1.5/],
    ["NaN", NaN, {}, /n is NaN/],
    ["too many", 2 ** 40, {}, /at most 2147483647; loop over blocks/],
    ["nothing", undefined, {}, /n is undefined, expected a number/],
    ["null", null, {}, /expected a number/],
    ["an empty object", {}, {}, /an object without `to`/],
    ["a step of 0", { to: 3, step: 0 }, {}, /step is 0, expected not 0/],
    ["a fractional bound", { to: 3.5 }, {}, /to is 3.5, expected an integer/],
    ["an async iterable", (async function* () {})(), {}, /an async iterable.*for await/],
    ["an unknown schedule", 3, { schedule: "fast" as "auto" }, /schedule is "fast", expected "static"/],
    ["a chunk of 0", 3, { schedule: { kind: "dynamic", chunk: 0 } }, /schedule.chunk is 0/],
    ["no ranks", 3, { ranks: 0 }, /options.ranks is 0/],
    [
      "an option that does not exist",
      3,
      { shedule: "static" } as LoopOptions,
      /options.shedule is .*, expected only with, pool/,
    ],
    [
      "a pool that is none",
      3,
      { pool: {} as unknown as Pool },
      /pool: object, expected what createPool\(\) resolves to/,
    ],
    ["given values that are no object", 3, { with: 3 as unknown as object }, /options.with is number/],
  ])("refuses %s", async (_case, over, more, message) => {
    const call = parallelFor(over as number, (i) => i, { pool, ...more });
    await expect(call).rejects.toThrow(message);
    await expect(call).rejects.toThrow(ArgumentError);
  });

  it("refuses what is no function", async () => {
    await expect(parallelFor(3, 3 as unknown as () => 1, { pool })).rejects.toThrow(
      /body is number, expected a function/,
    );
  });
});

describe("parallelFor on two threads", () => {
  it("runs at the same time on both", async () => {
    await using pool = await createPool({ ranks: 2 });
    const flags = sharedArray("int32", 2);
    // Each waits for the other: this would never end if they took turns.
    const found = await parallelFor(
      2,
      (i, { flags: f }) => {
        Atomics.store(f, i, 1);
        Atomics.notify(f, i);
        return Atomics.wait(f, 1 - i, 0, 20_000);
      },
      { pool, schedule: "static", with: { flags } },
    );
    expect(found.every((result) => result !== "timed-out")).toBe(true);
    expect(new Set(pool.ranks.map(({ threadId }) => threadId)).size).toBe(2);
    expect(pool.report().ranks.every(({ iterations }) => iterations === 1)).toBe(true);
    expect(pool.timeline().map(({ task }) => task)).toEqual(["parallelFor", "parallelFor"]);
  });

  it("rejects with the iterations that a rank held when it ended, and heals", async () => {
    await using pool = await createPool({ ranks: 2 });
    for (let round = 0; round < 2; round++) {
      const error = await failureOf(
        parallelFor(
          20,
          (i) => {
            if (i === 12) process.exit(7);
            return i;
          },
          { pool, schedule: "static" },
        ),
        RankLostError,
      );
      expect(error).toMatchObject({ rank: 1, index: 12, task: "parallelFor" });
      expect(error.message).toMatch(
        /iterations 12 to 19 on rank 1: the rank was lost: its thread ended with exit code 7/,
      );
      expect(await parallelFor(5, (i) => i, { pool })).toEqual(Float64Array.of(0, 1, 2, 3, 4));
    }
  });

  it("says why a rank ended by an error that nobody caught", async () => {
    await using pool = await createPool({ ranks: 1 });
    const error = await failureOf(
      parallelFor(
        1,
        async () => {
          setImmediate(() => {
            throw new TypeError("nobody caught this");
          });
          await new Promise((resolve) => setTimeout(resolve, 5000));
        },
        { pool },
      ),
      RankLostError,
    );
    expect(error.message).toMatch(/iteration 0 on rank 0: the rank was lost: TypeError: nobody caught this/);
    expect(await parallelFor(1, (i) => i, { pool })).toEqual(Float64Array.of(0));
  });

  it("heals a rank that ended while nobody asked anything of it", async () => {
    await using pool = await createPool({ ranks: 2 });
    const before = pool.ranks.map(({ threadId }) => threadId);
    for (const how of ["exit", "throw"]) {
      await parallelFor(
        2,
        (i, { how: way }) => {
          setTimeout(() => {
            if (way === "exit") process.exit(i);
            throw new Error("later");
          }, 20);
        },
        { pool, schedule: "static", with: { how } },
      );
      await new Promise((resolve) => setTimeout(resolve, 200));
      expect(await parallelFor(4, (i) => i, { pool })).toEqual(Float64Array.of(0, 1, 2, 3));
    }
    pool.ranks.forEach(({ threadId }, rank) => expect(threadId).not.toBe(before[rank]));
  });

  it("is ended by closing the pool, also in a body that never ends", async () => {
    const pool = await createPool({ ranks: 2 });
    const call = parallelFor(
      2,
      () => {
        for (;;);
      },
      { pool },
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
    const closing = pool.close();
    await expect(call).rejects.toThrow(PoolClosedError);
    await closing;
    await expect(parallelFor(2, (i) => i, { pool })).rejects.toThrow(/parallelFor: the pool is closed/);
    await expect(parallelFor(0, (i) => i, { pool })).rejects.toThrow(PoolClosedError);
  });
});

describe("a rank between steps", () => {
  it("goes on serving what bodies have started", async () => {
    await using pool = await createPool({ ranks: 1 });
    const ticks = sharedArray("int32", 1);
    await parallelFor(
      1,
      (_i, { ticks: t, local }) => {
        local("timer", () => setInterval(() => Atomics.add(t, 0, 1), 1));
      },
      { pool, with: { ticks } },
    );
    const { plan, arrays, expected } = ring(1);
    const resident = await pool.load(plan);
    const end = performance.now() + 500;
    let steps = 0;
    while (performance.now() < end) {
      expect(await resident.run(arrays, (region) => [...region("y")])).toEqual(expected["y"]);
      steps++;
    }
    expect(steps).toBeGreaterThan(100);
    expect(ticks[0]).toBeGreaterThan(5);
  });

  it("answers at once, loops and steps in any order", async () => {
    await using pool = await createPool({ ranks: 2 });
    const { plan, arrays, expected } = ring(2);
    const resident = await pool.load(plan);
    for (let round = 0; round < 100; round++) {
      if (round % 3 !== 0) {
        expect(await resident.run(arrays, (region) => [...region("y")])).toEqual(expected["y"]);
      } else {
        expect(await parallelFor(3, (i, { round: r }) => i + r, { pool, with: { round } })).toEqual(
          Float64Array.of(round, round + 1, round + 2),
        );
      }
      if (round % 10 === 0) await new Promise((resolve) => setTimeout(resolve, round / 10));
    }
  });
});

describe("parallelFor without a pool of its own", () => {
  it("uses the default pool", async () => {
    expect(await parallelFor(4, (i) => i * 2)).toEqual(Float64Array.of(0, 2, 4, 6));
  });

  it("runs on the calling thread if told so, by the same rules", async () => {
    const data = { list: [1, 2, 3] };
    const call = parallelFor(
      3,
      (i, { data: copy, rank, numRanks }) => [copy.list[i], copy === data, rank, numRanks],
      { if: false, with: { data } },
    );
    data.list.fill(0);
    expect(await call).toEqual([
      [1, true, 0, 1],
      [2, true, 0, 1],
      [3, true, 0, 1],
    ]);
    const k = 1;
    expect(await parallelFor(3, (i) => i + k, { if: false })).toEqual(Float64Array.of(1, 2, 3));
    const socket = new MessageChannel().port1;
    await expect(parallelFor(3, () => socket, { if: false })).rejects.toThrow(CaptureError);
    socket.close();
    const error = await failureOf(
      parallelFor(
        3,
        (i) => {
          if (i === 1) throw new RangeError("one");
        },
        { if: false },
      ),
      RankError,
    );
    expect(error).toMatchObject({ index: 1, rank: 0 });
  });

  it("gives up on the calling thread too", async () => {
    const never = (): Promise<number> => new Promise<number>(() => {});
    const timed = await failureOf(parallelFor(2, never, { if: false, timeout: 30 }), TimeoutError);
    expect(timed).toMatchObject({ rank: 0 });
    const signal = AbortSignal.timeout(30);
    await expect(parallelFor(2, never, { if: false, signal })).rejects.toThrow(/aborted due to timeout/);
    const slow = (i: number): number => {
      const end = performance.now() + 5;
      while (performance.now() < end) void 0;
      return i;
    };
    await failureOf(parallelFor(1000, slow, { if: false, timeout: 30 }), TimeoutError);
    expect(() => parallelFor.sync(1000, slow, { if: false, timeout: 30 })).toThrow(TimeoutError);
    expect(await parallelFor(3, slow, { if: false, timeout: 10_000 })).toEqual(Float64Array.of(0, 1, 2));
  });

  it("inside a body runs where it is", async () => {
    const found = await parallelFor(
      2,
      async (i, { parallelFor: inner }) => [
        ...(await inner(3, (k, { i: outer }) => k + 10 * outer, { with: { i } })),
      ],
      { with: { parallelFor } },
    );
    expect(found).toEqual([
      [0, 1, 2],
      [10, 11, 12],
    ]);
  });
});
