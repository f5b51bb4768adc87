/** From a pool to what it is made of; kept apart so that public declarations do not show it. */
import { ArgumentError } from "../base/errors.js";
import type { PoolCore } from "./core.js";

const cores = new WeakMap<object, PoolCore>();

/** Gives a new pool its core. */
export function adoptCore(pool: object, core: PoolCore): void {
  cores.set(pool, core);
}

/** The core of a pool. Throws `ArgumentError` for anything else. */
export function coreOf(pool: unknown): PoolCore {
  const core = typeof pool === "object" && pool !== null ? cores.get(pool) : undefined;
  if (core === undefined) {
    throw new ArgumentError({
      operation: "pool",
      found: typeof pool,
      expected: "what createPool() resolves to",
      remedy: "await createPool() first",
    });
  }
  return core;
}
