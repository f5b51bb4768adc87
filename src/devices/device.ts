/**
 * A device is what a rank computes with. Programs of a device that shares the heap read and write it in place; other
 * devices have memory of their own, and data is copied in and out. What may take time may answer with a promise, and
 * whoever uses a device must be ready for it.
 */
import type { DeviceKind } from "../base/device-kind.js";
import type { Executable, Placement } from "../ir/executable.js";
import type { Graph } from "../ir/graph.js";

/** A bound program: runs once per call. */
export type DeviceStep = () => void | Promise<void>;

/** Where a program's arguments lie: addresses of the heap if the device shares it, else of the device's memory. */
export interface DevicePlaces {
  readonly inputs: readonly Placement[];
  readonly outputs: readonly Placement[];
  readonly workspace: number;
}

export interface Device {
  readonly kind: DeviceKind;
  /** The backend that compiles for it. */
  readonly backend: string;
  readonly sharesHeap: boolean;
  compile(graph: Graph): Executable | Promise<Executable>;
  bind(executable: Executable, places: DevicePlaces): DeviceStep;
  /** Memory of its own; only asked of devices that do not share the heap. */
  reserve(bytes: number): number;
  release(address: number): void;
  /** Copies bytes into memory at an address, and out of it. */
  write(address: number, bytes: Uint8Array): void | Promise<void>;
  read(address: number, into: Uint8Array): void | Promise<void>;
  close(): void | Promise<void>;
}
