// Ranks that break in the middle of a plan: every call settles with an error that says who and what, the pool heals, and
// the next call is right. Pools that are left alone or closed leave nothing behind.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
import { ArgumentError, PoolClosedError, RankError, RankLostError } from "#heddle/base/errors";
import { PoolCore } from "#heddle/executor/core";
import { adoptCore, coreOf } from "#heddle/executor/cores";
import { openPool } from "#heddle/executor/open";
import type { PoolOptions } from "#heddle/executor/options";
import { resolveOptions } from "#heddle/executor/options";
import type { PoolEvent } from "#heddle/executor/events";
import { createPool, Pool } from "#heddle/executor/pool";
import type { ResidentPlan } from "#heddle/executor/resident";
import { Heap } from "#heddle/heap/heap";
import { fault } from "#heddle/rank/faults";
import { workerFlags } from "#heddle/transports/worker-flags";
import { blocks, cases, ring } from "../contracts/plans.js";

const open: Pool[] = [];
afterEach(async () => {
  for (const pool of open.splice(0)) await pool.close();
});

interface Faulty {
  readonly pool: Pool;
  readonly events: PoolEvent[];
  /** Makes the next program of a rank fail. */
  breakRank(rank: number, kind: number): void;
}

async function faultyPool(options: PoolOptions, ranks: number): Promise<Faulty> {
  const faults = Array.from({ length: ranks }, () => new Int32Array(new SharedArrayBuffer(4)));
  const events: PoolEvent[] = [];
  const pool = new Pool();
  adoptCore(pool, await openPool({ ...options, ranks, onEvent: (event) => events.push(event) }, { faults }));
  open.push(pool);
  const breakRank = (rank: number, kind: number): void => {
    const words = faults[rank];
    if (words !== undefined) Atomics.store(words, 0, kind);
  };
  return { pool, events, breakRank };
}

async function loadBlocks(
  pool: Pool,
  ranks: number,
): Promise<{ resident: ResidentPlan; run: () => Promise<number[]>; y: number[] }> {
  const { plan, arrays } = blocks(ranks);
  const { c, ...constants } = arrays;
  const resident = await pool.load(plan, { constants, label: "blocks" });
  const run = (): Promise<number[]> => resident.run({ c: c as Float64Array }, (region) => [...region("y")]);
  return { resident, run, y: await run() };
}

async function failureOf(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    () => {
      throw new Error("the call was expected to reject");
    },
    (error: unknown) => error as Error,
  );
}

describe.each<[string, PoolOptions]>([
  ["in-process", { inProcess: true }],
  ["in-process, deferred", { inProcess: true, device: "deferred" }],
  ["threads", {}],
  ["threads, deferred", { device: "deferred" }],
])("a program that throws, %s", (_name, options) => {
  it("rejects the call with rank, task, stack and cause, and the next call is right", async () => {
    const { pool, breakRank } = await faultyPool(options, 2);
    const { run, y } = await loadBlocks(pool, 2);
    expect(await run()).toEqual(y);
    for (let round = 0; round < 3; round++) {
      breakRank(1, fault.throw);
      const error = await failureOf(run());
      expect(error).toBeInstanceOf(RankError);
      const failure: RankError = error instanceof RankError ? error : expect.fail("not a RankError");
      expect(failure).toMatchObject({ rank: 1, task: "block 1", code: "HEDDLE_RANK" });
      expect(failure.message).toBe("block 1 on rank 1: RangeError: a fault was asked for");
      expect(failure.workerStack).toMatch(/faults\.js/);
      expect(failure.cause).toBeInstanceOf(RangeError);
      expect((failure.cause as Error).cause).toMatchObject({ message: "by a test" });
      expect(await run()).toEqual(y);
    }
  });

  it("frees the ranks that wait for the one that threw", async () => {
    const { pool, breakRank } = await faultyPool(options, 3);
    const { plan, arrays, expected } = ring(3);
    const resident = await pool.load(plan, { label: "ring" });
    const run = (): Promise<number[]> => resident.run(arrays, (region) => [...region("y")]);
    expect(await run()).toEqual(expected["y"]);
    breakRank(2, fault.throw);
    await expect(run()).rejects.toThrow(/double on rank 2: RangeError/);
    expect(await run()).toEqual(expected["y"]);
  });
});

