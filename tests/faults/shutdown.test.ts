// Every way in which a program ends: by itself, by exit, by a signal, by an error that nobody caught, with ranks idle, in
// a body, in an endless loop, or blocked for by the calling thread. It ends at once, with the code it should have.
import { spawn } from "node:child_process";
import { afterEach, describe, expect, it } from "vitest";
import { createPool, HeddleError, parallelFor, RankLostError } from "heddle";
import type { Pool } from "heddle";
import { holdSupervision } from "#heddle/transports/supervision";

interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly output: string;
  readonly errors: string;
  /** Milliseconds from the moment that it said "now". */
  readonly milliseconds: number;
}

/** Runs a program; when it says "now", `act` is called. */
function ended(
  body: string,
  act: (kill: (signal: NodeJS.Signals) => void) => void = () => {},
): Promise<Ended> {
  const source = `
    import { createPool, parallelFor } from "heddle";
    const spin = (i) => { for (;;) if (i > 100) break; };
    ${body}`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", source], {
    cwd: new URL("../../", import.meta.url),
  });
  let output = "";
  let errors = "";
  let start = performance.now();
  child.stderr.on("data", (data: Buffer) => (errors += data.toString()));
  child.stdout.on("data", (data: Buffer) => {
    const told = output.includes("now");
    output += data.toString();
    if (told || !output.includes("now")) return;
    start = performance.now();
    act((signal) => child.kill(signal));
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), 15_000);
  return new Promise((resolve) => {
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, output, errors, milliseconds: performance.now() - start });
    });
  });
}

const soon = 3000;

const states: readonly [string, string][] = [
  ["idle ranks", `const pool = await createPool({ ranks: 2 });`],
  [
    "ranks in an endless loop",
    `const pool = await createPool({ ranks: 2 }); parallelFor(2, spin, { pool }).catch(() => {}); await new Promise((r) => setTimeout(r, 200));`,
  ],
  [
    "ranks that wait for ever",
    `const pool = await createPool({ ranks: 2 }); parallelFor(2, () => new Promise(() => {}), { pool }).catch(() => {}); await new Promise((r) => setTimeout(r, 200));`,
  ],
];

describe.each(states)("a program with %s", (_, state) => {
  it("exits with the code that it asks for", async () => {
    const { code, milliseconds } = await ended(`${state} console.log("now"); process.exit(7);`);
    expect(code).toBe(7);
    expect(milliseconds).toBeLessThan(soon);
  });

  it("ends with an error that nobody caught", async () => {
    const { code, errors, milliseconds } = await ended(
      `${state} console.log("now"); setTimeout(() => { throw new Error("uncaught here"); }, 0);`,
    );
    expect(code).toBe(1);
    expect(errors).toMatch(/uncaught here/);
    expect(milliseconds).toBeLessThan(soon);
  });

  it.each(["SIGINT", "SIGTERM", "SIGKILL"] as const)("ends by %s", async (signal) => {
    const found = await ended(`${state} console.log("now"); setInterval(() => {}, 1000);`, (kill) =>
      kill(signal),
    );
    expect(found.signal).toBe(signal);
    expect(found.milliseconds).toBeLessThan(soon);
  });

  it("closes in a handler of a signal, and ends by itself", async () => {
    const found = await ended(
      `${state}
       const waiting = setInterval(() => {}, 1000);
       process.once("SIGTERM", async () => { await pool.close(); clearInterval(waiting); console.log("closed"); });
       console.log("now");`,
      (kill) => kill("SIGTERM"),
    );
    expect(found).toMatchObject({ code: 0, output: "now\nclosed\n" });
    expect(found.milliseconds).toBeLessThan(soon);
  });
});

describe("a program that blocks", () => {
  it.each(["SIGINT", "SIGTERM"] as const)("ends by %s", async (signal) => {
    const found = await ended(
      `const pool = createPool.sync({ ranks: 2 }); console.log("now"); parallelFor.sync(2, spin, { pool });`,
      (kill) => kill(signal),
    );
    expect(found.signal).toBe(signal);
    expect(found.milliseconds).toBeLessThan(soon);
  });

  it("ends by itself, with and without a pool of its own", async () => {
    const found = await ended(`
      console.log(parallelFor.sync(3, (i) => i + 1).join());
      const pool = createPool.sync({ ranks: 2 });
      console.log(parallelFor.sync(3, (i) => i * 2, { pool }).join());
      console.log("now");`);
    expect(found).toMatchObject({ code: 0, output: "1,2,3\n0,2,4\nnow\n", errors: "" });
    expect(found.milliseconds).toBeLessThan(soon);
  });
});

describe("a supervisor that is lost", () => {
  const open: Pool[] = [];
  afterEach(async () => {
    for (const pool of open.splice(0)) await pool.close();
  });
  // The entry is only used where no supervisor runs yet.
  const entry = new URL("../../dist/workers/supervisor.js", import.meta.url);

  it("settles the calls under way, and later ones say so; new pools get a new one", async () => {
    const pool = await createPool({ ranks: 2 });
    open.push(pool);
    const held = holdSupervision(entry);
    const call = parallelFor(2, () => new Promise<number>(() => {}), { pool });
    await new Promise((resolve) => setTimeout(resolve, 100));
    await held.supervision.end();
    await expect(call).rejects.toThrow(RankLostError);
    await expect(parallelFor(2, (i) => i, { pool })).rejects.toThrow(HeddleError);
    expect(() => parallelFor.sync(2, (i) => i, { pool })).toThrow(HeddleError);
    await held.release();
    const other = await createPool({ ranks: 2 });
    open.push(other);
    expect(await parallelFor(3, (i) => i, { pool: other })).toEqual(Float64Array.of(0, 1, 2));
  });
});
