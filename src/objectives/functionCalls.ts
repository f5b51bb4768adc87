/**
 * What each method of an objective function asks of its engine, and what it makes of the answer: written once for the
 * methods that are awaited and for those that block.
 */
import type { ArrayInput, Lease, NDArray } from "../arrays/index.js";
import { at } from "../base/at.js";
import type { Storage } from "../base/dtype.js";
import { ArgumentError } from "../base/errors.js";
import { requireKnownOptions } from "../base/options.js";
import type { ArrayTree } from "./arrayTree.js";
import type { Engine, EvaluateOptions, FunctionResult, Linearization, OutOptions } from "./engine.js";
import { costFrom, gradientOf, jacobianOf, leaseOf, productOf, residualOf, shapedAs } from "./engine.js";
import type { Entry } from "./entry.js";
import { checkData } from "./entry.js";
import type { Layout } from "./layout.js";
import { flattenInto } from "./layout.js";
import { flatVector } from "./methods.js";
import { coefficientsOf } from "./parameters.js";
import type { Method } from "./programs.js";

/** The type of a gradient or a solution: coefficients as one array give one, trees give trees. */
export type GradientOf<X> = X extends ArrayInput
  ? NDArray<"float64">
  : X extends readonly unknown[] | Readonly<Record<string, unknown>>
    ? { readonly [K in keyof X]: GradientOf<X[K]> }
    : X;

/** One evaluation, ready to be made. */
export interface FunctionCall<T> {
  /** What the user called. */
  readonly operation: string;
  readonly method: Method;
  readonly x: Float64Array;
  readonly extra: Float64Array | null;
  /** Memory of earlier results that this one may use. */
  readonly out: readonly Lease[];
  result(found: FunctionResult): T;
}

/** New data for an objective, checked. */
export interface DataWrite {
  readonly objective: number;
  readonly leaf: number;
  readonly data: Storage;
}

/** An objective function without its engine. */
export class FunctionCalls<X> {
  readonly layout: Layout;
  readonly entries: readonly Entry[];
  readonly dimX: number;
  readonly dimF: number;
  /** True once the function was disposed of. */
  disposed = false;

  constructor(layout: Layout, entries: readonly Entry[]) {
    this.layout = layout;
    this.entries = entries;
    this.dimX = layout.size;
    this.dimF = entries.reduce((sum, entry) => sum + entry.dimF, 0);
  }

  requireLive(operation: string): void {
    if (!this.disposed) return;
    throw new ArgumentError({
      operation,
      found: "an objective function that was disposed of",
      remedy: "build a new one with objectiveFunction(...)",
    });
  }

  flatten(operation: string, argument: string, x: ArrayTree): Float64Array {
    return flattenInto(operation, argument, this.layout, coefficientsOf(x));
  }

  residual(x: ArrayTree): FunctionCall<NDArray<"float64">> {
    return this.#call("residual", "residual", x, null, [], residualOf);
  }

  jacobian(x: ArrayTree, { out }: OutOptions<NDArray>): FunctionCall<NDArray<"float64">> {
    const given = out === undefined ? [] : [leaseOf("jacobian", "out", out, [this.dimF, this.dimX])];
    return this.#call("jacobian", "jacobian", x, null, given, (found) => jacobianOf(found, this.dimX));
  }

  linearize(x: ArrayTree, { out }: OutOptions<Linearization>): FunctionCall<Linearization> {
    const given =
      out === undefined
        ? []
        : [
            leaseOf("linearize", "out.residual", out.residual, [this.dimF]),
            leaseOf("linearize", "out.jacobian", out.jacobian, [this.dimF, this.dimX]),
          ];
    return this.#call("linearize", "linearize", x, null, given, (found) => ({
      residual: residualOf(found),
      jacobian: jacobianOf(found, this.dimX),
    }));
  }

  cost(x: ArrayTree): FunctionCall<number> {
    return this.#call("cost", "residual", x, null, [], costFrom);
  }

  gradient(x: ArrayTree): FunctionCall<GradientOf<X>> {
    return this.#call("gradient", "gradient", x, null, [], (found) => this.#gradient(found));
  }

  jvp(x: ArrayTree, v: ArrayTree): FunctionCall<NDArray<"float64">> {
    return this.#call("jvp", "jvp", x, this.flatten("jvp", "v", v), [], productOf);
  }

  vjp(x: ArrayTree, w: ArrayTree): FunctionCall<GradientOf<X>> {
    const cotangent = flatVector("vjp", "w", this.dimF, w);
    return this.#call("vjp", "vjp", x, cotangent, [], (found) => this.#gradient(found));
  }

  /** Checks new data for an objective. */
  writes(name: string, data: ArrayTree): DataWrite[] {
    this.requireLive("setData");
    const objective = this.entries.findIndex((entry) => entry.name === name);
    if (objective < 0) {
      throw new ArgumentError({
        operation: "setData",
        argument: "name",
        found: JSON.stringify(name),
        expected: `one of ${this.entries.map((entry) => entry.name).join(", ")}`,
      });
    }
    const entry = at(this.entries, objective);
    return checkData("setData", entry, data).map(({ leaf, data: fresh }) => ({
      objective,
      leaf: entry.data.indexOf(leaf),
      data: fresh,
    }));
  }

  /** A flat vector in the form in which the coefficients were given at build. */
  shaped(flat: Float64Array): GradientOf<X> {
    // `shapedAs` follows the form of the coefficients at build, as GradientOf says.
    return shapedAs(this.layout, flat) as GradientOf<X>;
  }

  #gradient(found: FunctionResult): GradientOf<X> {
    // As in `shaped`.
    return gradientOf(this.layout, found) as GradientOf<X>;
  }

  #call<T>(
    operation: string,
    method: Method,
    x: ArrayTree,
    extra: Float64Array | null,
    out: readonly Lease[],
    result: (found: FunctionResult) => T,
  ): FunctionCall<T> {
    this.requireLive(operation);
    return { operation, method, x: this.flatten(operation, "x", x), extra, out, result };
  }
}

/** The options that an engine takes for a call. From here on the memory that was passed as `out` belongs to the call. */
function claim(
  { out }: FunctionCall<unknown>,
  { signal, timeout }: { readonly signal?: AbortSignal; readonly timeout?: number },
): EvaluateOptions {
  signal?.throwIfAborted();
  for (const lease of out) lease.end();
  return {
    inPlace: out.length > 0,
    ...(signal === undefined ? {} : { signal }),
    ...(timeout === undefined ? {} : { timeout }),
  };
}

/** The options of a call whose result may lie in memory of an earlier one. */
function resultOptions(operation: string): readonly string[] {
  return operation === "jacobian" || operation === "linearize" ? ["out"] : [];
}

type ClaimOptions = Parameters<typeof claim>[1];

/** Makes a call and awaits it. */
export async function evaluate<T>(engine: Engine, call: FunctionCall<T>, options: ClaimOptions): Promise<T> {
  const { operation, method, x, extra } = call;
  requireKnownOptions(operation, options, ["signal", "timeout", ...resultOptions(operation)]);
  return call.result(await engine.evaluate(method, x, extra, claim(call, options)));
}

/** Makes a call and blocks until it is done. */
export function evaluateNow<T>(engine: Engine, call: FunctionCall<T>, options: ClaimOptions): T {
  const { operation, method, x, extra } = call;
  requireKnownOptions(`sync.${operation}`, options, ["timeout", ...resultOptions(operation)]);
  return call.result(engine.evaluateNow(method, x, extra, claim(call, options)));
}