describe("a rank that exits", () => {
  it("rejects the call, is started again with its plans, and the next call is right", async () => {
    const { pool, events, breakRank } = await faultyPool({}, 2);
    const { run, y } = await loadBlocks(pool, 2);
    expect(await run()).toEqual(y);
    const before = pool.ranks.map(({ threadId }) => threadId);
    for (let round = 0; round < 3; round++) {
      breakRank(1, fault.exit);
      const error = await failureOf(run());
      expect(error).toBeInstanceOf(RankLostError);
      expect(error).toMatchObject({ rank: 1, task: "block 1", code: "HEDDLE_RANK_LOST" });
      expect(error.message).toMatch(
        /block 1 on rank 1: the rank was lost: its thread ended with exit code 3; /,
      );
      expect(await run()).toEqual(y);
    }
    expect(events.map((event) => [event.type, "rank" in event ? event.rank : undefined])).toEqual(
      Array.from({ length: 3 }, () => [
        ["rankLost", 1],
        ["rankHealed", 1],
      ]).flat(),
    );
    expect(pool.ranks[0]?.threadId).toBe(before[0]);
    expect(pool.ranks[1]?.threadId).not.toBe(before[1]);
  });

  it("frees the ranks that wait for it", async () => {
    const { pool, breakRank } = await faultyPool({}, 3);
    const { plan, arrays, expected } = ring(3);
    const resident = await pool.load(plan, { label: "ring" });
    const run = (): Promise<number[]> => resident.run(arrays, (region) => [...region("y")]);
    expect(await run()).toEqual(expected["y"]);
    breakRank(1, fault.exit);
    await expect(run()).rejects.toThrow(RankLostError);
    expect(await run()).toEqual(expected["y"]);
  });

  it("together with all others", async () => {
    const { pool, breakRank } = await faultyPool({}, 2);
    const { run, y } = await loadBlocks(pool, 2);
    breakRank(0, fault.exit);
    breakRank(1, fault.exit);
    await expect(run()).rejects.toThrow(RankLostError);
    // One may have given the step up, because the other was gone, before it came to its own end.
    breakRank(0, fault.none);
    breakRank(1, fault.none);
    expect(await run()).toEqual(y);
  });

  it("between calls is noticed too", async () => {
    const { pool, breakRank } = await faultyPool({}, 2);
    const { run, y } = await loadBlocks(pool, 2);
    const one = run();
    breakRank(0, fault.exit);
    await one.catch(() => undefined);
    const all = await Promise.allSettled([run(), run(), run()]);
    expect(all.filter(({ status }) => status === "fulfilled").length).toBeGreaterThanOrEqual(2);
    expect(await run()).toEqual(y);
  });
});

