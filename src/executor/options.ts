/** Reads and checks what a pool is asked to be. The environment is looked at here and nowhere else. */
import { availableParallelism } from "node:os";
import type { DeviceKind } from "../base/device-kind.js";
import { deviceKinds } from "../base/device-kind.js";
import { ArgumentError } from "../base/errors.js";
import { requireKnownOptions } from "../base/options.js";
import type { PoolEvent } from "./events.js";

/** What a rank is asked to be. */
export interface RankRequest {
  /** `"auto"` is the best device that this version has: `"wasm"`. */
  readonly device?: "auto" | DeviceKind;
}

/** How a pool is made. */
export interface PoolOptions {
  /**
   * How many ranks, or a request for each. Default: `HEDDLE_NUM_RANKS`, or else the number of processors that the
   * process may use.
   */
  readonly ranks?: number | readonly RankRequest[];
  /** The device of ranks that do not name one. Default: `HEDDLE_DEVICE`, or else `"auto"`. */
  readonly device?: "auto" | DeviceKind;
  /** Ranks take turns in the calling thread, in a fixed order: for tests and for stepping through with a debugger. */
  readonly inProcess?: boolean;
  /**
   * `"process"`: each rank computes in a process of its own, so that one that runs out of memory, or whose driver fails,
   * takes nobody with it. Everything is copied there and back; bodies cannot capture shared memory, nor objectives, whose
   * data lies there. Default: `HEDDLE_ISOLATION`, or else `"thread"`.
   */
  readonly isolation?: "thread" | "process";
  /** Bytes that a rank's buffers may take per plan. Default: 1 GiB. */
  readonly memory?: number;
  /**
   * Bytes of the shared heap that the pool may use. Objectives whose coefficients, constants and results need more are
   * evaluated in waves of chunks, with the same bits. Default: all that 32-bit addresses reach, 4 GiB for all pools.
   */
  readonly heap?: number;
  /**
   * Bytes of JavaScript objects that the bodies of loops may keep on a rank; with more, the rank is lost. Default: what
   * Node gives a thread, which is gigabytes and takes long to fill. It bounds no typed arrays.
   */
  readonly scriptHeap?: number;
  /**
   * Steps of a plan that compute less than waking the ranks costs, by measurement, are carried out by the calling thread
   * alone: the same programs in the same memory, with the same bits. `false`: ranks take part in every step. Default: true.
   */
  readonly inline?: boolean;
  /** Closes the pool when aborted. */
  readonly signal?: AbortSignal;
  /**
   * A file for what ranks and the calling thread did and when, as chrome://tracing and Perfetto read it. It is written when
   * the pool closes, and when the program ends without closing it. Default: `HEDDLE_TRACE`, or else none.
   */
  readonly trace?: string;
  /** Told of what happens to the pool's ranks. */
  readonly onEvent?: (event: PoolEvent) => void;
}

/** A pool's settings with every default filled in. */
export interface PoolSettings {
  readonly devices: readonly DeviceKind[];
  readonly inProcess: boolean;
  readonly isolation: "thread" | "process";
  readonly memory: number;
  readonly heap: number | undefined;
  readonly scriptHeap: number | undefined;
  readonly inline: boolean;
  readonly signal: AbortSignal | undefined;
  readonly trace: string | undefined;
  readonly onEvent: ((event: PoolEvent) => void) | undefined;
}

const mostRanks = 1024;
const defaultMemory = 2 ** 30;
/** With less, there is no room for chunks beside the words of ranks. */
const leastHeap = 2 ** 20;
/** With less, a rank could not even load the library. */
const leastScriptHeap = 16 * 2 ** 20;

function refuse(argument: string, found: unknown, expected: string, remedy?: string): never {
  throw new ArgumentError({
    operation: "createPool",
    argument,
    found: typeof found === "string" ? JSON.stringify(found) : String(found),
    expected,
    ...(remedy === undefined ? {} : { remedy }),
  });
}

function resolveDevice(argument: string, device: unknown): DeviceKind {
  if (device === "auto") return "wasm";
  const kind = deviceKinds.find((known) => known === device);
  if (kind !== undefined) return kind;
  if (device === "webgpu" || device === "native") {
    refuse(argument, device, "a device that this version has", 'it comes with a later version; use "wasm"');
  }
  refuse(argument, device, `"auto" or one of ${deviceKinds.join(", ")}`);
}

