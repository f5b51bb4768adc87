// Documentation that does not run is worse than none. Every TypeScript block of README.md, of docs/*.md and of the
// docstrings in src/ is a complete program: it must compile against the shipped types and end with exit code 0, and
// where the page shows its output, print that.
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { blocksOfMarkdown, blocksOfSource, matchesOutput } from "./docs/blocks.js";

const exec = promisify(execFile);
const root = fileURLToPath(new URL("../", import.meta.url));
// Inside the repository, so that "heddle" resolves to the built package by its own name.
const folder = `${root}.cache/docs-tests/`;
const mostSkipped = 6;

const read = (path: string): string => readFileSync(root + path, "utf8");
const pages = [
  "README.md",
  ...readdirSync(`${root}docs`)
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];
const sources = readdirSync(`${root}src`, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => `src/${name}`);

const blocks = [
  ...pages.flatMap((path) => blocksOfMarkdown(path, read(path))),
  ...sources.flatMap((path) => blocksOfSource(path, read(path))),
].map((block) => ({ ...block, where: `${block.path}:${block.line}` }));
const programs = blocks
  .filter((block) => !block.skipped)
  .map((block) => ({ ...block, file: folder + block.where.replaceAll(/[^A-Za-z0-9]+/g, "-") }));

function compilerOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(`${root}tsconfig.json`, (path) => ts.sys.readFile(path)) as {
    config: unknown;
  };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  // Types come from dist/, as a user would see them; an example may name a result that it does not use again.
  delete options.rootDir;
  delete options.outDir;
  return { ...options, noEmit: true, noUnusedLocals: false, declaration: false, declarationMap: false };
}

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
for (const { file, code } of programs) {
  writeFileSync(`${file}.ts`, code);
  const lowered = ts.transpileModule(code, {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
  });
  writeFileSync(`${file}.mjs`, lowered.outputText);
}

describe("documented programs", () => {
  it("exist, and few are marked as not to be run", () => {
    expect(blocks.length).toBeGreaterThan(0);
    expect(blocks.filter((block) => block.skipped).length).toBeLessThanOrEqual(mostSkipped);
  });

  it("compile against the shipped types", { timeout: 60_000 }, () => {
    const program = ts.createProgram(
      programs.map(({ file }) => `${file}.ts`),
      compilerOptions(),
    );
    const found = ts.getPreEmitDiagnostics(program).map(({ file, start = 0, messageText }) => {
      const block = programs.find((each) => `${each.file}.ts` === file?.fileName);
      const line = (block?.line ?? 0) + (file?.getLineAndCharacterOfPosition(start).line ?? 0) + 1;
      return `${block?.path}:${line}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
    });
    expect(found).toEqual([]);
  });

  it.each(programs)("$where runs", { timeout: 60_000 }, async ({ file, code, output }) => {
    expect(code, "a program has its imports").toMatch(/from "heddle"/);
    const { stdout } = await exec(process.execPath, [`${file}.mjs`], { cwd: folder, timeout: 55_000 });
    if (output !== undefined && !matchesOutput(stdout, output)) expect(stdout).toBe(output);
  });
});

describe("the extraction", () => {
  const page = [
    "text",
    "```ts",
    'import { version } from "heddle";',
    "```",
    "",
    "<!-- output -->",
    "",
    "```text",
    "0.1.0",
    "```",
    "```ts no-run",
    "later();",
    "```",
    "  - ```ts",
    "    indented();",
    "    ```",
  ].join("\n");

  it("finds blocks, their lines, their output and their marks", () => {
    expect(blocksOfMarkdown("a.md", page)).toEqual([
      {
        path: "a.md",
        line: 2,
        code: 'import { version } from "heddle";\n',
        skipped: false,
        output: "0.1.0\n",
      },
      { path: "a.md", line: 11, code: "later();\n", skipped: true, output: undefined },
      { path: "a.md", line: 14, code: "indented();\n", skipped: false, output: undefined },
    ]);
  });

  it.each(["js", "typescript", "tsx", "ts skip", "mjs"])("refuses a block marked %s", (mark) => {
    expect(() => blocksOfMarkdown("a.md", `\`\`\`${mark}\nx;\n\`\`\``)).toThrow("a.md:1");
  });

  it("refuses a block that is not closed, and an output marker without an output", () => {
    expect(() => blocksOfMarkdown("a.md", "```ts\nx;\n")).toThrow("not closed");
    expect(() => blocksOfMarkdown("a.md", "```ts\nx;\n```\n<!-- output -->\ntext\n")).toThrow("no output");
  });

  it("finds examples in docstrings", () => {
    const source =
      '/**\n * One.\n *\n * @example\n * ```ts\n * one();\n *\n * two();\n * ```\n */\nconst a = "```ts";\n';
    expect(blocksOfSource("a.ts", source)).toEqual([
      { path: "a.ts", line: 5, code: "one();\n\ntwo();\n", skipped: false, output: undefined },
    ]);
  });

  it("compares output, with … for what changes from run to run", () => {
    expect(matchesOutput("a\nb  \n", "a\nb\n")).toBe(true);
    expect(matchesOutput("a\nc\n", "a\nb\n")).toBe(false);
    expect(matchesOutput("took 3 ms (x)\n", "took … ms (x)\n")).toBe(true);
    expect(matchesOutput("took 3 s\n", "took … ms\n")).toBe(false);
    expect(matchesOutput("a\nb\nc\nd\n", "a\n…\nd\n")).toBe(true);
    expect(matchesOutput("a\nb\n", "a\n")).toBe(false);
  });
});
