/** What kind of thing a value is, whatever realm it is from: a test runner's `vm` has classes of its own. */

/** What the language itself calls the value: `Object`, `Map`, `Float64Array`. */
export function tagOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice(8, -1);
}

/** True for what an object literal makes. */
export function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || tagOf(value) !== "Object") return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** How a container of other values is copied; "other" are all that are none. */
export function containerKind(value: object): "list" | "object" | "map" | "set" | "other" {
  if (Array.isArray(value)) return "list";
  const prototype: unknown = Object.getPrototypeOf(value);
  // Most are objects of this realm, which need not be asked for their tag.
  if (prototype === Object.prototype || prototype === null) return "object";
  switch (tagOf(value)) {
    case "Object":
      return isPlain(value) ? "object" : "other";
    case "Map":
      return "map";
    case "Set":
      return "set";
    default:
      return "other";
  }
}

/** True for values that structured cloning copies as they are, and that have no identity. */
export function isPrimitive(value: unknown): boolean {
  switch (typeof value) {
    case "string":
    case "number":
    case "boolean":
    case "bigint":
    case "undefined":
      return true;
    default:
      return value === null;
  }
}

/** True for a buffer whose memory was transferred away. */
export function isDetached(buffer: ArrayBufferLike): boolean {
  if (buffer.byteLength > 0) return false;
  try {
    return new Uint8Array(buffer).length > 0; // Of a buffer that is there: false.
  } catch {
    return true;
  }
}

/** True if all of a list's elements are primitives; a hole is one. */
export function primitives(list: readonly unknown[]): boolean {
  // Not a loop: indexing lists of many kinds at one place makes engines turn lists of plain numbers into lists of pointers.
  return list.every(isPrimitive);
}

const viewClasses = {
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
};

/** A typed array. */
export type View = InstanceType<(typeof viewClasses)[keyof typeof viewClasses]>;

export function isView(value: unknown): value is View {
  return ArrayBuffer.isView(value) && !(value instanceof DataView) && tagOf(value) in viewClasses;
}

export function isSharedBuffer(value: unknown): boolean {
  return tagOf(value) === "SharedArrayBuffer";
}

/** Node's own subclass of `Uint8Array`. */
export function isNodeBuffer(value: unknown): boolean {
  return typeof Buffer !== "undefined" && Buffer.isBuffer(value);
}
