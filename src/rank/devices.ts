/** Which backend serves which kind of device: the place where devices and backends meet. */
import type { DeviceKind } from "../base/device-kind.js";
import { referenceBackend } from "../backends/reference/interpret.js";
import { WasmBackend } from "../backends/wasm/backend.js";
import { cpuDevice } from "../devices/cpu.js";
import { deferredDevice } from "../devices/deferred.js";
import type { Device } from "../devices/device.js";

const table: Readonly<Record<DeviceKind, (heap: WebAssembly.Memory) => Device>> = {
  wasm: (heap) => cpuDevice("wasm", new WasmBackend(), heap),
  reference: (heap) => cpuDevice("reference", referenceBackend, heap),
  deferred: () => deferredDevice(new WasmBackend()),
};

/** A new device for a rank whose shared heap is `heap`. */
export function createDevice(kind: DeviceKind, heap: WebAssembly.Memory): Device {
  return table[kind](heap);
}

/** True if programs on such a device work in the shared heap in place. */
export function sharesHeap(kind: DeviceKind): boolean {
  return kind !== "deferred";
}
