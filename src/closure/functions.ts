/**
 * Functions as source text, compiled where they run. What tools put into sources (names that esbuild keeps, imports that
 * vitest rewrites, counters of coverage tools) has stand-ins, so that a body runs the same under them.
 */
import type { EncodeContext } from "./codec.js";
import { globalNames } from "./globals.js";
import type { Free } from "./scope.js";
import { freeOf } from "./scope.js";
import type { AnyFunction } from "./source.js";
import { sourceOf } from "./source.js";

/** A function's source with what it needs to be compiled. */
export interface CompiledSource {
  readonly text: string;
  readonly strict: boolean;
  /** Names that are given when it is compiled, in order. */
  readonly names: readonly string[];
  /** Namespaces that a tool made of imports, each with the members that are names here. */
  readonly imports: Readonly<Record<string, readonly string[]>>;
}

/** Stand-ins for what tools refer to. */
const shims: Readonly<Record<string, unknown>> = {
  /** esbuild: keeps a function's name. */
  __name: (fn: unknown) => fn,
  /** vite: dynamic imports. */
  __vite_ssr_dynamic_import__: (specifier: string) => import(specifier),
};

/** A counter that can be called, indexed and incremented for ever, for coverage tools. */
const counter: unknown = new Proxy(() => counter, {
  get: (_target, key) => (key === Symbol.toPrimitive ? () => 0 : counter),
  set: () => true,
  apply: () => counter,
});

const importName = /^__(?:vite_ssr|vi)_import_\d+__$/;
const counterName = /^cov_\w+$/;

/** The names that a function takes from outside, sorted by where they can come from. */
export interface Needs {
  /** Names that somebody must give: of free variables, and of members of rewritten imports. */
  readonly wanted: readonly string[];
  readonly imports: Readonly<Record<string, readonly string[]>>;
  /** Namespaces of rewritten imports that are used as a whole. */
  readonly wholeImports: readonly string[];
}

/** Sorts a function's free names. */
export function needsOf(free: Free): Needs {
  const wanted = new Set<string>();
  const imports: Record<string, readonly string[]> = {};
  const wholeImports: string[] = [];
  for (const [name, members] of free.names) {
    if (globalNames.has(name) || Object.hasOwn(shims, name) || counterName.test(name)) continue;
    if (!importName.test(name)) wanted.add(name);
    else if (members === null) wholeImports.push(name);
    else {
      imports[name] = [...members];
      for (const member of members) wanted.add(member);
    }
  }
  return { wanted: [...wanted], imports, wholeImports };
}

/** The source of a function that needs nothing from outside. Refuses others, naming what they need. */
export function closedSource(fn: AnyFunction, context: EncodeContext): CompiledSource {
  const { text, node, strict } = sourceOf("capture", context.path, fn);
  const free = freeOf(node);
  const { wanted, imports, wholeImports } = needsOf(free);
  const [missing] = [...wanted, ...wholeImports];
  if (missing !== undefined) {
    context.refuse(
      `a function that uses "${missing}" from outside`,
      `pass ${missing} to it as an argument, or write the function inside the body`,
    );
  }
  if (free.usesThis || free.usesSuper || free.usesImportMeta) {
    const what = free.usesThis ? "this" : free.usesSuper ? "super" : "import.meta";
    context.refuse(`a function that uses ${what} from outside`, "pass what is needed as an argument");
  }
  return { text, strict, names: [], imports };
}

const factories = new Map<string, (...values: unknown[]) => AnyFunction>();
const factoryLimit = 1000;

/** Compiles a source with the given values for its names; the same text is compiled once. */
export function compile(source: CompiledSource, values: readonly unknown[]): AnyFunction {
  const { text, strict, names, imports } = source;
  const key = JSON.stringify([text, strict, names, imports]);
  let factory = factories.get(key);
  if (factory === undefined) {
    const counters = text.match(/\bcov_\w+/g) ?? [];
    const shimNames = [...Object.keys(shims), ...new Set(counters)];
    const namespaces = Object.entries(imports).map(([name, members]) => {
      const given = members.filter((member) => names.includes(member));
      return `const ${name} = { ${given.join(", ")} };`;
    });
    const body = `${strict ? '"use strict"; ' : ""}${namespaces.join(" ")} return ${text};`;
    // Running the caller's own function is what this is for; nothing else ever gets here.
    // eslint-disable-next-line @typescript-eslint/no-implied-eval
    const made = new Function(...shimNames, ...names, body) as (...all: unknown[]) => AnyFunction;
    factory = (...given) => made(...shimNames.map((name) => shims[name] ?? counter), ...given);
    if (factories.size >= factoryLimit) factories.clear();
    factories.set(key, factory);
  }
  return factory(...values);
}

/** The function of a closed source. */
export function compileClosed(source: CompiledSource): AnyFunction {
  return compile(source, []);
}
