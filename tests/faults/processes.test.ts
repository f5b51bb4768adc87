// Ranks in processes of their own: what would abort the whole program ends one call, and no process outlives its rank.
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  CaptureError,
  createPool,
  np,
  objective,
  objectiveFunction,
  parallelFor,
  RankError,
  RankLostError,
  sequential,
  sharedArray,
  TimeoutError,
} from "heddle";
import type { Pool, PoolEvent } from "heddle";

/** Processes of ranks whose command line holds `text`; only Linux lists them as files. */
function processes(parent: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const [, rest = ""] = readFileSync(`/proc/${name}/stat`, "utf8").split(/\) /);
        const [state, ppid] = rest.split(" ");
        const line = readFileSync(`/proc/${name}/cmdline`, "utf8");
        return Number(ppid) === parent && state !== "Z" && line.includes("workers/child.js")
          ? [Number(name)]
          : [];
      } catch {
        return []; // It has ended meanwhile.
      }
    });
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
  } catch {
    return false;
  }
}

async function until(holds: () => boolean, milliseconds: number): Promise<boolean> {
  const end = performance.now() + milliseconds;
  while (!holds()) {
    if (performance.now() > end) return false;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return true;
}

describe("a pool of processes", () => {
  let pool: Pool;
  const events: PoolEvent[] = [];
  beforeAll(async () => {
    pool = await createPool({
      ranks: 2,
      isolation: "process",
      scriptHeap: 64 * 2 ** 20,
      onEvent: (event) => events.push(event),
    });
  });
  afterAll(async () => {
    await pool.close();
    expect(await until(() => processes(process.pid).length === 0, 2000)).toBe(true);
  });
  const lost = (): number => events.filter(({ type }) => type === "rankLost").length;
  const killAll = async (): Promise<void> => {
    const before = lost();
    for (const pid of processes(process.pid)) process.kill(pid, "SIGKILL");
    expect(await until(() => lost() === before + 2, 5000)).toBe(true);
  };
  const healthy = async (): Promise<void> => {
    expect(await parallelFor(7, (i) => i * 2, { pool })).toEqual(Float64Array.of(0, 2, 4, 6, 8, 10, 12));
  };

  it("has one process for each rank", async () => {
    expect(processes(process.pid).length).toBe(2);
    const pids = await parallelFor(2, () => process.pid, { pool, schedule: "static" });
    expect(new Set(pids).size).toBe(2);
    expect([...pids]).not.toContain(process.pid);
  });

  it.each<[string, (i: number) => unknown]>([
    [
      "push",
      (i) => {
        const list: unknown[] = [];
        while (i === 1) list.push(new Array(1000).fill(i));
        return list.length;
      },
    ],
    [
      "a map",
      (i) => {
        const map = new Map<number, unknown>();
        while (i === 1) map.set(map.size, `${map.size}`.repeat(100));
        return map.size;
      },
    ],
    ["Array.from", (i) => (i === 1 ? Array.from({ length: 5e7 }, (_, k) => ({ k })).length : 0)],
    [
      "strings that double",
      (i) => {
        let text = "x";
        const kept: string[] = [];
        while (i === 1) {
          text = text.length > 1e6 ? "x" : text + text;
          kept.push(text.split("").reverse().join(""));
        }
        return kept.length;
      },
    ],
  ])("loses a rank, and no more, to a heap that runs out by %s", { timeout: 30_000 }, async (_name, body) => {
    const call = parallelFor(2, (i) => body(i), { pool, schedule: "static" });
    const error: unknown = await call.catch((reason: unknown) => reason);
    // Some patterns throw before the engine gives up.
    expect(error instanceof RankLostError || error instanceof RankError).toBe(true);
    expect(error).toMatchObject({ rank: 1, index: 1 });
    if (error instanceof RankLostError) expect(error.message).toMatch(/its process ended by SIGABRT|memory/);
    await healthy();
  });

  it("survives bodies that exit, throw, loop for ever and never settle", async () => {
    const exits = parallelFor(4, (i) => (i === 2 ? process.exit(5) : i), { pool });
    await expect(exits).rejects.toThrow(/its process ended with exit code 5/);
    await healthy();
    class Special extends Error {
      override name = "Special";
      readonly code = 42;
    }
    const throws = await parallelFor(
      4,
      (i) => {
        if (i === 1) throw Object.assign(new RangeError("one"), { code: 42 });
        return i;
      },
      { pool },
    ).catch((reason: unknown) => reason);
    expect(throws).toMatchObject({ index: 1, cause: { name: "RangeError", message: "one", code: 42 } });
    expect(new Special().code).toBe(42);
    await expect(
      parallelFor(
        2,
        (i) => {
          while (i === 1) void 0;
        },
        { pool, timeout: 200, schedule: "static" },
      ),
    ).rejects.toThrow(TimeoutError);
    await healthy();
    await expect(parallelFor(2, () => new Promise(() => {}), { pool, timeout: 200 })).rejects.toThrow(
      TimeoutError,
    );
    await healthy();
    expect(() => parallelFor.sync(2, (i) => (i === 1 ? process.exit(1) : i), { pool })).toThrow(
      RankLostError,
    );
    expect(parallelFor.sync(2, (i) => i, { pool })).toEqual(Float64Array.of(0, 1));
  });

  it("survives processes that are killed, while idle and at work", async () => {
    await killAll();
    await healthy();
    const call = parallelFor(2, () => new Promise(() => {}), { pool });
    await new Promise((resolve) => setTimeout(resolve, 100));
    const [pid] = processes(process.pid);
    if (pid !== undefined) process.kill(pid, "SIGTERM");
    await expect(call).rejects.toThrow(/its process ended by SIGTERM/);
    await healthy();
  });

  it("refuses memory that is shared, by name", async () => {
    const out = sharedArray("float64", 3);
    const call = parallelFor(
      3,
      (i) => {
        out[i] = i;
      },
      { pool },
    );
    await expect(call).rejects.toThrow(CaptureError);
    await expect(call).rejects.toThrow(/parallelFor: out is memory that ranks share.*isolation: "thread"/);
    const state = { views: [out] };
    await expect(parallelFor(3, (i) => state.views[0]?.[i] ?? 0, { pool })).rejects.toThrow(
      /state\.views\[0\]/,
    );
    await healthy();
  });

  it("evaluates objectives to the bits of the loop, at new data too, which is copied once", async () => {
    const A = np.array(Float64Array.from({ length: 60 }, (_, i) => Math.sin(i))).reshape(12, 5);
    const list = [
      objective((c) => np.tanh(np.dot(A, c)), { name: "tanh" }),
      objective((c, { t }) => c.sub(t), { name: "near", data: { t: [1, 2, 3, 4, 5] } }),
    ];
    const fun = await objectiveFunction(list, { x: np.zeros(5), pool });
    const loop = sequential(list, { x: np.zeros(5) });
    for (let round = 0; round < 4; round++) {
      const t = [round, 0, 1, 2, -round];
      const x = Float64Array.from({ length: 5 }, (_, i) => Math.cos(i + round));
      await fun.setData("near", { t });
      await loop.setData("near", { t });
      const found = await fun.linearize(x);
      expect(found.residual.data).toEqual(loop.sync.residual(x).data);
      expect(found.jacobian.data).toEqual(loop.sync.jacobian(x).data);
      expect(fun.sync.gradient(x).data).toEqual(loop.sync.gradient(x).data);
    }
    await killAll();
    const x = Float64Array.of(1, 2, 3, 4, 5);
    expect((await fun.jacobian(x)).data).toEqual(loop.sync.jacobian(x).data);
    await fun.dispose();
  });
});

describe("a program with ranks in processes", () => {
  it.each([
    ["is killed", "SIGKILL", "for (;;);"],
    ["is terminated", "SIGTERM", "for (;;);"],
    ["is killed while its ranks are idle", "SIGKILL", ""],
  ] as const)("takes them along when it %s", async (_name, signal, body) => {
    const source = `
      import { createPool, parallelFor } from "heddle";
      const pool = await createPool({ ranks: 2, isolation: "process" });
      await parallelFor(2, (i) => i, { pool });
      console.log("up");
      parallelFor(2, (i) => { ${body} }, { pool });
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", source], {
      cwd: new URL("../../", import.meta.url),
    });
    await new Promise<void>((resolve) => child.stdout.once("data", () => resolve()));
    await new Promise((resolve) => setTimeout(resolve, 100));
    const ranks = processes(child.pid ?? 0);
    expect(ranks.length).toBe(2);
    child.kill(signal);
    expect(await until(() => !ranks.some(alive), 2000)).toBe(true);
  });

  it("ends by itself", async () => {
    const source = `
      import { createPool, parallelFor } from "heddle";
      const pool = await createPool({ ranks: 2, isolation: "process" });
      console.log((await parallelFor(3, (i) => i, { pool })).join());`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", source], {
      cwd: new URL("../../", import.meta.url),
    });
    let output = "";
    child.stdout.on("data", (data: Buffer) => (output += data.toString()));
    const code = await new Promise((resolve) => child.once("close", resolve));
    expect([code, output.trim()]).toEqual([0, "0,1,2"]);
  });
});
