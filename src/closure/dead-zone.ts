/**
 * Tells a variable that is not initialised yet from one that is `undefined`. Engines since V8 12 throw where such a
 * variable is read; the one of Node 20 does so only while it is asked to, which is too much to ask for every function.
 */
import { inspected } from "./inspected.js";
import { lookUp } from "./live.js";
import type { AnyFunction } from "./source.js";

interface Engine {
  setFlagsFromString(flags: string): void;
}
interface Host {
  readonly versions?: { readonly v8?: string };
  getBuiltinModule?(name: string): unknown;
}

let engine: Engine | null | undefined;

/** The engine, if it must be asked. */
function quietEngine(): Engine | null {
  const host = (globalThis as { process?: Host }).process; // Not there in a browser.
  if (host === undefined || Number.parseInt(host.versions?.v8 ?? "12") >= 12) return null;
  return (host.getBuiltinModule?.("node:v8") ?? null) as Engine | null; // Node's own module, of which this is used.
}

/** True if the variable, which reads as `undefined` in the function's scopes, has not been initialised. */
export function inDeadZone(fn: AnyFunction, name: string): boolean {
  engine ??= quietEngine();
  if (engine === null) return false;
  let dead = false;
  engine.setFlagsFromString("--experimental-value-unavailable");
  try {
    inspected(fn, (_fn, { scopes }) => {
      dead = lookUp(scopes, name).kind === "uninitialised";
      return undefined;
    });
  } finally {
    engine.setFlagsFromString("--no-experimental-value-unavailable");
  }
  return dead;
}
