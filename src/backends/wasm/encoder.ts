/**
 * The WebAssembly binary format, as much of it as kernels need: integers in LEB128, one memory imported as shared,
 * imported functions, exported functions.
 */

/** The types of values on WebAssembly's stack. */
export const valueType = { i32: 0x7f, i64: 0x7e, f32: 0x7d, f64: 0x7c, v128: 0x7b } as const;

/** The name of a type of a value. */
export type ValueType = keyof typeof valueType;

/** Appends an unsigned integer. */
export function pushUnsigned(bytes: number[], value: number): void {
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  bytes.push(rest);
}

/** Appends a signed 32-bit integer. */
export function pushSigned(bytes: number[], value: number): void {
  let rest = value | 0;
  for (;;) {
    const byte = rest & 0x7f;
    rest >>= 7;
    if ((rest === 0 && (byte & 0x40) === 0) || (rest === -1 && (byte & 0x40) !== 0)) {
      bytes.push(byte);
      return;
    }
    bytes.push(byte | 0x80);
  }
}

const scratch = new DataView(new ArrayBuffer(8));

/** Appends eight bytes of an f64. */
export function pushFloat64(bytes: number[], value: number): void {
  scratch.setFloat64(0, value, true);
  for (let i = 0; i < 8; i++) bytes.push(scratch.getUint8(i));
}

/** Appends four bytes of an f32. */
export function pushFloat32(bytes: number[], value: number): void {
  scratch.setFloat32(0, value, true);
  for (let i = 0; i < 4; i++) bytes.push(scratch.getUint8(i));
}

function pushName(bytes: number[], name: string): void {
  const text = new TextEncoder().encode(name);
  pushUnsigned(bytes, text.length);
  for (const byte of text) bytes.push(byte);
}

/** The type of a function. */
export interface Signature {
  readonly parameters: readonly ValueType[];
  readonly results: readonly ValueType[];
}

/** A function with its body, less the final `end`. */
export interface FunctionBody {
  readonly name: string;
  readonly signature: Signature;
  /** The types of the locals after the parameters. */
  readonly locals: readonly ValueType[];
  readonly code: readonly number[];
}

/** A function of the host. */
export interface FunctionImport {
  readonly name: string;
  readonly signature: Signature;
}

function section(out: number[], id: number, entries: readonly (readonly number[])[]): void {
  if (entries.length === 0) return;
  const content: number[] = [];
  pushUnsigned(content, entries.length);
  for (const entry of entries) for (const byte of entry) content.push(byte);
  out.push(id);
  pushUnsigned(out, content.length);
  for (const byte of content) out.push(byte);
}

function encodeBody(body: FunctionBody): number[] {
  const runs: { type: ValueType; count: number }[] = [];
  for (const type of body.locals) {
    const last = runs[runs.length - 1];
    if (last?.type === type) last.count++;
    else runs.push({ type, count: 1 });
  }
  const content: number[] = [];
  pushUnsigned(content, runs.length);
  for (const { type, count } of runs) {
    pushUnsigned(content, count);
    content.push(valueType[type]);
  }
  for (const byte of body.code) content.push(byte);
  content.push(0x0b);
  const bytes: number[] = [];
  pushUnsigned(bytes, content.length);
  for (const byte of content) bytes.push(byte);
  return bytes;
}

/** The bytes of a module that imports `m.memory` (shared) and the functions `f.*`, and exports its own functions. */
export function encodeModule(
  imports: readonly FunctionImport[],
  functions: readonly FunctionBody[],
): Uint8Array<ArrayBuffer> {
  const types: number[][] = [];
  const typeIndex = new Map<string, number>();
  const typeOf = ({ parameters, results }: Signature): number => {
    const bytes = [0x60];
    for (const list of [parameters, results]) {
      pushUnsigned(bytes, list.length);
      for (const type of list) bytes.push(valueType[type]);
    }
    const key = bytes.join();
    const known = typeIndex.get(key);
    if (known !== undefined) return known;
    typeIndex.set(key, types.length);
    types.push(bytes);
    return types.length - 1;
  };
  const importEntries = imports.map(({ name, signature }) => {
    const entry: number[] = [];
    pushName(entry, "f");
    pushName(entry, name);
    entry.push(0x00);
    pushUnsigned(entry, typeOf(signature));
    return entry;
  });
  const memory: number[] = [];
  pushName(memory, "m");
  pushName(memory, "memory");
  // Limits of a shared memory: from 0 pages to all that 32 bits address.
  memory.push(0x02, 0x03, 0x00);
  pushUnsigned(memory, 65536);
  const functionEntries = functions.map(({ signature }) => {
    const entry: number[] = [];
    pushUnsigned(entry, typeOf(signature));
    return entry;
  });
  const exportEntries = functions.map(({ name }, position) => {
    const entry: number[] = [];
    pushName(entry, name);
    entry.push(0x00);
    pushUnsigned(entry, imports.length + position);
    return entry;
  });
  const out = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];
  section(out, 1, types);
  section(out, 2, [...importEntries, memory]);
  section(out, 3, functionEntries);
  section(out, 7, exportEntries);
  section(out, 10, functions.map(encodeBody));
  return new Uint8Array(out);
}
