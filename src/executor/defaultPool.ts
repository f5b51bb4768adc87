/** The pool of calls that name none: made when it is first needed, kept, and never what keeps a process alive. */
import { BlockingError } from "../base/errors.js";
import { createPool } from "./pool.js";
import type { Pool } from "./pool.js";

let pool: Pool | undefined;
let starting: Promise<Pool> | undefined;

/** The default pool; a new one, if the last was closed. Its size is set by `HEDDLE_NUM_RANKS`. */
export async function defaultPool(): Promise<Pool> {
  if (pool !== undefined && !pool.closed) return pool;
  starting ??= createPool()
    .then((started) => (pool = started))
    // A pool that could not start is not kept.
    .finally(() => {
      starting = undefined;
    });
  return starting;
}

/** The default pool, for callers that block. Throws `BlockingError` while an asynchronous call is starting it. */
export function defaultPoolNow(operation: string): Pool {
  if (pool !== undefined && !pool.closed) return pool;
  if (starting !== undefined) {
    throw new BlockingError({
      operation,
      found: "called while an asynchronous call is starting the default pool",
      remedy: "await that call first, or give a pool",
    });
  }
  pool = createPool.sync();
  return pool;
}
