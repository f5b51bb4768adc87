/**
 * The methods of an objective that answer at once, on the thread that holds it.
 */
import { fromData } from "../arrays/index.js";
import type { NDArray } from "../arrays/index.js";
import { ShapeError } from "../base/errors.js";
import { flattenInto } from "./layout.js";
import type { Layout } from "./layout.js";
import type { Method } from "./programs.js";
import type { ObjectiveResult } from "./sync.js";

/** Evaluates a method at flat coefficients. */
export type Evaluate = (method: Method, x: Float64Array, extra: Float64Array | null) => ObjectiveResult;

/** What a vector of the residual's length may be given as. */
export function flatVector(
  operation: string,
  argument: string,
  length: number,
  value: unknown,
): Float64Array {
  const layout: Layout = {
    structure: { kind: "leaf" },
    leaves: [{ path: "", shape: [length], start: 0, size: length }],
    size: length,
  };
  return flattenInto(operation, argument, layout, value);
}

/** A result that its method promises. */
export function present(part: Float64Array | undefined, what: string): Float64Array {
  if (part === undefined) throw new ShapeError({ operation: what, found: "no result" });
  return part;
}

/** ½ Σ r². */
export function costOf(residual: Iterable<number>): number {
  let sum = 0;
  for (const value of residual) sum += value * value;
  return sum / 2;
}

/** A flat vector as an array. */
export function vector(data: Float64Array): NDArray<"float64"> {
  return fromData("float64", [data.length], data);
}

/** A row-major matrix as an array. */
export function matrix(data: Float64Array, rows: number, columns: number): NDArray<"float64"> {
  return fromData("float64", [rows, columns], data);
}

/** An objective at given coefficients. All shapes are flat: residual [dimF], Jacobian [dimF, dimX]. */
export class ObjectiveMethods {
  readonly name: string;
  readonly dimF: number;
  readonly dimX: number;
  readonly #layout: Layout;
  readonly #evaluate: Evaluate;

  constructor(name: string, layout: Layout, dimF: number, evaluate: Evaluate) {
    this.name = name;
    this.dimF = dimF;
    this.dimX = layout.size;
    this.#layout = layout;
    this.#evaluate = evaluate;
  }

  #at(operation: string, x: unknown): Float64Array {
    return flattenInto(`${operation} of "${this.name}"`, "x", this.#layout, x);
  }

  /** The weighted residual, [dimF]. */
  residual(x: unknown): NDArray<"float64"> {
    return vector(present(this.#evaluate("residual", this.#at("residual", x), null).residual, "residual"));
  }

  /** The Jacobian of the residual, [dimF, dimX]; columns of coefficients that the objective does not see are zero. */
  jacobian(x: unknown): NDArray<"float64"> {
    const { jacobian } = this.#evaluate("jacobian", this.#at("jacobian", x), null);
    return matrix(present(jacobian, "jacobian"), this.dimF, this.dimX);
  }

  /** Residual and Jacobian together. */
  linearize(x: unknown): { residual: NDArray<"float64">; jacobian: NDArray<"float64"> } {
    const { residual, jacobian } = this.#evaluate("linearize", this.#at("linearize", x), null);
    return {
      residual: vector(present(residual, "linearize")),
      jacobian: matrix(present(jacobian, "linearize"), this.dimF, this.dimX),
    };
  }

  /** Half the sum of squares of the residual. */
  cost(x: unknown): number {
    return costOf(present(this.#evaluate("residual", this.#at("cost", x), null).residual, "cost"));
  }

  /** The gradient of the cost, Jᵀr, [dimX]. */
  gradient(x: unknown): NDArray<"float64"> {
    return vector(present(this.#evaluate("gradient", this.#at("gradient", x), null).gradient, "gradient"));
  }

  /** J·v for a tangent v of the coefficients, [dimF]. */
  jvp(x: unknown, v: unknown): NDArray<"float64"> {
    const tangent = flattenInto(`jvp of "${this.name}"`, "v", this.#layout, v);
    return vector(present(this.#evaluate("jvp", this.#at("jvp", x), tangent).product, "jvp"));
  }

  /** Jᵀw for a cotangent w of the residual, [dimX]. */
  vjp(x: unknown, w: unknown): NDArray<"float64"> {
    const cotangent = flatVector(`vjp of "${this.name}"`, "w", this.dimF, w);
    return vector(present(this.#evaluate("vjp", this.#at("vjp", x), cotangent).gradient, "vjp"));
  }
}
