/**
 * The entry point of a rank's thread. Plans need little of the library, so that ranks start quickly; all of it is loaded
 * before the first loop body runs, which may have been given any of heddle's exports.
 */
import type { RankInfo } from "../src/transports/service.js";
import type { ThreadStart } from "../src/transports/threads.js";
import { serveRank } from "../src/rank/serve.js";

/** Piscina calls this once per thread. */
export function start(task: ThreadStart): RankInfo {
  return serveRank(task, async () => {
    await import("../src/index.js");
  });
}
