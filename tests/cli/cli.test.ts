// The command line as a user meets it: a child process, its output, its exit code.
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { version } from "heddle";

const root = fileURLToPath(new URL("../../", import.meta.url));
let folder = "";
beforeAll(async () => {
  // Inside the package, so that programs find "heddle".
  await mkdir(join(root, ".cache"), { recursive: true });
  folder = await mkdtemp(join(root, ".cache", "cli-"));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

interface Ended {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

function heddle(
  args: readonly string[],
  onOutput: (kill: (signal: NodeJS.Signals) => void) => void = () => {},
  limit = 25_000,
): Promise<Ended> {
  const child = spawn(process.execPath, [join(root, "dist/src/cli/main.js"), ...args], { cwd: folder });
  let output = "";
  let errors = "";
  child.stdout.on("data", (data: Buffer) => {
    output += data.toString();
    onOutput((signal) => child.kill(signal));
  });
  child.stderr.on("data", (data: Buffer) => (errors += data.toString()));
  const timer = setTimeout(() => child.kill("SIGKILL"), limit);
  return new Promise((resolve) => {
    child.on("close", (code) => {
      clearTimeout(timer);
      resolve({ code, output, errors });
    });
  });
}

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

describe("help and usage", () => {
  it("of all and of each command", async () => {
    const { code, output } = await heddle(["--help"]);
    expect(code).toBe(0);
    for (const command of ["devices", "run", "bench", "trace"]) {
      expect(output).toContain(`\n  ${command} `);
      const own = await heddle([command, "--help"]);
      expect(own).toMatchObject({ code: 0, errors: "" });
      expect(own.output).toContain(`Usage: heddle ${command}`);
      expect(own.output).toContain("--json");
    }
    expect((await heddle(["--version"])).output.trim()).toBe(version);
  });

  it.each<[string, string[], RegExp]>([
    ["no command", [], /Usage: heddle/],
    ["an unknown command", ["fly"], /unknown command 'fly'/],
    ["an unknown option", ["devices", "--fast"], /unknown option '--fast'/],
    ["a missing argument", ["trace"], /missing required argument 'file'/],
    ["ranks that are none", ["run", "--ranks", "x", "p.js"], /'--ranks <n>' argument 'x' is invalid/],
    [
      "a device that no pool has",
      ["run", "--device", "abacus", "p.js"],
      /--device is "abacus", expected "auto"/,
    ],
    ["an unknown isolation", ["run", "--isolation", "cell", "p.js"], /--isolation is "cell"/],
  ])("refuses %s with the exit code 2", async (_name, args, message) => {
    await file("p.js", "");
    const { code, errors } = await heddle(args);
    expect(code).toBe(2);
    expect(errors).toMatch(message);
  });
});

describe("heddle devices", () => {
  it("prints a table, and JSON", async () => {
    expect((await heddle(["devices"])).output).toMatch(/^wasm +yes +float64 /m);
    const machine = JSON.parse((await heddle(["devices", "--json"])).output) as {
      node: string;
      devices: { kind: string; available: boolean }[];
    };
    expect(machine.node).toBe(process.version);
    expect(machine.devices.map(({ kind, available }) => [kind, available])).toEqual([
      ["wasm", true],
      ["native", false],
      ["webgpu", false],
    ]);
  });
});

describe("heddle run and heddle trace", () => {
  const program = `
    import { parallelFor } from "heddle";
    const ranks = new Set(await parallelFor(50, (i, { rank, numRanks }) => { for (let k = 0; k < 1e5; k++) Math.sin(k); return numRanks; }));
    console.log([...ranks].join(), process.argv.slice(2).join());`;

  it("sets defaults, passes arguments on, and writes a trace that is read back", async () => {
    const path = await file("program.mjs", program);
    const found = await heddle([
      "run",
      "--ranks",
      "3",
      "--trace",
      "t.json",
      "--json",
      path,
      "a",
      "--b",
      "--ranks",
    ]);
    expect(found.code).toBe(0);
    expect(found.output.trim()).toBe("3 a,--b,--ranks");
    expect(JSON.parse(found.errors)).toMatchObject({ program: path, exitCode: 0 });
    const summary = JSON.parse((await heddle(["trace", "--json", "t.json"])).output) as {
      span: number;
      ranks: { rank: number; busy: number }[];
      tasks: { name: string; count: number }[];
      calls: { name: string }[];
      dropped: number;
    };
    expect(summary.ranks.map(({ rank }) => rank)).toEqual([0, 1, 2]);
    expect(summary.tasks.map(({ name }) => name)).toEqual(["parallelFor"]);
    expect(summary.calls.map(({ name }) => name)).toEqual(["parallelFor"]);
    expect(summary.dropped).toBe(0);
    const busy = summary.ranks.reduce((sum, rank) => sum + rank.busy, 0);
    expect(busy).toBeGreaterThan(0);
    expect(busy).toBeLessThanOrEqual(3 * summary.span * 1.01);
    expect((await heddle(["trace", "t.json"])).output).toMatch(/^parallelFor +\d+ /m);
  });

  it("reads TypeScript, where Node does or with tsx", async () => {
    const path = await file("typed.ts", program.replace("const ranks =", "const ranks: Set<number> ="));
    const { code, output, errors } = await heddle(["run", "--ranks", "2", path]);
    expect(errors.replace(/.*ExperimentalWarning.*\n.*\n/, "")).toBe("");
    expect([code, output.trim()]).toEqual([0, "2"]);
  });

  it("ends as the program ends", async () => {
    expect((await heddle(["run", await file("seven.mjs", "process.exit(7)")])).code).toBe(7);
    const thrown = await heddle(["run", await file("throws.mjs", 'throw new Error("its own")')]);
    expect(thrown.code).toBe(1);
    expect(thrown.errors).toMatch(/its own/);
    expect(
      (
        await heddle([
          "run",
          await file("kill.mjs", 'process.kill(process.pid, "SIGKILL"); setTimeout(() => {}, 1e4)'),
        ])
      ).code,
    ).toBe(137);
  });

  it("hands an interruption on, and still has the trace", async () => {
    const path = await file(
      "long.mjs",
      `import { parallelFor } from "heddle";
       process.on("SIGINT", () => process.exit(130));
       await parallelFor(4, (i) => i);
       console.log("up");
       setInterval(() => {}, 1000);`,
    );
    const { code } = await heddle(["run", "--trace", "long.json", path], (kill) => kill("SIGINT"));
    expect(code).toBe(130);
    const trace = JSON.parse(await readFile(join(folder, "long.json"), "utf8")) as {
      traceEvents: { ph: string }[];
    };
    expect(trace.traceEvents.filter(({ ph }) => ph === "X").length).toBeGreaterThan(0);
  });

  it.each<[string, () => Promise<string[]>, RegExp]>([
    [
      "a program that is not there",
      async () => Promise.resolve(["run", "none.mjs"]),
      /"none.mjs", which does not exist/,
    ],
    [
      "a trace that is not there",
      async () => Promise.resolve(["trace", "none.json"]),
      /which cannot be read/,
    ],
    [
      "a trace that was cut short",
      async () => ["trace", await file("cut.json", '{"traceEvents": [')],
      /no JSON/,
    ],
    [
      "a file of something else",
      async () => ["trace", await file("else.json", '{"traceEvents": []}')],
      /something else/,
    ],
    [
      "a damaged trace",
      async () => [
        "trace",
        await file(
          "bad.json",
          '{"traceEvents": [{"ph": "X", "name": "a"}], "otherData": {"producer": "heddle", "ranks": 1}}',
        ),
      ],
      /event 0 is damaged/,
    ],
  ])("refuses %s with the exit code 1", async (_name, args, message) => {
    const { code, errors } = await heddle(await args());
    expect(errors).toMatch(message);
    expect(errors).not.toMatch(/ at /);
    expect(code).toBe(1);
  });
});

describe("heddle bench", () => {
  it("measures", { timeout: 120_000 }, async () => {
    const { code, output } = await heddle(["bench", "--ranks", "1", "--json"], () => {}, 110_000);
    expect(code).toBe(0);
    const { measures } = JSON.parse(output) as { measures: { what: string; value: number }[] };
    expect(measures.length).toBeGreaterThan(4);
    for (const { value } of measures) expect(value).toBeGreaterThan(0);
  });
});
