// Captures are found wherever programs run: plain Node, TypeScript through tsx, with an inspector attached, inside a rank,
// and under the test runner's ways of isolating files.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../", import.meta.url));
let folder = "";
beforeAll(async () => {
  // Inside the package, so that "heddle" is this one.
  await mkdir(join(root, ".cache"), { recursive: true });
  folder = await mkdtemp(join(root, ".cache", "captures-"));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const helper = `
  import { np } from "heddle";
  const scale = 2;
  export function area(r) { return np.square(r).item() * scale; }`;

/** A program that captures a variable, a function of another module with its own captures, and an export of heddle. */
const program = `
  import { np, parallelFor } from "heddle";
  import * as heddle from "heddle";
  import { area } from "./helper.mjs";
  const table = [10, 20, 30];
  let shift = 1;
  const direct = (i) => table[i] + area(i) + np.sum([i, 1]).item() + heddle.np.max([0, i]).item() + shift;
  shift = 2;
  const awaited = await parallelFor(3, (i) => table[i] + area(i) + np.sum([i, 1]).item() + heddle.np.max([0, i]).item() + shift);
  const blocked = parallelFor.sync(3, direct);
  const nested = await parallelFor(2, async (i) => (await parallelFor(2, (j) => table[j] + i)).length);
  console.log(JSON.stringify([...awaited, ...blocked, ...nested]));`;
const expected = [13, 27, 45, 13, 27, 45, 2, 2];

async function output(node: readonly string[], file: string): Promise<unknown> {
  const { stdout } = await run(process.execPath, [...node, join(folder, file)], {
    cwd: folder,
    timeout: 20_000,
  });
  return JSON.parse(stdout) as unknown;
}

describe("captures are found", () => {
  beforeAll(async () => {
    await writeFile(join(folder, "helper.mjs"), helper);
    await writeFile(join(folder, "program.mjs"), program);
    await writeFile(
      join(folder, "typed.ts"),
      program.replace("const table =", "const table: number[] =").replaceAll("(i) =>", "(i: number) =>"),
    );
  });

  it("under plain Node", async () => {
    expect(await output([], "program.mjs")).toEqual(expected);
  });

  it("with an inspector listening, and source maps on", async () => {
    expect(await output(["--inspect=0", "--enable-source-maps"], "program.mjs")).toEqual(expected);
  });

  it("under tsx", async () => {
    expect(await output(["--import", "tsx"], "typed.ts")).toEqual(expected);
  });

  it.each(["forks", "threads", "vmThreads"])("under vitest with its pool of %s", async (pool) => {
    const test = `
      import { expect, it } from "vitest";
      import { np, parallelFor } from "heddle";
      import * as heddle from "heddle";
      import { area } from "./helper.mjs";
      const table = [10, 20, 30];
      it("captures", async () => {
        const shift = 2;
        const found = await parallelFor(3, (i) => table[i] + area(i) + np.sum([i, 1]).item() + heddle.np.max([0, i]).item() + shift);
        expect([...found]).toEqual([13, 27, 45]);
      });`;
    await writeFile(join(folder, "captures.test.mjs"), test);
    await writeFile(
      join(folder, "vitest.config.mjs"),
      `export default { test: { include: ["*.test.mjs"], server: { deps: { external: [/\\/dist\\//] } } } };`,
    );
    const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
    const { stdout } = await run(process.execPath, [vitest, "run", `--pool=${pool}`, "--root", folder], {
      cwd: folder,
      timeout: 25_000,
      env: { ...process.env, NO_COLOR: "1", CI: "" },
    });
    expect(stdout).toMatch(/Tests +1 passed/);
  });
});
