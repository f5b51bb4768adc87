/**
 * Stand-ins for what tools put into the sources of functions, so that a body runs the same under them: names that esbuild
 * keeps, imports that test runners rewrite, counters of coverage tools.
 */

/** Stand-ins by name. */
export const shims: Readonly<Record<string, unknown>> = {
  /** esbuild: keeps a function's name. */
  __name: (fn: unknown) => fn,
  /** vite: dynamic imports. */
  __vite_ssr_dynamic_import__: (specifier: string) => import(specifier),
};

export const shimNames: ReadonlySet<string> = new Set(Object.keys(shims));

/** A counter that can be called, indexed and incremented for ever, for coverage tools. */
export const counter: unknown = new Proxy(() => counter, {
  get: (_target, key) => (key === Symbol.toPrimitive ? () => 0 : counter),
  set: () => true,
  apply: () => counter,
});

/** True for the name of a coverage tool's counter. */
export function isCounter(name: string): boolean {
  return /^cov_\w+$/.test(name);
}

/** True for the name that a test runner gives to an import. */
export function isImportName(name: string): boolean {
  return /^__(?:vite_ssr|vi)_import_\d+__$/.test(name);
}
