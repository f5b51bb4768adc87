/**
 * A lowered program as a WebAssembly module, and the modules that this thread has compiled so far: programs of the same
 * structure share one.
 */
import type { Program } from "../lower/program.js";
import type { FunctionImport } from "./encoder.js";
import { encodeModule } from "./encoder.js";
import type { PrintedKernel } from "./kernel.js";
import { printKernel } from "./kernel.js";
import { HostFunctions } from "./scalar.js";

/** What a kernel's function must be given, in order: addresses of buffers, then extents and strides. */
export type KernelCall = Pick<PrintedKernel, "buffers" | "variables">;

/** A compiled program. */
export interface CompiledModule {
  readonly calls: readonly KernelCall[];
  /** The kernels' functions on a memory. */
  instantiate(memory: WebAssembly.Memory): readonly ((...args: number[]) => void)[];
}

/** Compiles a program. */
export function compileProgram(program: Program): CompiledModule {
  const host = new HostFunctions();
  const printed = program.kernels.map((kernel, position) =>
    printKernel(program, kernel, host, `k${position}`),
  );
  const imports = host.list.map(({ name, arity }): FunctionImport => ({
    name,
    signature: { parameters: Array.from({ length: arity }, () => "f64"), results: ["f64"] },
  }));
  const bytes = encodeModule(
    imports,
    printed.map(({ body }) => body),
  );
  const module = new WebAssembly.Module(bytes);
  const functions = Object.fromEntries(host.list.map(({ name, call }) => [name, call]));
  const instances = new WeakMap<WebAssembly.Memory, readonly ((...args: number[]) => void)[]>();
  return {
    calls: printed.map(({ buffers, variables }) => ({ buffers, variables })),
    instantiate: (memory) => {
      const known = instances.get(memory);
      if (known !== undefined) return known;
      const instance = new WebAssembly.Instance(module, { m: { memory }, f: functions });
      const exported = printed.map(({ body }) => {
        // The module exports a function under the name of every kernel.
        return instance.exports[body.name] as (...args: number[]) => void;
      });
      instances.set(memory, exported);
      return exported;
    },
  };
}
