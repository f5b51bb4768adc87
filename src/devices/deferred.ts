/**
 * A device for tests that stands in for a GPU: it has memory of its own, and everything it does takes effect a turn of
 * the event loop later. Code that takes for granted that a device is done when its call returns fails here.
 */
import { MemoryError } from "../base/errors.js";
import { Allocator, granule } from "../heap/allocator.js";
import type { Backend } from "../ir/executable.js";
import type { Device } from "./device.js";

const pageBytes = 65_536;
const mostPages = 16_384;

function later(effect: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    setImmediate(() => {
      try {
        effect();
        resolve();
      } catch (error) {
        reject(error instanceof Error ? error : new Error(String(error)));
      }
    });
  });
}

/** A device that runs a backend's programs in private memory, a turn later. */
export function deferredDevice(backend: Backend): Device {
  const memory = new WebAssembly.Memory({ initial: 1, maximum: mostPages, shared: true });
  const allocator = new Allocator(granule, pageBytes);
  const bytesAt = (address: number, length: number): Uint8Array =>
    new Uint8Array(memory.buffer, address, length);
  return {
    kind: "deferred",
    backend: backend.name,
    sharesHeap: false,
    compile: (graph) => backend.compile(graph),
    bind: (executable, places) => {
      // Growing a private memory detaches its buffer, so programs are bound anew when that has happened.
      let buffer = memory.buffer;
      let step = executable.bind(memory, places);
      return () =>
        later(() => {
          if (memory.buffer !== buffer) {
            buffer = memory.buffer;
            step = executable.bind(memory, places);
          }
          step();
        });
    },
    reserve: (bytes) => {
      let address = allocator.take(bytes);
      if (address === undefined) {
        const pages = Math.ceil(allocator.shortfall(bytes) / pageBytes);
        try {
          memory.grow(pages);
        } catch (cause) {
          throw new MemoryError({
            operation: "deferred device",
            found: `${bytes} bytes more than it has`,
            cause,
          });
        }
        allocator.extend(memory.buffer.byteLength);
        address = allocator.take(bytes);
      }
      if (address === undefined)
        throw new MemoryError({ operation: "deferred device", found: `${bytes} bytes` });
      return address;
    },
    release: (address) => {
      allocator.give(address);
    },
    write: (address, bytes) => {
      const copy = bytes.slice();
      return later(() => bytesAt(address, copy.length).set(copy));
    },
    read: (address, into) => later(() => into.set(bytesAt(address, into.length))),
    close: () => later(() => {}),
  };
}
