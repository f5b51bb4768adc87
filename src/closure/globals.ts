/** Names that mean the same on every thread: the language's own globals, and Node's that worker threads have. */

const names = `
AbortController AbortSignal AggregateError Array ArrayBuffer Atomics BigInt BigInt64Array BigUint64Array Blob Boolean
BroadcastChannel Buffer ByteLengthQueuingStrategy CompressionStream CountQueuingStrategy Crypto CryptoKey CustomEvent
DOMException DataView Date DecompressionStream Error EvalError Event EventTarget FinalizationRegistry Float16Array
Float32Array Float64Array FormData Function Headers Infinity Int16Array Int32Array Int8Array Intl Iterator JSON Map Math
MessageChannel MessageEvent MessagePort NaN Number Object Performance Promise Proxy RangeError ReadableStream
ReferenceError Reflect RegExp Request Response Set SharedArrayBuffer String SubtleCrypto Symbol SyntaxError TextDecoder
TextDecoderStream TextEncoder TextEncoderStream TransformStream TypeError URIError URL URLSearchParams Uint16Array
Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet WebAssembly WritableStream arguments atob btoa
clearImmediate clearInterval clearTimeout console crypto decodeURI decodeURIComponent encodeURI encodeURIComponent escape
eval fetch global globalThis isFinite isNaN navigator parseFloat parseInt performance process queueMicrotask setImmediate
setInterval setTimeout structuredClone undefined unescape
`;

/** Names that a function may use without bringing them along. */
export const globalNames: ReadonlySet<string> = new Set(names.trim().split(/\s+/));

/** Those that are the language's own: nobody gives these names to something else, so no scope is searched for them. */
export const intrinsicNames: ReadonlySet<string> = new Set(
  `Array ArrayBuffer Atomics BigInt BigInt64Array BigUint64Array Boolean DataView Date Error EvalError Float32Array
  Float64Array Function Infinity Int16Array Int32Array Int8Array JSON Map Math NaN Number Object Promise Proxy RangeError
  ReferenceError Reflect RegExp Set SharedArrayBuffer String Symbol SyntaxError TypeError URIError Uint16Array Uint32Array
  Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet arguments globalThis undefined`.split(/\s+/),
);

/** Functions and objects that every thread has under a global path, such as `Math.sin`. */
const paths = new Map<unknown, string>();

function note(value: unknown, path: string): void {
  if ((typeof value === "function" || (typeof value === "object" && value !== null)) && !paths.has(value)) {
    paths.set(value, path);
  }
}

/** The global path of a value that every thread has. */
export function globalPathOf(value: unknown): string | undefined {
  if (paths.size === 0) {
    for (const name of globalNames) {
      const descriptor = Object.getOwnPropertyDescriptor(globalThis, name);
      if (descriptor !== undefined && "value" in descriptor) note(descriptor.value, name);
    }
    for (const [owner, path] of [...paths]) {
      for (const [key, { value }] of Object.entries(Object.getOwnPropertyDescriptors(owner as object))) {
        // What is written in JavaScript crosses by its source.
        if (typeof value === "function" && key !== "constructor" && intrinsicNames.has(path)) {
          note(value, `${path}.${key}`);
        }
      }
    }
    // The global object itself would take everything along.
    paths.delete(globalThis);
  }
  return paths.get(value);
}

/** The value at a global path. */
export function globalAt(path: string): unknown {
  return path.split(".").reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], globalThis); // By `globalPathOf`.
}
