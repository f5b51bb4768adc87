/**
 * Reads what a function has captured, as it is right now. JavaScript keeps that to itself; Node's inspector, used from
 * within the process, shows it: no debugger is attached, nothing stops, and the values are those of this moment. Where
 * there is no inspector, captures must be given by name.
 *
 * Each message to the inspector costs ten to fifty microseconds. So the functions that a function leads to are read in
 * one sweep, in which each answer names the function that is read next, and what a module declares is read once per
 * capture for all of the module's functions.
 */
import type { Place } from "./inspected.js";
import { inspected } from "./inspected.js";
import type { AnyFunction } from "./source.js";

/** What a name stands for in a function's scopes. */
export type Binding =
  | {
      readonly kind: "value";
      readonly value: unknown;
      /** Declared nowhere nearer than the global object. */ readonly global: boolean;
    }
  /** Declared, but not initialised yet. */
  | { readonly kind: "uninitialised" }
  | { readonly kind: "missing" };

/** The scopes of one function, the innermost first. All but the last, the global object, are copies of a moment. */
export type Scopes = readonly Readonly<Record<string, unknown>>[];

/** The functions that a function has captured, as far as they will be read too. */
export type Leads = (fn: AnyFunction, scopes: Scopes) => readonly AnyFunction[];

/** Scripts of functions that were made where their module's own variables are, which is so for good. */
const homes = new WeakMap<AnyFunction, string>();

/** What one capture has read. */
class Reading {
  readonly #functions = new Map<AnyFunction, Scopes>();
  /** By script: the scopes from the module's own outwards. A module is instantiated once per script. */
  readonly #modules = new Map<string, Scopes>();

  of(fn: AnyFunction): Scopes | undefined {
    const home = homes.get(fn);
    return this.#functions.get(fn) ?? (home === undefined ? undefined : this.#modules.get(home));
  }

  note(fn: AnyFunction, { scopes, script, moduleDepth }: Place): void {
    this.#functions.set(fn, scopes);
    if (script === undefined || moduleDepth < 0) return;
    if (moduleDepth === 0) homes.set(fn, script);
    if (!this.#modules.has(script)) this.#modules.set(script, scopes.slice(moduleDepth));
  }
}

let current: Reading | undefined;

/** Does the work of one capture, for which every function is read at most once. */
export function reading<T>(work: () => T): T {
  const outer = current;
  current = new Reading();
  try {
    return work();
  } finally {
    current = outer;
  }
}

/**
 * The scopes of a function; `undefined` for native and bound functions, and where nothing can read them. Within
 * `reading`, those that it leads to are read as well.
 */
export function scopesOf(fn: AnyFunction, leads: Leads): Scopes | undefined {
  const known = current?.of(fn);
  if (known !== undefined) return known;
  const now = current ?? new Reading();
  const next: AnyFunction[] = [];
  inspected(fn, (read, place) => {
    now.note(read, place);
    if (current === undefined) return undefined;
    next.push(...leads(read, place.scopes));
    for (;;) {
      const one = next.pop();
      if (one === undefined || now.of(one) === undefined) return one;
    }
  });
  return now.of(fn);
}

/** What a name stands for, from the innermost scope outwards. */
export function lookUp(scopes: Scopes, name: string): Binding {
  for (const [depth, scope] of scopes.entries()) {
    const global = depth === scopes.length - 1;
    try {
      if (!(global ? name in scope : Object.hasOwn(scope, name))) continue;
      return { kind: "value", value: scope[name], global };
    } catch {
      // Reading a variable that is not initialised yet throws, as it does in a program.
      return { kind: "uninitialised" };
    }
  }
  return { kind: "missing" };
}
