// Keeps the sources as docs/architecture.md draws them, and shows on invented trees that every rule can fail.
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { checkArchitecture, importsOf, parseFloors } from "./architecture/check.js";

const root = new URL("../", import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), "utf8");

const page = read("docs/architecture.md");
const floors = parseFloors(page);
const manifest = JSON.parse(read("package.json")) as Record<string, Record<string, string> | undefined>;
const packages = new Set([
  ...Object.keys(manifest["dependencies"] ?? {}),
  ...Object.keys(manifest["optionalDependencies"] ?? {}),
]);

function filesUnder(folder: string): [string, string][] {
  return readdirSync(new URL(`${folder}/`, root), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => `${folder}/${name.replaceAll("\\", "/")}`)
    .sort()
    .map((path) => [path, read(path)]);
}

describe("the sources", () => {
  it("follow the floors of docs/architecture.md", () => {
    const sources = filesUnder("src");
    expect(sources.length).toBeGreaterThan(10);
    const workers = readdirSync(root).includes("workers") ? filesUnder("workers") : [];
    const { errors, warnings } = checkArchitecture(new Map([...sources, ...workers]), { floors, packages });
    for (const warning of warnings) console.warn(`long file: ${warning}`);
    expect(errors).toEqual([]);
  });
});

describe("the table of floors", () => {
  it("is found and whole", () => {
    expect(new Set(floors.values())).toEqual(new Set([0, 1, 2, 3, 4, 5, 6, 7, 8]));
    expect(floors.get("base")).toBe(0);
    expect(floors.get("index.ts")).toBe(8);
  });

  it("may not put a folder on two floors", () => {
    expect(() => parseFloors("| 1 | `ir` | x |\n| 2 | `ir` | y |\n")).toThrow("ir on two floors");
  });
});

describe("importsOf", () => {
  it("sees every way to name a module, and none in comments or strings", () => {
    const text = `
      import a from "./a.js"; import type { B } from "./b.js"; import "./c.js";
      export * from "./d.js"; export type { E } from "./e.js";
      const f = await import("./f.js"); let g: import("./g.js").G;
      // import h from "./h.js"
      const i = 'import i from "./i.js"';
      import {
        j,
      } from "./j.js";`;
    expect(importsOf("x.ts", text)).toEqual(["a", "b", "c", "d", "e", "f", "g", "j"].map((n) => `./${n}.js`));
  });
});

describe("the checker can fail", () => {
  const invented = parseFloors(
    "| 2 | `top` |\n| 1 | `ir`, `plan`, `backends` |\n| 0 | `base` |\n| 8 | `index.ts` |",
  );
  const errorsOf = (files: Record<string, string>): string[] =>
    checkArchitecture(new Map(Object.entries(files)), { floors: invented, packages: new Set(["piscina"]) })
      .errors;

  it("accepts imports downward, inside a folder, of Node and of installed packages", () => {
    expect(
      errorsOf({
        "src/index.ts": 'export * from "./top/t.js";',
        "src/top/t.ts": 'import "../ir/g.js"; import "./u.js"; import "piscina"; import "node:fs/promises";',
        "src/top/u.ts": 'import "../base/b.js";',
        "src/ir/g.ts": 'import type { B } from "../base/b.js";',
        "src/base/b.ts": "export type B = 1;",
        "workers/rank.ts": 'import "#heddle/top/t"; import "heddle";',
      }),
    ).toEqual([]);
  });

  it.each<[string, Record<string, string>, RegExp]>([
    [
      "an import upward",
      { "src/base/b.ts": 'import type { G } from "../ir/g.js";', "src/ir/g.ts": "" },
      /base is on floor 0 and ir above it, on floor 1/,
    ],
    [
      "an import between neighbours",
      { "src/plan/p.ts": 'export * from "../ir/g.js";', "src/ir/g.ts": "" },
      /plan and ir share floor 1/,
    ],
    [
      "an import of the index",
      { "src/top/t.ts": 'import("../index.js");', "src/index.ts": "" },
      /index.ts above it, on floor 8/,
    ],
    ["an unknown folder", { "src/helpers/h.ts": "" }, /no floor for helpers/],
    ["a loose file in src", { "src/utils.ts": "" }, /no floor for utils.ts/],
    [
      "a cycle, even of types alone",
      {
        "src/ir/a.ts": 'import type { B } from "./b.js";',
        "src/ir/b.ts": 'import type { A } from "./a.js";',
      },
      /import cycle: src\/ir\/a.ts -> src\/ir\/b.ts -> src\/ir\/a.ts/,
    ],
    ["a missing file", { "src/ir/a.ts": 'import "./gone.js";' }, /there is no src\/ir\/gone.ts/],
    [
      "an import of a worker",
      { "src/top/t.ts": 'import "../../workers/rank.js";', "workers/rank.ts": "" },
      /outside src/,
    ],
    ["the package's own name", { "src/top/t.ts": 'import "heddle";' }, /use a relative path/],
    [
      "an internal alias",
      { "src/top/t.ts": 'import "#heddle/ir/g";', "src/ir/g.ts": "" },
      /use a relative path/,
    ],
    ["Node in a portable part", { "src/ir/a.ts": 'import "node:fs";' }, /must not need Node/],
    ["Node in the wasm backend", { "src/backends/wasm/emit.ts": 'import "node:fs";' }, /must not need Node/],
    ["Node in a one-file backend", { "src/backends/wasm.ts": 'import "node:fs";' }, /must not need Node/],
    ["Node without its prefix", { "src/top/t.ts": 'import "fs";' }, /write "node:fs"/],
    ["a development package", { "src/top/t.ts": 'import "vitest";' }, /does not install for users/],
    ["a file of 601 lines", { "src/ir/a.ts": "// line\n".repeat(601) }, /601 lines, more than 600/],
  ])("finds %s", (_name, files, message) => {
    const errors = errorsOf(files);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatch(message);
  });

  it("warns of a file of 401 lines", () => {
    const files = new Map([["src/ir/a.ts", "// line\n".repeat(401)]]);
    const { errors, warnings } = checkArchitecture(files, { floors: invented, packages });
    expect(errors).toEqual([]);
    expect(warnings).toHaveLength(1);
  });
});
