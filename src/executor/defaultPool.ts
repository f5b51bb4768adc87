/** The pool of calls that name none: made when it is first needed, kept, and never what keeps a process alive. */
import { createPool } from "./pool.js";
import type { Pool } from "./pool.js";

let pool: Promise<Pool> | undefined;

/** The default pool; a new one, if the last was closed. Its size is set by `HEDDLE_NUM_RANKS`. */
export async function defaultPool(): Promise<Pool> {
  if (pool === undefined || (await pool).closed) {
    pool = createPool();
    // A pool that could not start is not kept.
    pool.catch(() => {
      pool = undefined;
    });
  }
  return pool;
}
