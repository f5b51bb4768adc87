// Traces: everything that ranks did is in the file, however it came to be written, and reports reach back to the start.
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { createPool, np, objective, objectiveFunction, parallelFor } from "heddle";
import type { PoolEvent } from "heddle";

const folder = mkdtempSync(join(tmpdir(), "heddle-trace-"));
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

interface Event {
  readonly name: string;
  readonly ph: string;
  readonly tid: number;
  readonly ts: number;
  readonly dur: number;
  readonly cat: string;
  readonly args: Readonly<Record<string, number | string>>;
}

function read(path: string): { events: Event[]; dropped: number } {
  const { traceEvents, otherData } = JSON.parse(readFileSync(path, "utf8")) as {
    traceEvents: Event[];
    otherData: { dropped: number };
  };
  return { events: traceEvents, dropped: otherData.dropped };
}

const list = [objective((c) => np.sin(c), { name: "left" }), objective((c) => np.cos(c), { name: "right" })];

describe("a trace", () => {
  it("holds every program, chunk, call and event, on one clock", async () => {
    const path = join(folder, "all.json");
    const before = performance.timeOrigin + performance.now();
    const pool = await createPool({ ranks: 2, trace: path });
    const fun = await objectiveFunction(list, { x: [1, 2], pool });
    // More steps than a rank's ring has room for.
    const steps = 1500;
    for (let step = 0; step < steps; step++) await fun.residual([1, step]);
    for (let step = 0; step < 10; step++) fun.sync.residual([1, step]);
    await parallelFor(100, (i) => i, { pool, schedule: { kind: "dynamic", chunk: 10 } });
    await parallelFor(2, (i) => (i === 1 ? process.exit(1) : i), { pool, schedule: "static" }).catch(
      () => undefined,
    );
    await parallelFor(2, (i) => i, { pool });
    expect(fun.report().objectives.map(({ calls }) => calls)).toEqual([steps + 10, steps + 10]);
    await pool.close();
    const after = performance.timeOrigin + performance.now();

    const { events, dropped } = read(path);
    expect(dropped).toBe(0);
    const spans = events.filter(({ ph }) => ph === "X");
    for (const name of ["left", "right"]) {
      expect(spans.filter((span) => span.name === name && span.cat === "program").length).toBe(steps + 10);
    }
    const chunks = spans.filter(({ cat }) => cat === "loop");
    expect(chunks.reduce((sum, { args }) => sum + Number(args["iterations"]), 0)).toBeGreaterThanOrEqual(103);
    expect(spans.filter(({ cat, tid }) => cat === "call" && tid === 0).length).toBe(steps + 4);
    expect(spans.filter(({ cat, tid }) => cat === "blocking call" && tid === 0).length).toBe(10);
    expect(events.filter(({ ph }) => ph === "i").map(({ name }) => name)).toEqual(
      expect.arrayContaining(["rankLost", "rankHealed"]),
    );
    for (const { ts, dur } of spans) {
      expect(ts / 1000).toBeGreaterThanOrEqual(before - 5);
      expect((ts + dur) / 1000).toBeLessThanOrEqual(after + 5);
      expect(dur).toBeGreaterThanOrEqual(0);
    }
    // A rank's programs lie within the call that asked for them, to within what clocks of threads differ.
    const calls = spans.filter(({ name, tid }) => tid === 0 && name === "residual");
    const outside = spans
      .filter(({ name }) => name === "left")
      .filter(
        ({ ts, dur }) => !calls.some((call) => call.ts - 500 <= ts && ts + dur <= call.ts + call.dur + 500),
      );
    expect(outside.length).toBeLessThan(5);
  });

  it("is written in the middle, elsewhere, and again", async () => {
    const path = join(folder, "middle.json");
    await using pool = await createPool({ ranks: 1, inProcess: true, trace: path });
    await parallelFor(3, (i) => i, { pool });
    pool.writeTrace(join(folder, "copy.json"));
    expect(read(join(folder, "copy.json")).events.filter(({ cat }) => cat === "loop").length).toBeGreaterThan(
      0,
    );
    expect(read(path).events.length).toBe(0);
    pool.writeTrace();
    expect(read(path).events.length).toBeGreaterThan(0);
    expect(() => pool.writeTrace(join(folder, "none", "x.json"))).toThrow(/a file that can be written/);
  });

  it("is there after an exit, and after an error that nobody caught", async () => {
    for (const [name, end] of [
      ["exit", "process.exit(3)"],
      ["error", "throw new Error('uncaught')"],
    ] as const) {
      const path = join(folder, `${name}.json`);
      const source = `
        import { createPool, parallelFor } from "heddle";
        const pool = await createPool({ ranks: 2, trace: ${JSON.stringify(path)} });
        await parallelFor(4, (i) => i, { pool });
        ${end};`;
      const run = promisify(execFile)(process.execPath, ["--input-type=module", "-e", source], {
        cwd: new URL("../../", import.meta.url),
      });
      await expect(run).rejects.toThrow();
      expect(read(path).events.some(({ cat }) => cat === "loop")).toBe(true);
    }
  });

  it("is refused where it cannot be written, or none is kept", async () => {
    await expect(createPool({ ranks: 1, inProcess: true, trace: folder })).rejects.toThrow(
      /trace is ".*", expected a file/,
    );
    await expect(createPool({ inProcess: true, trace: 7 as unknown as string })).rejects.toThrow(/trace/);
    await using pool = await createPool({ ranks: 1, inProcess: true });
    expect(() => pool.writeTrace()).toThrow(/a pool that keeps no trace/);
  });
});

it("the calling thread's taking over of small steps is an event", async () => {
  const events: PoolEvent[] = [];
  await using pool = await createPool({ ranks: 2, onEvent: (event) => events.push(event) });
  const fun = await objectiveFunction(list, { x: [1, 2], pool });
  for (let step = 0; step < 300; step++) fun.sync.residual([1, step]);
  await new Promise((resolve) => setImmediate(resolve));
  const [plan] = pool.report().plans;
  expect(events.filter(({ type }) => type === "stepMode").length).toBe((plan?.inlined ?? 0) > 100 ? 1 : 0);
});
