/**
 * The entry point of a rank's thread. Plans need little of the library, so that ranks start quickly; all of it is loaded
 * before the first loop body runs, which may have been given any of heddle's exports.
 *
 * The await at the top keeps this an ES module: Piscina tries `require` first, and where that succeeds (newer Nodes, and
 * loaders that translate modules) the library would exist twice in this thread.
 */
import type { RankStart } from "../src/transports/control.js";
import type { RankInfo } from "../src/transports/service.js";

const { serveRank } = await import("../src/rank/serve.js");

/** Piscina calls this once per thread. */
export async function start(task: RankStart): Promise<RankInfo> {
  return serveRank(task, async () => {
    await import("../src/index.js");
  });
}
