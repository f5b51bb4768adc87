/**
 * Plain data crosses as it is: what holds nothing but objects, lists, maps, sets and numbers needs no codec, and structured
 * cloning copies it fastest. It is copied once before, so that getters and proxies are asked once, and by this thread.
 */
import {
  containerKind,
  isDetached,
  isNodeBuffer,
  isPrimitive,
  isSharedBuffer,
  isView,
  primitives,
} from "./kinds.js";

/** In place of a copy: something in the value, or a way back to it, needs a codec. */
export const mixed = Symbol("mixed");

/** Copies of the plain data of one message, each made once. */
export class PlainCopies {
  readonly #claimed: (value: object) => boolean;
  readonly #copies = new Map<object, unknown>();
  /** What is being copied: a way back to one of these is a cycle. */
  readonly #open: object[] = [];
  readonly #mixed = new Set<object>();

  /** `claimed` tells what has a codec of its own, although it may look plain. */
  constructor(claimed: (value: object) => boolean) {
    this.#claimed = claimed;
  }

  /** The value's copy, or `mixed`. */
  of(value: unknown): unknown {
    if (isPrimitive(value)) return value;
    if (typeof value !== "object" || value === null) return mixed;
    const known = this.#copies.get(value);
    if (known !== undefined) return this.#open.includes(value) ? mixed : known;
    if (this.#mixed.has(value)) return mixed;
    const copy = this.#claimed(value) ? mixed : this.#copy(value);
    if (copy === mixed) {
      this.#copies.delete(value);
      this.#mixed.add(value);
    }
    return copy;
  }

  #copy(value: object): unknown {
    switch (containerKind(value)) {
      case "list":
        return this.#list(value as unknown[]);
      case "object":
        return this.#object(value);
      case "map":
        return this.#map(value as Map<unknown, unknown>);
      case "set":
        return this.#set(value as Set<unknown>);
      case "other":
        return this.#view(value);
    }
  }

  /** Makes a container known before its parts are copied. Its parts say whether all of them could be. */
  #within<T extends object>(value: object, copy: T, fill: (copy: T) => boolean): T | typeof mixed {
    this.#copies.set(value, copy);
    this.#open.push(value);
    const filled = fill(copy);
    this.#open.pop();
    return filled ? copy : mixed;
  }

  #list(value: readonly unknown[]): unknown {
    // Of the ways to copy a list, this is the one that keeps numbers together and knows of no holes where there are none.
    const copy = Object.getPrototypeOf(value) === Array.prototype ? value.slice() : [...value];
    if (primitives(copy)) {
      this.#copies.set(value, copy);
      return copy;
    }
    return this.#within(value, copy, (list) => {
      for (let i = 0; i < list.length; i++) {
        const part = this.of(list[i]);
        if (part === mixed) return false;
        list[i] = part;
      }
      return true;
    });
  }

  #object(value: object): unknown {
    if (Object.getOwnPropertySymbols(value).length > 0) return mixed;
    const own: Record<string, unknown> = { ...value };
    return this.#within(value, own, (copy) => {
      for (const key in copy) {
        const item = copy[key];
        if (isPrimitive(item) || !Object.hasOwn(copy, key)) continue;
        const part = this.of(item);
        if (part === mixed) return false;
        // Assigning to "__proto__" would not change a field.
        if (key === "__proto__") Object.defineProperty(copy, key, { value: part });
        else copy[key] = part;
      }
      return true;
    });
  }

  #map(value: Map<unknown, unknown>): unknown {
    return this.#within(value, new Map<unknown, unknown>(), (copy) => {
      for (const [key, item] of value) {
        const first = this.of(key);
        const second = this.of(item);
        if (first === mixed || second === mixed) return false;
        copy.set(first, second);
      }
      return true;
    });
  }

  #set(value: Set<unknown>): unknown {
    return this.#within(value, new Set<unknown>(), (copy) => {
      for (const item of value) {
        const part = this.of(item);
        if (part === mixed) return false;
        copy.add(part);
      }
      return true;
    });
  }

  /** Typed arrays need no copy but structured cloning's, unless there is more to them than their elements. */
  #view(value: object): unknown {
    const bare =
      isView(value) &&
      !isNodeBuffer(value) &&
      !("shape" in value) &&
      value.byteLength === value.buffer.byteLength &&
      !isSharedBuffer(value.buffer) &&
      !isDetached(value.buffer);
    if (!bare) return mixed;
    this.#copies.set(value, value);
    return value;
  }
}

/** Freezes the objects and lists of plain data; a frozen list of numbers would hold each of them by a pointer. */
export function freezePlain(value: unknown, seen = new Set<object>()): void {
  if (typeof value !== "object" || value === null) return;
  const kind = containerKind(value);
  if (kind === "list" || kind === "object") {
    const list = kind === "list" ? (value as unknown[]) : undefined;
    if (Object.isFrozen(value) || (list !== undefined && primitives(list))) return;
    Object.freeze(value);
    if (list !== undefined) for (const item of list) freezePlain(item, seen);
    else for (const key in value) freezePlain((value as Record<string, unknown>)[key], seen);
  } else if (kind !== "other" && !seen.has(value)) {
    // Maps and sets cannot be frozen, but what is in them can.
    seen.add(value);
    for (const item of value as Iterable<unknown>) freezePlain(item, seen);
  }
}