describe.each<[string, PoolOptions]>([
  ["in-process", { inProcess: true, ranks: 2 }],
  ["threads", { ranks: 2 }],
])("the life of a pool, %s", (_name, options) => {
  const start = async (): Promise<Pool> => {
    const pool = await createPool(options);
    open.push(pool);
    return pool;
  };

  it("rejects an aborted call with the signal's reason, and works on", async () => {
    const pool = await start();
    const { resident, run, y } = await loadBlocks(pool, 2);
    const c = new Float64Array(5);
    const reason = new Error("enough");
    await expect(resident.run({ c }, () => 0, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const controller = new AbortController();
    const queued = [run(), resident.run({ c }, () => 0, { signal: controller.signal }), run()];
    controller.abort(reason);
    const settled = await Promise.allSettled(queued);
    expect(settled[1]).toEqual({ status: "rejected", reason });
    expect(settled[0]).toEqual({ status: "fulfilled", value: y });
    expect(settled[2]).toEqual({ status: "fulfilled", value: y });
  });

  it("aborts a running step", async () => {
    const deferred = new Pool();
    adoptCore(deferred, await openPool({ ...options, device: "deferred" }));
    open.push(deferred);
    const { plan, arrays, expected } = ring(2);
    const resident = await deferred.load(plan);
    const controller = new AbortController();
    const call = resident.run(arrays, () => 0, { signal: controller.signal });
    controller.abort();
    await expect(call).rejects.toMatchObject({ name: "AbortError" });
    expect(await resident.run(arrays, (region) => [...region("y")])).toEqual(expected["y"]);
  });

  it("closes while calls are under way: they reject, and so do later ones", async () => {
    const pool = await start();
    const { resident, run } = await loadBlocks(pool, 2);
    const calls = [run(), run()];
    const closing = pool.close();
    for (const call of calls) await expect(call).rejects.toThrow(PoolClosedError);
    await closing;
    await pool.close();
    expect(pool.closed).toBe(true);
    await expect(run()).rejects.toThrow(/blocks: the pool is closed; make another with createPool\(\)/);
    await expect(pool.load(blocks(2).plan)).rejects.toThrow();
    await resident.dispose();
  });

  it("closes by `await using` and by the pool's signal", async () => {
    let used: Pool | undefined;
    {
      await using pool = await createPool(options);
      used = pool;
    }
    expect(used.closed).toBe(true);
    const controller = new AbortController();
    const pool = await createPool({ ...options, signal: controller.signal });
    controller.abort();
    await expect(pool.run(blocks(2).plan, blocks(2).arrays)).rejects.toThrow(PoolClosedError);
    await pool.close();
    await expect(createPool({ ...options, signal: controller.signal })).rejects.toMatchObject({
      name: "AbortError",
    });
  });

  it("gives all memory back", async () => {
    const heap = new Heap();
    const pool = new Pool();
    adoptCore(pool, await openPool(options, { heap }));
    open.push(pool);
    const idle = heap.report().usedBytes;
    const { resident, run } = await loadBlocks(pool, 2);
    await run();
    expect(heap.report().usedBytes).toBeGreaterThan(idle);
    await resident.dispose();
    await resident.dispose();
    expect(heap.report().usedBytes).toBe(idle);
    await expect(run()).rejects.toThrow(/blocks: it was disposed of; load it again/);
    await loadBlocks(pool, 2);
    await pool.close();
    expect(heap.report()).toMatchObject({ usedBytes: 0, blocks: 0 });
  });

  it("refuses what does not fit, by name", async () => {
    const pool = await start();
    const { plan, arrays } = blocks(2);
    const { c, ...constants } = arrays;
    const resident = await pool.load(plan, { constants, label: "blocks" });
    const run = (inputs: Record<string, unknown>): Promise<unknown> =>
      resident.run(inputs as Record<string, Float64Array>, () => 0);
    await expect(run({})).rejects.toThrow(/blocks: inputs.c is never given/);
    await expect(run({ c: new Float64Array(4) })).rejects.toThrow(
      /inputs.c is 4 elements, expected 5, for float64\[5\]/,
    );
    await expect(run({ c: new Float32Array(5) })).rejects.toThrow(
      /inputs.c is Float32Array, expected a Float64Array/,
    );
    await expect(run({ c: null })).rejects.toThrow(/inputs.c is null/);
    await expect(run({ c, d: c })).rejects.toThrow(/inputs.d is no region of the plan, expected one of c/);
    await expect(run({ y: c })).rejects.toThrow(/inputs.y is a region whose role is output/);
    await expect(pool.load(plan, {})).rejects.toThrow(/constants.A0 is missing/);
    await expect(pool.load(blocks(3).plan)).rejects.toThrow(/a plan for 3 ranks, expected at most 2/);
    expect(() => resident.region("nothing")).toThrow(ArgumentError);
  });
});

describe("ranks of different kinds", () => {
  it("work on one plan, to the same bits", async () => {
    const kinds = await createPool({ ranks: [{ device: "wasm" }, { device: "deferred" }, {}] });
    open.push(kinds);
    expect(kinds.ranks.map(({ device }) => device)).toEqual(["wasm", "deferred", "wasm"]);
    const same = await createPool({ ranks: 3, inProcess: true });
    open.push(same);
    for (const { plan, arrays } of cases(3))
      expect(await kinds.run(plan, arrays)).toEqual(await same.run(plan, arrays));
  });
});

describe("the environment", () => {
  it("supplies defaults, and only defaults", () => {
    const settings = (options: PoolOptions, environment: Record<string, string>): unknown[] => {
      const { devices } = resolveOptions(options, environment);
      return [devices.length, devices[0]];
    };
    const environment = { HEDDLE_NUM_RANKS: "3", HEDDLE_DEVICE: "reference" };
    expect(settings({}, environment)).toEqual([3, "reference"]);
    expect(settings({ ranks: 2, device: "wasm" }, environment)).toEqual([2, "wasm"]);
    expect(settings({ ranks: [{ device: "deferred" }] }, environment)).toEqual([1, "deferred"]);
    expect(settings({ ranks: 1 }, {})).toEqual([1, "wasm"]);
    expect(() => resolveOptions({}, { HEDDLE_NUM_RANKS: "many" })).toThrow(/HEDDLE_NUM_RANKS is NaN/);
    expect(() => resolveOptions({}, { HEDDLE_DEVICE: "webgpu" })).toThrow(/HEDDLE_DEVICE is "webgpu"/);
  });
});

describe("createPool refuses", () => {
  it.each<[string, unknown, RegExp]>([
    ["no ranks", { ranks: 0 }, /createPool: ranks is 0, expected an integer from 1/],
    ["half a rank", { ranks: 1.5 }, /ranks is 1.5/],
    ["an empty list", { ranks: [] }, /ranks is 0/],
    ["an unknown device", { device: "abacus" }, /device is "abacus", expected "auto" or one of wasm/],
    [
      "a device of a later version",
      { device: "webgpu" },
      /device is "webgpu", expected a device that this version has; it comes with a later version/,
    ],
    ["the same in a request", { ranks: [{ device: "native" }] }, /ranks\[0\].device is "native"/],
    ["an option that does not exist", { rank: 2 }, /options.rank is .*, expected only ranks, device/],
    ["a memory of nothing known", { memory: "1G" }, /memory is "1G", expected a number of bytes/],
    ["null", null, /options is null, expected an object/],
  ])("%s", async (_name, options, message) => {
    const call = createPool(options as PoolOptions);
    await expect(call).rejects.toThrow(message);
    await expect(call).rejects.toThrow(ArgumentError);
  });

  it("a plan that outgrows the memory of its ranks", async () => {
    const pool = await createPool({ inProcess: true, ranks: 2, device: "deferred", memory: 100 });
    open.push(pool);
    await expect(pool.load(blocks(2).plan)).rejects.toThrow(
      /memory of rank 0 is \d+ bytes at its peak, expected at most 100/,
    );
  });

  it("to take something else for a pool", () => {
    expect(() => coreOf({})).toThrow(/createPool/);
    expect(coreOf).toBeTypeOf("function");
    expect(PoolCore).toBeTypeOf("function");
  });
});

describe("a program", () => {
  const run = promisify(execFile);
  const program = async (body: string, flags: string[] = []): Promise<string> => {
    const source = `import { createPool } from "heddle";\n${body}`;
    const { stdout } = await run(process.execPath, [...flags, "--input-type=module", "-e", source], {
      cwd: new URL("../../", import.meta.url),
      timeout: 10_000,
    });
    return stdout.trim();
  };

  it("ends by itself with a pool that is idle", async () => {
    expect(await program(`await createPool({ ranks: 2 }); console.log("up")`)).toBe("up");
  });

  it("starts ranks whatever flags it was started with", async () => {
    const flags = [
      "--max-old-space-size=512",
      "--stack-trace-limit=50",
      "--expose-gc",
      "--enable-source-maps",
      "--no-warnings",
    ];
    expect(await program(`await createPool({ ranks: 1 }); console.log("up")`, flags)).toBe("up");
    expect(
      workerFlags(["--import", "a", "-e", "b", "--import=c", "--max-old-space-size=1", "-C", "d"]),
    ).toEqual(["--import", "a", "--import=c", "-C", "d"]);
  });

  it("ends by itself after loops on the default pool", async () => {
    const loop = `const { parallelFor } = await import("heddle"); console.log([...(await parallelFor(3, (i) => i))].join())`;
    expect(await program(loop)).toBe("0,1,2");
  });

  it("ends with its own error when a listener of events throws", async () => {
    const failing = program(`
      const { parallelFor } = await import("heddle");
      const pool = await createPool({ ranks: 1, onEvent: () => { throw new Error("from the listener"); } });
      await parallelFor(1, () => process.exit(1), { pool }).catch(() => {});`);
    await expect(failing).rejects.toThrow(/from the listener/);
  });

  it("has no thread, timer or handle after close", async () => {
    const output = await program(`
      // The process's own, made when they are first looked at: the output of threads goes there.
      for (const stream of [process.stdout, process.stderr]) stream.writable;
      const before = process.getActiveResourcesInfo();
      const pool = await createPool({ ranks: 3 });
      await pool.close();
      await new Promise((resolve) => setImmediate(resolve));
      console.log(JSON.stringify([before, process.getActiveResourcesInfo().filter((name) => name !== "Immediate")]))`);
    const [before, after] = JSON.parse(output) as [string[], string[]];
    expect(after.filter((name) => !before.includes(name))).toEqual([]);
  });

  it("stays alive while a call is under way", async () => {
    const plan = blocks(2);
    const text = JSON.stringify(plan, (_key, value: unknown) =>
      value instanceof Float64Array ? [...value] : value,
    );
    const output = await program(`
      const { plan, arrays, expected } = ${text};
      for (const key of Object.keys(arrays)) arrays[key] = Float64Array.from(arrays[key]);
      const pool = await createPool({ ranks: 2 });
      const { y } = await pool.run(plan, arrays);
      console.log(y.data.every((value, i) => Math.abs(value - expected.y[i]) < 1e-14))`);
    expect(output).toBe("true");
  });
});
