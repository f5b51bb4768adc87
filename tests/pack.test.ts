// What users install is the tarball, not this repository. Packs it, installs it into an empty project, and uses it there
// the three ways that users do: from an ES module, from CommonJS, and from a strictly typed program.
import { execFile } from "node:child_process";
import { mkdtemp, mkdir, readFile, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const exec = promisify(execFile);
const root = fileURLToPath(new URL("../", import.meta.url));

/** The environment without what `npm test` adds to it, so that the inner npm acts as if the user had typed it. */
const environment = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(?:npm_(?:package|lifecycle|config_.*prefix)|NODE_OPTIONS|VITEST)/.test(name),
  ),
);

/** Runs a program in a folder; a failure carries what it printed. */
async function runIn(cwd: string, program: string, ...args: string[]): Promise<string> {
  try {
    const { stdout } = await exec(program, args, { cwd, env: environment, timeout: 150_000 });
    return stdout;
  } catch (error) {
    const { message, stdout, stderr } = error as Error & { stdout?: string; stderr?: string };
    throw new Error([message, stdout, stderr].join("\n"), { cause: error });
  }
}

/** The outputs that a folder of sources must have in the tarball. */
async function outputsOf(folder: string): Promise<string[]> {
  const names = await readdir(join(root, folder), { recursive: true, encoding: "utf8" }).catch(() => []);
  return names
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".d.ts"))
    .flatMap((name) => [".js", ".js.map", ".d.ts"].map((end) => `dist/${folder}/${name.slice(0, -3)}${end}`))
    .map((path) => path.replaceAll("\\", "/"));
}

interface Packed {
  filename: string;
  files: { path: string }[];
}

