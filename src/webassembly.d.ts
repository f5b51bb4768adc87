// Neither the ES libraries nor Node's types declare WebAssembly (only `dom` does, and this project does not load it),
// so this names the part that heddle uses. It is ambient and is not shipped: declarations that reach users through
// src/index.ts must not mention these names.

declare namespace WebAssembly {
  type ImportValue = ((...args: never[]) => unknown) | Global | Memory | Table | number;
  type Imports = Record<string, Record<string, ImportValue>>;
  type Exports = Record<string, unknown>;
  type ValueType = "i32" | "i64" | "f32" | "f64" | "v128" | "externref" | "anyfunc";

  class Module {
    constructor(bytes: ArrayBufferView<ArrayBuffer> | ArrayBuffer);
    static exports(module: Module): { name: string; kind: string }[];
    static imports(module: Module): { module: string; name: string; kind: string }[];
    static customSections(module: Module, name: string): ArrayBuffer[];
  }

  class Instance {
    constructor(module: Module, imports?: Imports);
    readonly exports: Exports;
  }

  interface MemoryDescriptor {
    /** Pages of 64 KiB. */
    initial: number;
    /** Pages of 64 KiB; required when shared. */
    maximum?: number;
    shared?: boolean;
  }

  class Memory {
    constructor(descriptor: MemoryDescriptor);
    /** A SharedArrayBuffer when the memory is shared; growing an unshared memory detaches the old buffer. */
    readonly buffer: ArrayBuffer | SharedArrayBuffer;
    /** Adds pages of 64 KiB; answers the size before. */
    grow(pages: number): number;
  }

  class Table {
    constructor(descriptor: { element: "anyfunc" | "externref"; initial: number; maximum?: number });
    readonly length: number;
    get(index: number): unknown;
    set(index: number, value?: unknown): void;
    grow(elements: number, value?: unknown): number;
  }

  class Global {
    constructor(descriptor: { value: ValueType; mutable?: boolean }, value?: unknown);
    value: unknown;
  }

  class CompileError extends Error {}
  class LinkError extends Error {}
  class RuntimeError extends Error {}

  interface Instantiated {
    module: Module;
    instance: Instance;
  }

  function validate(bytes: ArrayBufferView<ArrayBuffer> | ArrayBuffer): boolean;
  function compile(bytes: ArrayBufferView<ArrayBuffer> | ArrayBuffer): Promise<Module>;
  function instantiate(
    bytes: ArrayBufferView<ArrayBuffer> | ArrayBuffer,
    imports?: Imports,
  ): Promise<Instantiated>;
  function instantiate(module: Module, imports?: Imports): Promise<Instance>;
}
