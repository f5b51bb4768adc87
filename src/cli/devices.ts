/** What ranks can compute with on this machine. */
import { availableParallelism, cpus, totalmem } from "node:os";
import { formatTable } from "../base/table.js";

/** A kind of device, and whether it can be had. */
export interface DeviceListing {
  readonly kind: "wasm" | "native" | "webgpu";
  readonly available: boolean;
  readonly dtypes: readonly string[];
  /** What is to be known of it, or why it cannot be had. */
  readonly note: string;
}

/** This machine, as ranks see it. */
export interface MachineListing {
  readonly node: string;
  readonly platform: string;
  readonly processor: string;
  readonly processors: number;
  /** Bytes. */
  readonly memory: number;
  readonly devices: readonly DeviceListing[];
}

/** The smallest module that uses a relaxed instruction: one function that computes `f64x2.relaxed_madd` of constants. */
const relaxed = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 10, 19, 1, 17, 0, 65, 0, 253, 20, 65, 0, 253,
  20, 65, 0, 253, 20, 253, 135, 2, 26, 11,
]);

/** Lists the kinds of devices. */
export function listDevices(): MachineListing {
  const fma = WebAssembly.validate(relaxed);
  return {
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    processor: cpus()[0]?.model ?? "unknown",
    processors: availableParallelism(),
    memory: totalmem(),
    devices: [
      {
        kind: "wasm",
        available: true,
        dtypes: ["float64", "float32", "int32", "uint32", "bool"],
        note: `128-bit SIMD, shared memory; the engine ${fma ? "has" : "has no"} relaxed SIMD, which is not used yet`,
      },
      { kind: "native", available: false, dtypes: [], note: "comes with a later version of heddle" },
      { kind: "webgpu", available: false, dtypes: [], note: "comes with a later version of heddle" },
    ],
  };
}

/** The list as text. */
export function formatDevices(machine: MachineListing): string {
  const gigabytes = (machine.memory / 2 ** 30).toFixed(1);
  const table = formatTable(
    ["device", "available", "dtypes", "note"],
    machine.devices.map(({ kind, available, dtypes, note }) => [
      kind,
      available ? "yes" : "no",
      dtypes.join(" ") || "-",
      note,
    ]),
    "left",
  );
  return [
    `Node ${machine.node}, ${machine.platform}, ${machine.processors} processors (${machine.processor}), ${gigabytes} GiB`,
    "",
    table,
  ].join("\n");
}
