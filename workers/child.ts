/** The entry point of a rank's own process, and of the thread in it that waits for the rank's end. */
import { isMainThread } from "node:worker_threads";
import type { DeviceKind } from "../src/base/device-kind.js";
import { serveProcess, watchLine } from "../src/rank/child.js";

watchLine(new URL(import.meta.url));
if (isMainThread) {
  const [kind, rank] = process.argv.slice(2);
  // What `ProcessDevice.start` starts this process with.
  serveProcess(kind as DeviceKind, Number(rank), async () => {
    await import("../src/index.js");
  });
}
