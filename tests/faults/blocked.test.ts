// What happens to ranks while the calling thread blocks: exits, throws, endless loops and heaps that run out are settled
// with a typed error within their bounds, by the supervisor, and the pool is whole again for the next call.
import { afterEach, describe, expect, it } from "vitest";
import {
  createPool,
  parallelFor,
  registerCodec,
  RankError,
  RankLostError,
  TimeoutError,
  BlockingError,
} from "heddle";
import type { Pool, PoolEvent } from "heddle";
import { adoptCore, coreOf } from "#heddle/executor/cores";
import { openPoolNow } from "#heddle/executor/open";
import { Pool as PoolClass } from "#heddle/executor/pool";
import { fault } from "#heddle/rank/faults";
import { blocks, ring } from "../contracts/plans.js";

/** Bounds are checked three times as wide as they are meant on a machine that does nothing else. */
const slack = 3;

const open: Pool[] = [];
afterEach(async () => {
  for (const pool of open.splice(0)) await pool.close();
});

function poolNow(): { pool: Pool; events: PoolEvent[] } {
  const events: PoolEvent[] = [];
  const pool = createPool.sync({ ranks: 2, onEvent: (event) => events.push(event) });
  open.push(pool);
  return { pool, events };
}

function thrown(call: () => unknown): { error: unknown; milliseconds: number } {
  const start = performance.now();
  try {
    call();
  } catch (error) {
    return { error, milliseconds: performance.now() - start };
  }
  throw new Error("the call was expected to throw");
}

const squares = Float64Array.from({ length: 20 }, (_, i) => i * i);

