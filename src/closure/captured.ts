/**
 * What a function captures from where it was written: each free name with its value at this moment. Values given by name
 * come first; others are read from the function's live scopes.
 */
import { codecOf } from "./codec.js";
import { inDeadZone } from "./dead-zone.js";
import { globalNames, intrinsicNames } from "./globals.js";
import type { Leads, Scopes } from "./live.js";
import { lookUp, scopesOf } from "./live.js";
import type { Free } from "./scope.js";
import { freeOf } from "./scope.js";
import { isCounter, isImportName, shimNames } from "./shims.js";
import type { AnyFunction } from "./source.js";
import { sourceOf } from "./source.js";

/** Refuses a name: what is wrong with it, and what to do. */
export type RefuseName = (name: string, found: string, remedy: string) => never;

/** Free names with their values. */
export interface Captured {
  readonly names: readonly string[];
  readonly values: readonly unknown[];
}

/** True for what an import of a whole module gives. */
function isModule(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === "object" && value !== null && Object.prototype.toString.call(value) === "[object Module]"
  );
}

/** The members of a module that a function reads: no more of it need cross. */
function partOf(
  name: string,
  module: Readonly<Record<string, unknown>>,
  members: readonly string[],
  given: Readonly<Record<string, unknown>>,
  tool: boolean,
  refuse: RefuseName,
): Record<string, unknown> {
  return Object.fromEntries(
    members.map((member) => {
      // A test runner's rewritten import reads `params` as a member of a module; it may be given by its own name.
      if (tool && Object.hasOwn(given, member)) return [member, given[member]];
      try {
        return [member, module[member]];
      } catch {
        return refuse(tool ? member : `${name}.${member}`, "not initialised yet", "call this later");
      }
    }),
  );
}

/** True for names that every rank has by itself. */
function needsNothing(name: string): boolean {
  return intrinsicNames.has(name) || shimNames.has(name) || isCounter(name);
}

/** What a function needs, if its scopes must be searched for it. */
function soughtBy(fn: AnyFunction): Free | undefined {
  try {
    const free = freeOf(sourceOf("capture", "function", fn).node);
    for (const name of free.names.keys()) if (!needsNothing(name)) return free;
  } catch {
    // It is refused, with its path, when its turn comes.
  }
  return undefined;
}

/** The functions among the values of the names that were captured, which cross by their sources. */
const leads: Leads = (fn, scopes) => {
  const found: AnyFunction[] = [];
  for (const name of soughtBy(fn)?.names.keys() ?? []) {
    if (needsNothing(name)) continue;
    const binding = lookUp(scopes, name);
    if (binding.kind !== "value" || typeof binding.value !== "function" || binding.global) continue;
    const value = binding.value as AnyFunction; // Just tested.
    if (codecOf(value)?.name === "function" && soughtBy(value) !== undefined) found.push(value);
  }
  return found;
};

/** What a function captures. `given` are values by name, which need not be read. */
export function capturedBy(
  fn: AnyFunction,
  free: Free,
  given: Readonly<Record<string, unknown>>,
  refuse: RefuseName,
): Captured {
  const names: string[] = [];
  const values: unknown[] = [];
  let scopes: Scopes | null | undefined;
  const add = (name: string, value: unknown): void => {
    names.push(name);
    values.push(value);
  };
  for (const [name, members] of free.names) {
    if (needsNothing(name)) continue;
    if (Object.hasOwn(given, name)) {
      add(name, given[name]);
      continue;
    }
    const tool = isImportName(name);
    const known = tool && members !== null && [...members].every((member) => Object.hasOwn(given, member));
    if (known) {
      add(name, partOf(name, {}, [...members], given, true, refuse));
      continue;
    }
    scopes ??= scopesOf(fn, leads) ?? null;
    if (scopes === null) {
      if (globalNames.has(name)) continue;
      refuse(name, "from outside, and cannot be read here", "give it by name");
    }
    const found = lookUp(scopes, name);
    const unset = found.kind === "value" && found.value === undefined && !found.global;
    if (found.kind === "uninitialised" || (unset && inDeadZone(fn, name))) {
      refuse(
        name,
        "from outside, where it is not initialised yet",
        "call this after its declaration has run",
      );
    } else if (found.kind === "missing") {
      // A function that only asks whether the name exists gets the answer on the rank.
      if (globalNames.has(name) || free.asked.has(name)) continue;
      refuse(name, "which is declared nowhere", "declare it, or give it by name");
    } else if (!found.global || !globalNames.has(name)) {
      const { value } = found;
      if (!isModule(value)) add(name, value);
      else if (members !== null) add(name, partOf(name, value, [...members], given, tool, refuse));
      else {
        const remedy = `import what is used of it by name, or write ${name}.member where it is used`;
        refuse(name, "a whole module, which cannot cross", remedy);
      }
    }
  }
  return { names, values };
}
