// The rules of docs/architecture.md as a function of file texts: which file may import which, no import cycles, no
// file too long to read. It knows no file system, so the test can show on small invented trees that each rule can fail.
import { builtinModules } from "node:module";
import { posix } from "node:path";
import ts from "typescript";

/** Folder of `src/` (or `index.ts`) to its floor. */
export type Floors = ReadonlyMap<string, number>;

export interface Findings {
  errors: string[];
  warnings: string[];
}

export interface Rules {
  floors: Floors;
  /** Packages that shipped files may import: what package.json installs for a user. */
  packages: ReadonlySet<string>;
}

const longFile = 400;
const tooLongFile = 600;

/** Parts of `src/` that must run in a browser some day. */
const portable = /^src\/(?:ir|primitives|transform|arrays|backends\/(?:wasm|wgsl)[^/]*)(?:\/|\.ts$)/;

const nodeModules = new Set(builtinModules);

/** Reads the rows `| 3 | `transform`, `backends` | what they know |` of the page's table of floors. */
export function parseFloors(markdown: string): Floors {
  const floors = new Map<string, number>();
  for (const [, floor, folders] of markdown.matchAll(/^\|\s*(\d+)\s*\|([^|]*)\|/gm)) {
    for (const [, folder] of (folders ?? "").matchAll(/`([^`]+)`/g)) {
      if (folder === undefined) continue;
      if (floors.has(folder)) throw new Error(`docs/architecture.md puts ${folder} on two floors`);
      floors.set(folder, Number(floor));
    }
  }
  return floors;
}

/** Every module that a file names: imports, re-exports, `import()` and `import("...").Type`. */
export function importsOf(path: string, text: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const named =
      ts.isImportDeclaration(node) || ts.isExportDeclaration(node)
        ? node.moduleSpecifier
        : ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword
          ? node.arguments[0]
          : ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)
            ? node.argument.literal
            : undefined;
    if (named !== undefined && ts.isStringLiteralLike(named)) found.push(named.text);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest));
  return found;
}

/** `src/ir/graph.ts` is in `ir`; `src/index.ts` is its own folder. */
function folderOf(path: string): string {
  return path.split("/")[1] ?? "";
}

function packageOf(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

/**
 * Checks a tree of files (`src/...` and `workers/...`, paths with `/`) against the rules.
 * `workers/` may import anything, so only its part in cycles and its length are looked at.
 */
export function checkArchitecture(files: ReadonlyMap<string, string>, { floors, packages }: Rules): Findings {
  const errors: string[] = [];
  const warnings: string[] = [];
  const edges = new Map<string, string[]>();

  for (const [path, text] of files) {
    const lines = text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
    if (lines > tooLongFile)
      errors.push(`${path}: ${lines} lines, more than ${tooLongFile}; split it by concept`);
    else if (lines > longFile) warnings.push(`${path}: ${lines} lines, more than ${longFile}`);

    const inSource = path.startsWith("src/");
    const ownFolder = folderOf(path);
    const ownFloor = floors.get(ownFolder);
    const ambient = path.endsWith(".d.ts");
    if (inSource && ownFloor === undefined && !ambient) {
      errors.push(`${path}: docs/architecture.md has no floor for ${ownFolder}`);
    }

    const targets: string[] = [];
    edges.set(path, targets);
    for (const specifier of importsOf(path, text)) {
      const internal = /^#heddle\/(.+)$/.exec(specifier)?.[1];
      if (inSource && (internal !== undefined || specifier === "heddle")) {
        errors.push(`${path}: imports "${specifier}"; inside src/ use a relative path`);
        continue;
      }
      if (specifier.startsWith(".") || internal !== undefined) {
        const target =
          internal === undefined
            ? posix.join(posix.dirname(path), specifier).replace(/\.js$/, ".ts")
            : `src/${internal}.ts`;
        if (!files.has(target)) {
          errors.push(`${path}: imports "${specifier}", but there is no ${target}`);
          continue;
        }
        targets.push(target);
        if (!inSource) continue;
        if (!target.startsWith("src/")) {
          errors.push(`${path}: imports ${target}, which is outside src/`);
          continue;
        }
        const folder = folderOf(target);
        const floor = floors.get(folder);
        if (folder === ownFolder || ownFloor === undefined || floor === undefined) continue;
        if (floor === ownFloor) {
          errors.push(
            `${path}: imports ${target}, but ${ownFolder} and ${folder} share floor ${floor}; neighbours do not know each other`,
          );
        } else if (floor > ownFloor) {
          errors.push(
            `${path}: imports ${target}, but ${ownFolder} is on floor ${ownFloor} and ${folder} above it, on floor ${floor}`,
          );
        }
        continue;
      }
      const isNode = specifier.startsWith("node:") || nodeModules.has(packageOf(specifier));
      if (isNode) {
        if (!specifier.startsWith("node:")) errors.push(`${path}: write "node:${specifier}"`);
        if (portable.test(path))
          errors.push(`${path}: imports "${specifier}", but this part must not need Node`);
      } else if (specifier !== "heddle" && !packages.has(packageOf(specifier))) {
        errors.push(`${path}: imports "${specifier}", which package.json does not install for users`);
      }
    }
  }

  for (const cycle of findCycles(edges)) errors.push(`import cycle: ${cycle.join(" -> ")}`);
  return { errors, warnings };
}

/** One example cycle for each group of files that import each other. */
function findCycles(edges: ReadonlyMap<string, readonly string[]>): string[][] {
  const cycles: string[][] = [];
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): void => {
    const at = path.indexOf(file);
    if (at >= 0) {
      cycles.push([...path.slice(at), file]);
      return;
    }
    if (done.has(file)) return;
    path.push(file);
    for (const target of edges.get(file) ?? []) visit(target);
    path.pop();
    done.add(file);
  };
  for (const file of edges.keys()) visit(file);
  return cycles;
}
