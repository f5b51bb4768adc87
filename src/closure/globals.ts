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
