// Types are part of the contract: a wrong call must not compile. Every file in tests/types/ is compiled against the
// declarations that ship; `// @ts-expect-error` marks the lines that must be refused, and a line that stops being
// refused is itself an error.
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../", import.meta.url));
const folder = `${root}tests/types/`;
const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => folder + name);

function compilerOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(`${root}tsconfig.json`, (path) => ts.sys.readFile(path)) as {
    config: unknown;
  };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  // Without these two the compiler would go from dist/ back to the sources; users have no sources.
  delete options.rootDir;
  delete options.outDir;
  // A statement that only has to compile, or not, needs no use for its result.
  return { ...options, noEmit: true, declaration: false, declarationMap: false, noUnusedLocals: false };
}

/** Compiles the files; `extra` are files that exist only in memory. */
function diagnose(names: readonly string[], extra: ReadonlyMap<string, string>): string[] {
  const options = compilerOptions();
  const host = ts.createCompilerHost(options);
  const fromDisk = host.getSourceFile.bind(host);
  host.getSourceFile = (name, version, ...rest) => {
    const text = extra.get(name);
    return text === undefined ? fromDisk(name, version, ...rest) : ts.createSourceFile(name, text, version);
  };
  const program = ts.createProgram([...names, ...extra.keys()], options, host);
  return ts.getPreEmitDiagnostics(program).map((found) => {
    const message = ts.flattenDiagnosticMessageText(found.messageText, "\n");
    const { file, start = 0 } = found;
    if (file === undefined) return message;
    return `${file.fileName.replace(root, "")}:${file.getLineAndCharacterOfPosition(start).line + 1}: ${message}`;
  });
}

describe("the shipped types", { timeout: 60_000 }, () => {
  it("accept and refuse what tests/types/ says", () => {
    expect(files.length).toBeGreaterThan(0);
    expect(diagnose(files, new Map())).toEqual([]);
  });

  it("would show a line that is not refused any more, and a missing export", () => {
    const seeded = `import { noSuchExport } from "heddle";\n\n// @ts-expect-error fine\nexport const a: number = 1;\n`;
    const found = diagnose([], new Map([[`${folder}seeded.ts`, seeded]]));
    expect(found).toHaveLength(2);
    expect(found.join("\n")).toMatch(/seeded\.ts:1: .*noSuchExport/);
    expect(found.join("\n")).toMatch(/seeded\.ts:3: Unused '@ts-expect-error' directive/);
  });
});
