/** The codecs that come with heddle: plain data, the language's own containers, memory, and functions. */
import type { Codec, EncodeContext } from "./codec.js";
import { registerKind, registerOwnCodec } from "./codec.js";
import type { ErrorWire } from "./error-wire.js";
import { errorFromWire, errorToWire } from "./error-wire.js";
import { builtinNamed, builtinNameOf } from "./builtins.js";
import { exportNamed, nameOfExport } from "./exports.js";
import type { FunctionWire } from "./functions.js";
import { functionWire, make } from "./functions.js";
import { globalAt, globalPathOf } from "./globals.js";
import type { View } from "./kinds.js";
import { isDetached, isNodeBuffer, isPlain, isSharedBuffer, isView, tagOf } from "./kinds.js";
import type { AnyFunction } from "./source.js";

// Asked last: registered first.

const plainObject: Codec<Record<string, unknown>> = {
  name: "object",
  test: isPlain,
  encode: (value, context) => {
    const symbols = Object.getOwnPropertySymbols(value);
    if (symbols.length > 0) context.refuse("an object with symbols for keys", "use strings for keys");
    return Object.entries(value).map(([key, item]) => [key, context.encode(item, `.${key}`)]);
  },
  decode: (data, context) => {
    const value: Record<string, unknown> = {};
    context.hold(value);
    for (const [key, item] of data as [string, unknown][]) {
      // Assigning to "__proto__" would not add a field.
      Object.defineProperty(value, key, {
        value: context.decode(item),
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    return context.freeze(value);
  },
};

const array: Codec<unknown[]> = {
  name: "array",
  test: (value) => Array.isArray(value),
  encode: (value, context) => value.map((item, position) => context.encode(item, `[${position}]`)),
  decode: (data, context) => {
    const value: unknown[] = [];
    context.hold(value);
    for (const item of data as unknown[]) value.push(context.decode(item));
    return context.freeze(value);
  },
};

const date: Codec<Date> = {
  name: "Date",
  test: (value) => tagOf(value) === "Date",
  encode: (value) => value.getTime(),
  decode: (data) => new Date(data as number),
};

const regExp: Codec<RegExp> = {
  name: "RegExp",
  test: (value) => tagOf(value) === "RegExp",
  encode: ({ source, flags }) => [source, flags],
  decode: (data) => {
    const [source, flags] = data as [string, string];
    return new RegExp(source, flags);
  },
};

const map: Codec<Map<unknown, unknown>> = {
  name: "Map",
  test: (value) => tagOf(value) === "Map",
  encode: (value, context) =>
    [...value].map(([key, item], position) => [
      context.encode(key, `.keys()[${position}]`),
      context.encode(item, `.get(${typeof key === "string" ? JSON.stringify(key) : `key ${position}`})`),
    ]),
  decode: (data, context) => {
    const value = new Map<unknown, unknown>();
    context.hold(value);
    for (const [key, item] of data as [unknown, unknown][])
      value.set(context.decode(key), context.decode(item));
    return value;
  },
};

const set: Codec<Set<unknown>> = {
  name: "Set",
  test: (value) => tagOf(value) === "Set",
  encode: (value, context) =>
    [...value].map((item, position) => context.encode(item, `.values()[${position}]`)),
  decode: (data, context) => {
    const value = new Set<unknown>();
    context.hold(value);
    for (const item of data as unknown[]) value.add(context.decode(item));
    return value;
  },
};

const error: Codec = {
  name: "Error",
  test: (value) => tagOf(value) === "Error",
  encode: (value) => errorToWire(value),
  decode: (data) => errorFromWire(data as ErrorWire),
};

/** Refuses memory that is not there any more. */
function requireAttached(memory: ArrayBufferLike, context: EncodeContext): void {
  if (!isDetached(memory)) return;
  context.refuse("memory that was transferred away", "pass a copy that was made before, or what took it");
}

const buffer: Codec<ArrayBuffer> = {
  name: "ArrayBuffer",
  test: (value) => tagOf(value) === "ArrayBuffer",
  encode: (value, context) => {
    requireAttached(value, context);
    return value;
  },
  decode: (data) => data as ArrayBuffer,
};

const sharedBuffer: Codec<SharedArrayBuffer> = {
  name: "SharedArrayBuffer",
  test: isSharedBuffer,
  shared: () => true,
  encode: (value) => value,
  decode: (data) => data as SharedArrayBuffer,
};

/** Typed arrays; on shared memory they are the same memory on the other side, otherwise copies. */
const typedArray: Codec<View & { readonly shape?: readonly number[] }> = {
  name: "TypedArray",
  test: isView,
  shared: (value) => isSharedBuffer(value.buffer),
  encode: (value, context) => {
    requireAttached(value.buffer, context);
    // A view of a part would take all of its buffer along.
    const part = !isSharedBuffer(value.buffer) && value.byteLength < value.buffer.byteLength;
    return [part ? value.slice() : value, isNodeBuffer(value), value.shape];
  },
  decode: (data) => {
    const [value, isBuffer, shape] = data as [View, boolean, readonly number[] | undefined];
    if (shape !== undefined) Object.defineProperty(value, "shape", { value: shape });
    return isBuffer ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value;
  },
};

const dataView: Codec<DataView> = {
  name: "DataView",
  test: (value) => tagOf(value) === "DataView",
  shared: (value) => isSharedBuffer(value.buffer),
  encode: (value, context) => {
    requireAttached(value.buffer, context);
    return value;
  },
  decode: (data) => data as DataView,
};

const fn: Codec<AnyFunction> = {
  name: "function",
  test: (value) => typeof value === "function",
  encode: (value, context) => functionWire(value, context),
  decode: (data, context) => {
    const wire = data as FunctionWire;
    const { fn: made, bind } = make(wire);
    context.hold(made);
    bind(wire.values.map((value) => context.decode(value)));
    return made;
  },
};

/** What every thread has by itself: `Math.sin`, `Array`, `structuredClone`. */
const intrinsic: Codec = {
  name: "global",
  test: (value) =>
    (typeof value === "function" || typeof value === "object") && globalPathOf(value) !== undefined,
  encode: (value) => globalPathOf(value),
  decode: (data) => globalAt(data as string),
};

const heddleExport: Codec = {
  name: "heddle",
  test: (value) => nameOfExport(value) !== undefined,
  encode: (value) => nameOfExport(value),
  decode: (data) => exportNamed(data as string),
};

/** `readFileSync`, `path`, and what else Node itself has. */
const builtin: Codec = {
  name: "builtin",
  test: (value) =>
    (typeof value === "function" || (isPlain(value) && Object.keys(value).length > 8)) &&
    builtinNameOf(value) !== undefined,
  encode: (value) => builtinNameOf(value),
  decode: (data) => builtinNamed(data as string),
};

let registered = false;

/** Registers heddle's own codecs, once per thread. */
export function registerBuiltInCodecs(): void {
  if (registered) return;
  registered = true;
  registerKind(plainObject);
  registerKind(array);
  registerKind(date);
  registerKind(regExp);
  registerKind(map);
  registerKind(set);
  registerKind(error);
  registerKind(buffer);
  registerKind(sharedBuffer);
  registerKind(typedArray);
  registerKind(dataView);
  registerKind(fn);
  registerOwnCodec(builtin);
  registerOwnCodec(intrinsic);
  registerOwnCodec(heddleExport);
}
registerBuiltInCodecs();