describe("a loop that blocks its caller", () => {
  it("survives a rank that exits", () => {
    const { pool } = poolNow();
    const call = (): unknown =>
      parallelFor.sync(
        20,
        (i) => {
          if (i === 7) process.exit(5);
          return i;
        },
        { pool, schedule: "static" },
      );
    parallelFor.sync(2, (i) => i, { pool });
    for (let round = 0; round < 3; round++) {
      const { error, milliseconds } = thrown(call);
      expect(error).toBeInstanceOf(RankLostError);
      expect(error).toMatchObject({ rank: 0, index: 7 });
      expect(String(error)).toMatch(/its thread ended with exit code 5/);
      expect(milliseconds).toBeLessThan(100 * slack);
      expect(parallelFor.sync(20, (i) => i * i, { pool })).toEqual(squares);
    }
  });

  it("survives a body that throws", () => {
    const { pool } = poolNow();
    parallelFor.sync(2, (i) => i, { pool });
    const { error, milliseconds } = thrown(() =>
      parallelFor.sync(
        20,
        (i) => {
          if (i === 13) throw new RangeError("thirteen", { cause: "superstition" });
          return i;
        },
        { pool },
      ),
    );
    expect(error).toBeInstanceOf(RankError);
    expect(error).toMatchObject({ index: 13 });
    expect((error as RankError).cause).toBeInstanceOf(RangeError);
    expect(((error as RankError).cause as RangeError).cause).toBe("superstition");
    expect(milliseconds).toBeLessThan(100 * slack);
    expect(parallelFor.sync(20, (i) => i * i, { pool })).toEqual(squares);
  });

  it("ends a body that loops for ever, at its timeout", () => {
    const { pool } = poolNow();
    parallelFor.sync(2, (i) => i, { pool });
    const { error, milliseconds } = thrown(() =>
      parallelFor.sync(
        4,
        (i) => {
          while (i === 3) void 0;
          return i;
        },
        { pool, timeout: 200, schedule: "static" },
      ),
    );
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ rank: 1, index: 3 });
    expect(milliseconds).toBeGreaterThanOrEqual(200);
    expect(milliseconds).toBeLessThan(200 + 100 * slack);
    expect(parallelFor.sync(20, (i) => i * i, { pool })).toEqual(squares);
  });

  it("survives a rank whose heap runs out", () => {
    const pool = createPool.sync({ ranks: 2, scriptHeap: 64 * 2 ** 20 });
    open.push(pool);
    parallelFor.sync(2, (i) => i, { pool });
    const { error, milliseconds } = thrown(() =>
      parallelFor.sync(
        2,
        (i) => {
          // Objects of moderate size, each alive: what engines report before they give up.
          let kept: unknown = null;
          for (let round = 0; i === 1; round++) kept = { kept, text: `${round}`.repeat(500), list: [round] };
          return kept === null ? i : -1;
        },
        { pool, schedule: "static" },
      ),
    );
    expect(error).toBeInstanceOf(RankLostError);
    expect(error).toMatchObject({ rank: 1, index: 1 });
    expect(String(error)).toMatch(/memory/);
    expect(milliseconds).toBeLessThan(3000 * slack);
    expect(parallelFor.sync(20, (i) => i * i, { pool })).toEqual(squares);
  });

  it("tells of what happened once the caller is free", async () => {
    const { pool, events } = poolNow();
    thrown(() => parallelFor.sync(2, (i) => (i === 1 ? process.exit(1) : i), { pool, schedule: "static" }));
    parallelFor.sync(2, (i) => i, { pool });
    await new Promise((resolve) => setImmediate(resolve));
    expect(events.map((event) => [event.type, "rank" in event ? event.rank : undefined])).toEqual([
      ["rankLost", 1],
      ["rankHealed", 1],
    ]);
  });

  it("refuses bodies that are not done when they return", () => {
    const { pool } = poolNow();
    expect(() => parallelFor.sync(2, async (i) => Promise.resolve(i), { pool })).toThrow(/an async function/);
    const { error } = thrown(() => parallelFor.sync(2, (i) => Promise.resolve(i), { pool }));
    expect(error).toBeInstanceOf(RankError);
    expect(String((error as RankError).cause)).toMatch(/returns a promise/);
    expect(parallelFor.sync(20, (i) => i * i, { pool })).toEqual(squares);
  });

  it("is refused while a call that is awaited is under way, which then ends as it should", async () => {
    const { pool } = poolNow();
    const awaited = parallelFor(20, (i) => i * i, { pool });
    expect(() => parallelFor.sync(2, (i) => i, { pool })).toThrow(BlockingError);
    expect(await awaited).toEqual(squares);
    expect(parallelFor.sync(20, (i) => i * i, { pool })).toEqual(squares);
  });

  it("tells of progress, and fails with what the listener throws", () => {
    const { pool } = poolNow();
    const seen: number[] = [];
    parallelFor.sync(
      6,
      () => {
        const end = performance.now() + 30;
        while (performance.now() < end) void 0;
      },
      { pool, onProgress: (done, total) => seen.push(done / total) },
    );
    expect(seen.at(-1)).toBe(1);
    expect(seen.length).toBeGreaterThan(1);
    const refuse = (): void => {
      throw new Error("from the listener");
    };
    expect(() => parallelFor.sync(2, (i) => i, { pool, onProgress: refuse })).toThrow("from the listener");
    expect(parallelFor.sync(20, (i) => i * i, { pool })).toEqual(squares);
  });

  it("runs on the calling thread if asked to, by the same rules", () => {
    expect(parallelFor.sync(20, (i) => i * i, { if: false })).toEqual(squares);
    const { error } = thrown(() => parallelFor.sync(2, () => Promise.resolve(1), { if: false }));
    expect(String((error as RankError).cause)).toMatch(/returns a promise/);
  });

  it("runs nested in a body", () => {
    const { pool } = poolNow();
    const table = parallelFor.sync(
      3,
      (i, { parallelFor: inner }) => [...inner.sync(2, (j) => j + 1)].map((v) => v * i),
      {
        pool,
        with: { parallelFor },
      },
    );
    expect(table).toEqual([
      [0, 0],
      [1, 2],
      [2, 4],
    ]);
  });

  it("waits on the default pool, which it makes if need be", () => {
    expect(parallelFor.sync(20, (i) => i * i)).toEqual(squares);
  });
});

describe("a loop that has failed on one rank", () => {
  const failing = (i: number): number | Promise<number> => {
    if (i === 0) throw new Error("zero");
    return new Promise<number>(() => {});
  };
  const endless = (i: number): number => {
    while (i === 1) void 0;
    return process.exit(3);
  };

  it("does not wait for ever for a body elsewhere", async () => {
    const { pool } = poolNow();
    const throws = parallelFor(2, failing, { pool, schedule: "static" });
    await expect(throws).rejects.toThrow(/zero/);
    await expect(throws).rejects.toThrow(RankError);
    expect(await parallelFor(20, (i) => i * i, { pool })).toEqual(squares);
    const exits = parallelFor(2, endless, { pool, schedule: "static" });
    await expect(exits).rejects.toThrow(/exit code 3/);
    expect(await parallelFor(20, (i) => i * i, { pool })).toEqual(squares);
  });

  it("nor does its caller block for ever", () => {
    const { pool } = poolNow();
    const { error, milliseconds } = thrown(() => parallelFor.sync(2, endless, { pool, schedule: "static" }));
    expect(String(error)).toMatch(/exit code 3/);
    expect(milliseconds).toBeLessThan(5000);
    expect(parallelFor.sync(20, (i) => i * i, { pool })).toEqual(squares);
  });

  it("and one that was aborted frees the pool from a body that goes on", async () => {
    const { pool } = poolNow();
    const controller = new AbortController();
    const loop = parallelFor(2, endless, {
      pool,
      signal: controller.signal,
      ranks: 2,
      schedule: "static",
    }).catch((reason: unknown) => reason);
    const never = parallelFor(
      2,
      () => {
        for (;;);
      },
      { pool, signal: controller.signal },
    ).catch((reason: unknown) => reason);
    setTimeout(() => controller.abort(new Error("enough")), 50);
    expect(String(await loop)).toMatch(/enough|exit code 3/);
    expect(String(await never)).toMatch(/enough/);
    expect(await parallelFor(20, (i) => i * i, { pool })).toEqual(squares);
  });
});