describe("the packed tarball", { timeout: 200_000 }, () => {
  let scratch = "";
  let project = "";
  let packed: Packed = { filename: "", files: [] };

  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), "heddle-pack-"));
    project = join(scratch, "project");
    await mkdir(project);
    const answer = JSON.parse(
      await runIn(root, "npm", "pack", "--json", "--ignore-scripts", "--pack-destination", scratch),
    ) as Packed[] | Record<string, Packed>;
    // npm 11 and before answer with a list, later ones with an object by package name.
    packed = Object.values(answer)[0] ?? packed;
    await writeFile(join(project, "package.json"), '{ "name": "consumer", "private": true }\n');
    const tarball = join(scratch, packed.filename);
    const quick = ["--omit=optional", "--no-audit", "--no-fund", "--prefer-offline"];
    await runIn(project, "npm", "install", ...quick, tarball);
  }, 200_000);

  afterAll(async () => {
    await rm(scratch, { recursive: true, force: true });
  });

  it("holds the built library and its papers, and nothing else", async () => {
    const papers = ["CHANGELOG.md", "LICENSE", "NOTICE", "README.md", "package.json"];
    const expected = [...papers, ...(await outputsOf("src")), ...(await outputsOf("workers"))];
    expect(packed.files.map((file) => file.path).sort()).toEqual(expected.sort());
  });

  it("installs only what it needs", async () => {
    const installed = (await readdir(join(project, "node_modules"))).filter((name) => !name.startsWith("."));
    expect(installed.sort()).toEqual(["acorn", "comlink", "commander", "heddle", "piscina"]);
  });

  it("has a command line", async () => {
    const program = join("node_modules", ".bin", "heddle");
    expect(await runIn(project, join(project, program), "devices")).toMatch(/^wasm +yes/m);
  });

  it("works from an ES module", async () => {
    const program = `
      import { createPool, leastSquares, np, objective, objectiveFunction, parallelFor } from "heddle";
      const pool = await createPool({ ranks: 2 });
      const list = [objective((c) => c.mul(c), { target: 4 }), objective((c) => np.sum(c), { target: 4, rank: 1 })];
      const fun = await objectiveFunction(list, { x: [1, 1], pool });
      console.log((await fun.jacobian([1, 2])).toArray());
      const fit = await leastSquares(fun, [1, 1]);
      console.log(fit.success, [...fit.x].map((value) => value.toFixed(6)));
      console.log(await parallelFor(3, (i, { k }) => i * k, { with: { k: 2 }, pool }));
      console.log(pool.report().plans.every(({ programs }) => programs.every(({ backend }) => backend === "wasm")));
      await pool.close();
    `;
    await writeFile(join(project, "module.mjs"), program);
    expect(await runIn(project, process.execPath, "module.mjs")).toBe(
      "[ [ 2, 0 ], [ 0, 4 ], [ 1, 1 ] ]\ntrue [ '2.000000', '2.000000' ]\nFloat64Array(3) [ 0, 2, 4 ]\ntrue\n",
    );
  });

  it("works from CommonJS", async () => {
    const program = `
      import("heddle").then(({ np, sequential, objective }) => {
        const fun = sequential([objective((c) => np.sin(c))], { x: [0] });
        console.log(fun.sync.jacobian([0]).item());
      });
    `;
    await writeFile(join(project, "common.cjs"), program);
    expect(await runIn(project, process.execPath, "common.cjs")).toBe("1\n");
  });

  it("lets nobody reach its internals by path", async () => {
    await writeFile(join(project, "deep.mjs"), 'await import("heddle/dist/src/index.js");\n');
    await expect(runIn(project, process.execPath, "deep.mjs")).rejects.toThrow(
      "ERR_PACKAGE_PATH_NOT_EXPORTED",
    );
  });

  it("ships types that stand on their own, without dom", async () => {
    const config = {
      compilerOptions: {
        strict: true,
        exactOptionalPropertyTypes: true,
        noUncheckedIndexedAccess: true,
        target: "ES2022",
        lib: ["ES2023", "ESNext.Disposable"],
        module: "NodeNext",
        types: ["node"],
        noEmit: true,
        skipLibCheck: false,
      },
      files: ["consumer.ts"],
    };
    const program = `
      import * as heddle from "heddle";
      import { createPool, leastSquares, np, objective, objectiveFunction, parameters } from "heddle";
      const p = parameters({ wall: [1, 2], coil: 3 });
      const near = p.objective(["wall"], ({ wall }) => np.tanh(wall).mul(2), { name: "near", target: [1, 2] });
      const far = objective((x: { coil: heddle.NDArray }, { k }) => x.coil.mul(k), { data: { k: [1, 2] } });
      export async function solve(): Promise<number> {
        await using pool = await createPool({ ranks: 2 });
        const fun = await objectiveFunction([near, far], { x: p, pool });
        const gradient = await fun.gradient(p);
        const fit = await leastSquares(fun, p, { verbose: 0 });
        return gradient.wall.size + fit.solution.coil.item();
      }
      // @ts-expect-error There is no such part.
      p.objective(["roof"], () => 1);
      // @ts-expect-error There is no such option.
      objective((c) => c, { targets: 1 });
      // @ts-expect-error The namespace is typed, not \`any\`.
      heddle.noSuchExport;
    `;
    await writeFile(join(project, "tsconfig.json"), JSON.stringify(config));
    await writeFile(join(project, "consumer.ts"), program);
    // A user's project has Node's types; this one borrows ours.
    await mkdir(join(project, "node_modules/@types"), { recursive: true });
    await symlink(join(root, "node_modules/@types/node"), join(project, "node_modules/@types/node"), "dir");
    await runIn(project, process.execPath, join(root, "node_modules/typescript/bin/tsc"), "-p", ".");
  });

  it("ships declarations that name neither browser types nor WebGPU's", async () => {
    for (const { path } of packed.files.filter((file) => file.path.endsWith(".d.ts"))) {
      const text = await readFile(join(project, "node_modules/heddle", path), "utf8");
      expect(text, path).not.toMatch(/@webgpu\/types|reference lib="dom"/);
    }
  });
});
