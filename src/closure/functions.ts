/**
 * Functions as source text with their captures, compiled where they run. A function is made before its captures are known
 * there, since they may lead back to it.
 */
import type { EncodeContext } from "./codec.js";
import { capturedBy } from "./captured.js";
import { freeOf } from "./scope.js";
import type { Free } from "./scope.js";
import { counter, shims } from "./shims.js";
import type { AnyFunction } from "./source.js";
import { sourceOf } from "./source.js";
import { checkWrites } from "./writes.js";

/** A function's source with the names that it must be given. */
export interface CompiledSource {
  readonly text: string;
  readonly strict: boolean;
  readonly names: readonly string[];
}

/** A function, ready to cross. */
export interface FunctionWire extends CompiledSource {
  /** The encoded values of its names. */
  readonly values: readonly unknown[];
}

/** Refuses what no other place can give a function. */
export function requirePortable(free: Free, refuse: (found: string, remedy: string) => never): void {
  if (!free.usesThis && !free.usesSuper && !free.usesImportMeta) return;
  const what = free.usesThis ? "this" : free.usesSuper ? "super" : "import.meta";
  refuse(`a function that uses ${what} from outside`, "pass what is needed as an argument");
}

/** Takes a function apart, and what it captures, and what that captures. */
export function functionWire(fn: AnyFunction, context: EncodeContext): FunctionWire {
  const { text, node, strict } = sourceOf("capture", context.path, fn);
  const free = freeOf(node);
  requirePortable(free, (found, remedy) => context.refuse(found, remedy));
  const { names, values } = capturedBy(fn, free, {}, (name, found, remedy) =>
    context.refuse(`a function that uses "${name}" ${found}`, `${remedy}; or pass ${name} as an argument`),
  );
  const captured = Object.fromEntries(names.map((name, i) => [name, values[i]]));
  checkWrites(free.writes, captured, undefined, (written, remedy) =>
    context.refuse(`a function that writes to what it captures (${written}), and so`, remedy),
  );
  return { text, strict, names, values: names.map((name, i) => context.encode(values[i], ` → ${name}`)) };
}

/** The source of a function that needs nothing from outside. Refuses others, naming what they need. */
export function closedSource(
  fn: AnyFunction,
  path: string,
  refuse: (found: string, remedy: string) => never,
): CompiledSource {
  const { text, node, strict } = sourceOf("capture", path, fn);
  const free = freeOf(node);
  requirePortable(free, refuse);
  const { names } = capturedBy(fn, free, {}, (name, found, remedy) =>
    refuse(`a function that uses "${name}" ${found}`, remedy),
  );
  const [missing] = names;
  if (missing !== undefined) {
    refuse(
      `a function that uses "${missing}" from outside`,
      `pass ${missing} to it as an argument, or write the function inside the body`,
    );
  }
  return { text, strict, names: [] };
}

/** A function, and what gives its names their values. */
interface Made {
  readonly fn: AnyFunction;
  readonly bind: (values: readonly unknown[]) => void;
}

const factories = new Map<string, () => Made>();
const factoryLimit = 1000;

/** Makes the function of a source; its names are `undefined` until they are bound. The same text is compiled once. */
export function make({ text, strict, names }: CompiledSource): Made {
  const key = JSON.stringify([text, strict, names]);
  let factory = factories.get(key);
  if (factory === undefined) {
    const counters = new Set(text.match(/\bcov_\w+/g) ?? []);
    const stand = [...Object.keys(shims), ...counters];
    const list = names.join(", ");
    const declared = names.length === 0 ? "" : `let ${list}; `;
    const bind = names.length === 0 ? "() => {}" : `(__heddle_values) => { [${list}] = __heddle_values; }`;
    const body = `${strict ? '"use strict"; ' : ""}${declared}return { bind: ${bind}, fn: ${text} };`;
    // Running the caller's own function is what this is for; nothing else ever gets here.
    // eslint-disable-next-line @typescript-eslint/no-implied-eval
    const made = new Function(...stand, body) as (...given: unknown[]) => Made;
    const values = stand.map((name) => shims[name] ?? counter);
    factory = () => made(...values);
    if (factories.size >= factoryLimit) factories.clear();
    factories.set(key, factory);
  }
  return factory();
}

/** The function of a source, with the values of its names. */
export function compile(source: CompiledSource, values: readonly unknown[]): AnyFunction {
  const { fn, bind } = make(source);
  bind(values);
  return fn;
}

/** The function of a closed source. */
export function compileClosed(source: CompiledSource): AnyFunction {
  return compile(source, []);
}