describe("a rank that is done just when it is ended", () => {
  // Between giving up and ending a rank lie 25 ms: bodies end around that moment.
  const delays = Array.from({ length: 8 }, (_, i) => 43 + 0.5 * i);
  const busy = (i: number, { delay }: { delay: number }): number => {
    const end = performance.now() + (i === 1 ? delay : 0);
    while (performance.now() < end) void 0;
    return i * i;
  };

  it("never ends in the middle of the next call", async () => {
    const { pool } = poolNow();
    for (const delay of delays) {
      try {
        parallelFor.sync(2, busy, { pool, timeout: 20, schedule: "static", with: { delay } });
      } catch (error) {
        expect(error).toBeInstanceOf(TimeoutError);
      }
      expect(parallelFor.sync(20, (i) => i * i, { pool })).toEqual(squares);
    }
    for (const delay of delays) {
      const loop = parallelFor(2, busy, { pool, timeout: 20, schedule: "static", with: { delay } });
      const error: unknown = await loop.then(
        () => undefined,
        (reason: unknown) => reason,
      );
      if (error !== undefined) expect(error).toBeInstanceOf(TimeoutError);
      expect(await parallelFor(20, (i) => i * i, { pool })).toEqual(squares);
    }
  });
});

describe("a rank that ends before its first iteration", () => {
  class Trap {}
  registerCodec({
    name: "test trap",
    test: (value) => value instanceof Trap,
    encode: () => 0,
    decode: () => process.exit(4),
  });

  it("is not said to have held one", () => {
    const { pool } = poolNow();
    parallelFor.sync(20, (i) => i, { pool });
    const trap = new Trap();
    const { error } = thrown(() => parallelFor.sync(2, () => trap, { pool }));
    expect(error).toBeInstanceOf(RankLostError);
    expect((error as RankLostError).index).toBeUndefined();
    expect(String(error)).not.toMatch(/iteration/);
  });
});

describe("a loop in the calling thread that gave up a body", () => {
  it("keeps the memory that the body may still write to", async () => {
    const pool = await createPool({ ranks: 1, inProcess: true });
    const { heap } = coreOf(pool);
    const gate: { open?: () => void } = {};
    Object.assign(globalThis, {
      bodyGate: new Promise<void>((resolve) => {
        gate.open = resolve;
      }),
    });
    const body = async (i: number): Promise<number> => {
      await (globalThis as unknown as { bodyGate: Promise<void> }).bodyGate;
      return i;
    };
    await expect(parallelFor(1, body, { pool, timeout: 30 })).rejects.toThrow(TimeoutError);
    const aborted = parallelFor(1, body, { pool, signal: AbortSignal.timeout(30) });
    await expect(aborted).rejects.toThrow(/aborted/);
    await pool.close();
    // Whoever gets memory now must not see what the bodies write when they go on.
    const blocks = Array.from({ length: 200 }, () => heap.allocate(64, "test"));
    const views = blocks.map(({ address }) => heap.view("int32", address, 16).fill(-7));
    gate.open?.();
    await new Promise((resolve) => setTimeout(resolve, 20));
    for (const view of views) expect(view).toEqual(new Int32Array(16).fill(-7));
    for (const block of blocks) block.free();
  });
});

