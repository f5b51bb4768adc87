/**
 * Other ways to hand work to threads and wait for it: what Node offers, and what its best known pools make of it. Each is
 * asked to do nothing, on all of its threads.
 */
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type { Endpoint, Remote } from "comlink";
import { releaseProxy, wrap } from "comlink";
import { Piscina } from "piscina";
import { Barrier } from "./barrier.js";
import type { Contestant } from "./interleaved.js";
import { installation, loadPeer, peerPath } from "./peers.js";

/** Something to compare with. */
export interface Rival extends Contestant {
  readonly close: () => Promise<void>;
}

/** One that could not be had. */
export interface MissingRival {
  readonly name: string;
  readonly missing: string;
}

const each = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);

function postMessageRival(threads: number): Rival {
  const source = `const { parentPort } = require("node:worker_threads");
    parentPort.on("message", (m) => parentPort.postMessage(m));`;
  const workers = each(threads, () => new Worker(source, { eval: true }));
  const ask = (worker: Worker): Promise<unknown> =>
    new Promise((resolve) => {
      worker.once("message", resolve);
      worker.postMessage(0);
    });
  return {
    name: "postMessage",
    call: () => Promise.all(workers.map(ask)),
    close: async () => {
      await Promise.all(workers.map((worker) => worker.terminate()));
    },
  };
}

function piscinaRival(threads: number): Rival {
  const filename = fileURLToPath(new URL("piscinaTask.js", import.meta.url));
  const piscina = new Piscina({ filename, minThreads: threads, maxThreads: threads });
  return {
    name: "piscina",
    call: () => Promise.all(each(threads, () => piscina.run(0))),
    close: () => piscina.destroy(),
  };
}

interface Empty {
  empty(value: number): number;
}

function comlinkRival(threads: number): Rival {
  const require = createRequire(import.meta.url);
  const adapter = "comlink/dist/umd/node-adapter";
  // The adapter's own declaration names it a default export, which it is not when it is required.
  const nodeEndpoint = require(adapter) as (worker: Worker) => Endpoint;
  const source = `
    const { parentPort, workerData: { comlink, adapter } } = require("node:worker_threads");
    require(comlink).expose({ empty: (value) => value }, require(adapter)(parentPort));`;
  const workerData = { comlink: require.resolve("comlink"), adapter: require.resolve(adapter) };
  const workers = each(threads, () => new Worker(source, { eval: true, workerData }));
  const remotes = workers.map((worker): Remote<Empty> => wrap<Empty>(nodeEndpoint(worker)));
  return {
    name: "comlink",
    call: () => Promise.all(remotes.map((remote) => remote.empty(0))),
    close: async () => {
      for (const remote of remotes) remote[releaseProxy]();
      await Promise.all(workers.map((worker) => worker.terminate()));
    },
  };
}

/** The part of workerpool's interface that is used here. */
interface Workerpool {
  pool(
    script: string,
    options: object,
  ): { exec(method: string, args: unknown[]): PromiseLike<unknown>; terminate(): PromiseLike<unknown> };
}

function workerpoolRival(threads: number): Rival | MissingRival {
  const name = "workerpool";
  const path = peerPath(name);
  if (path === undefined) return { name, missing: installation };
  // By workerpool's documentation; its own declarations are there only where it is installed.
  const pool = (loadPeer(path) as Workerpool).pool(
    fileURLToPath(new URL("workerpoolTask.js", import.meta.url)),
    { minWorkers: threads, maxWorkers: threads, workerType: "thread" },
  );
  return {
    name,
    call: () => Promise.all(each(threads, () => pool.exec("empty", [0]))),
    close: async () => {
      await pool.terminate();
    },
  };
}

function barrierRival(threads: number): Rival {
  const barrier = new Barrier(threads);
  return { name: "barrier in shared memory", call: () => barrier.step(), close: () => barrier.close() };
}

/** All of them, on a number of threads. */
export function rivals(threads: number): (Rival | MissingRival)[] {
  return [barrierRival, postMessageRival, piscinaRival, workerpoolRival, comlinkRival].map((make) =>
    make(threads),
  );
}