function resolveIsolation(
  given: unknown,
  fallback: string | undefined,
  inProcess: boolean,
): "thread" | "process" {
  const argument = given === undefined ? "HEDDLE_ISOLATION" : "isolation";
  const isolation = given ?? (fallback === undefined || fallback === "" ? "thread" : fallback);
  if (isolation !== "thread" && isolation !== "process") {
    return refuse(argument, isolation, '"thread" or "process"');
  }
  if (isolation === "thread" || !inProcess) return isolation;
  // What only supplies defaults does not forbid what was asked for.
  if (given === undefined) return "thread";
  return refuse(argument, isolation, '"thread" for a pool that is in-process', "leave one of the two out");
}

function resolveCount(argument: string, count: number): number {
  if (!Number.isSafeInteger(count) || count < 1 || count > mostRanks) {
    refuse(argument, count, `an integer from 1 to ${mostRanks}`);
  }
  return count;
}

/** Fills in defaults and refuses what no pool can be. */
export function resolveOptions(
  options: PoolOptions,
  environment: NodeJS.ProcessEnv = process.env,
): PoolSettings {
  requireKnownOptions("createPool", options, [
    "ranks",
    "device",
    "inProcess",
    "isolation",
    "memory",
    "heap",
    "scriptHeap",
    "inline",
    "trace",
    "signal",
    "onEvent",
  ]);
  const {
    memory = defaultMemory,
    heap,
    scriptHeap,
    inline = true,
    signal,
    onEvent,
    inProcess = false,
  } = options;
  const isolation = resolveIsolation(options.isolation, environment["HEDDLE_ISOLATION"], inProcess);
  const environmentDevice = environment["HEDDLE_DEVICE"];
  const fallback =
    options.device !== undefined
      ? resolveDevice("device", options.device)
      : environmentDevice !== undefined && environmentDevice !== ""
        ? resolveDevice("HEDDLE_DEVICE", environmentDevice)
        : resolveDevice("device", "auto");
  const environmentRanks = environment["HEDDLE_NUM_RANKS"];
  const ranks =
    options.ranks ??
    (environmentRanks !== undefined && environmentRanks !== ""
      ? resolveCount("HEDDLE_NUM_RANKS", Number(environmentRanks))
      : availableParallelism());
  if (!Number.isSafeInteger(memory) || memory < 0) refuse("memory", memory, "a number of bytes");
  if (heap !== undefined && !(Number.isSafeInteger(heap) && heap >= leastHeap)) {
    refuse("heap", heap, `a whole number of bytes, at least ${leastHeap}`);
  }
  if (typeof inProcess !== "boolean") refuse("inProcess", inProcess, "true or false");
  if (scriptHeap !== undefined && !(Number.isSafeInteger(scriptHeap) && scriptHeap >= leastScriptHeap)) {
    refuse("scriptHeap", scriptHeap, `a whole number of bytes, at least ${leastScriptHeap}`);
  }
  if (typeof inline !== "boolean") refuse("inline", inline, "true or false");
  if (signal !== undefined && !(signal instanceof AbortSignal)) refuse("signal", signal, "an AbortSignal");
  const environmentTrace = environment["HEDDLE_TRACE"];
  const trace = options.trace ?? (environmentTrace === "" ? undefined : environmentTrace);
  if (trace !== undefined && (typeof trace !== "string" || trace === ""))
    refuse("trace", trace, "a file's path");
  if (onEvent !== undefined && typeof onEvent !== "function") refuse("onEvent", onEvent, "a function");
  let devices: DeviceKind[];
  if (typeof ranks === "number") {
    devices = new Array<DeviceKind>(resolveCount("ranks", ranks)).fill(fallback);
  } else {
    if (!Array.isArray(ranks)) refuse("ranks", ranks, "a number or a list of rank requests");
    const requests: readonly RankRequest[] = ranks;
    resolveCount("ranks", requests.length);
    devices = requests.map(({ device }, rank) =>
      device === undefined ? fallback : resolveDevice(`ranks[${rank}].device`, device),
    );
  }
  return { devices, inProcess, isolation, memory, heap, scriptHeap, inline, signal, trace, onEvent };
}