describe("an awaited loop with a timeout", () => {
  it("ends bodies that never return, and bodies that never settle", async () => {
    const { pool } = poolNow();
    const endless = parallelFor(
      4,
      (i) => {
        while (i === 3) void 0;
        return i;
      },
      { pool, timeout: 150, schedule: "static" },
    );
    await expect(endless).rejects.toThrow(TimeoutError);
    const unsettled = parallelFor(2, () => new Promise<number>(() => {}), { pool, timeout: 150 });
    await expect(unsettled).rejects.toThrow(TimeoutError);
    expect(await parallelFor(20, (i) => i * i, { pool })).toEqual(squares);
  });

  it("does nothing to loops that end in time", async () => {
    const { pool } = poolNow();
    expect(await parallelFor(20, (i) => i * i, { pool, timeout: 10_000 })).toEqual(squares);
    for (const timeout of [0, -1, NaN, "1" as unknown as number]) {
      await expect(parallelFor(2, (i) => i, { pool, timeout })).rejects.toThrow(/options.timeout/);
    }
  });
});

describe("a step that blocks its caller", () => {
  it.each([1, 2, 3, 7])("gives the bits of one that is awaited, on %i ranks", async (ranks) => {
    const pool = createPool.sync({ ranks });
    open.push(pool);
    const { plan, arrays } = blocks(ranks);
    const { c, ...constants } = arrays;
    const resident = pool.sync.load(plan, { constants });
    const inputs = { c: c as Float64Array };
    const collect = (region: (name: string) => unknown): number[] => [...(region("y") as Float64Array)];
    const awaited = await resident.run(inputs, collect);
    // More steps than it takes to choose who carries them out.
    for (let round = 0; round < 12; round++) expect(resident.sync.run(inputs, collect)).toEqual(awaited);
    expect(await resident.run(inputs, collect)).toEqual(awaited);
    const circle = ring(ranks);
    const around = pool.sync.run(circle.plan, circle.arrays);
    expect([...(around["y"]?.data ?? [])]).toEqual(circle.expected["y"]);
    resident.sync.dispose();
  });

  it("survives ranks that exit and throw", () => {
    const faults = [0, 1, 2].map(() => new Int32Array(new SharedArrayBuffer(4)));
    const pool = new PoolClass();
    adoptCore(pool, openPoolNow({ ranks: 3 }, { faults }));
    open.push(pool);
    const circle = ring(3);
    const resident = pool.sync.load(circle.plan);
    const run = (): number[] => resident.sync.run(circle.arrays, (region) => [...region("y")]);
    expect(run()).toEqual(circle.expected["y"]);
    for (const [kind, errorClass] of [
      [fault.exit, RankLostError],
      [fault.throw, RankError],
    ] as const) {
      for (const rank of [0, 1, 2]) {
        const words = faults[rank];
        if (words !== undefined) Atomics.store(words, 0, kind);
        const { error, milliseconds } = thrown(run);
        expect(error).toBeInstanceOf(errorClass);
        expect(error).toMatchObject({ rank });
        expect(milliseconds).toBeLessThan(100 * slack);
        expect(run()).toEqual(circle.expected["y"]);
      }
    }
  });

  it("is carried out by the calling thread alone where that is quicker, and the report says so", async () => {
    const pool = createPool.sync({ ranks: 2 });
    const never = createPool.sync({ ranks: 2, inline: false });
    open.push(pool, never);
    for (const one of [pool, never]) {
      const { plan, arrays } = blocks(2);
      const { c, ...constants } = arrays;
      const resident = one.sync.load(plan, { constants, label: "small" });
      for (let step = 0; step < 50; step++) {
        resident.sync.run({ c: c as Float64Array }, () => undefined);
        await resident.run({ c: c as Float64Array }, () => undefined);
      }
      const [report] = one.report().plans;
      expect(report?.steps).toBe(100);
      expect(report?.inlined).toBe(coreOf(one).residents.values().next().value?.inlined);
      if (one === never) expect(report?.inlined).toBe(0);
    }
  });

  it("needs threads of its own for a device that answers later", () => {
    const pool = createPool.sync({ ranks: 1, inProcess: true, device: "deferred" });
    open.push(pool);
    const { plan, arrays } = blocks(1);
    expect(() => pool.sync.run(plan, arrays)).toThrow(BlockingError);
    const threads = createPool.sync({ ranks: 1, device: "deferred" });
    open.push(threads);
    expect(threads.sync.run(plan, arrays)["y"]?.data.length).toBeGreaterThan(0);
  });

  it("closes, and refuses calls afterwards", () => {
    const pool = createPool.sync({ ranks: 2 });
    pool.sync.close();
    expect(pool.closed).toBe(true);
    expect(() => parallelFor.sync(2, (i) => i, { pool })).toThrow(/closed/);
    pool.sync.close();
  });
});
