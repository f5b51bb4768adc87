/** The CPU as a device: a backend's programs, run by the calling thread in the shared heap. */
import type { DeviceKind } from "../base/device-kind.js";
import { HeddleError } from "../base/errors.js";
import { freshBuffer } from "../heap/heap.js";
import type { Backend } from "../ir/executable.js";
import type { Device } from "./device.js";

/** A device that runs a backend's programs where it is called. */
export function cpuDevice(kind: DeviceKind, backend: Backend, heap: WebAssembly.Memory): Device {
  const bytesAt = (address: number, length: number): Uint8Array =>
    new Uint8Array(freshBuffer(heap, address + length), address, length);
  return {
    kind,
    backend: backend.name,
    sharesHeap: true,
    compile: (graph) => backend.compile(graph),
    bind: (executable, places) => executable.bind(heap, places),
    reserve: () => {
      throw new HeddleError("HEDDLE_INTERNAL", "a device that shares the heap has no memory of its own");
    },
    release: () => {},
    write: (address, bytes) => bytesAt(address, bytes.length).set(bytes),
    read: (address, into) => into.set(bytesAt(address, into.length)),
    close: () => {},
  };
}
