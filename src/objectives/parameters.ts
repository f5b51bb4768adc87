/**
 * Named coefficients: the optimizer moves one flat vector, the program says `wall` and `coil`, and each objective sees
 * only the parts that it names.
 */
import type { ArrayInput } from "../arrays/index.js";
import { ArgumentError } from "../base/errors.js";
import { layoutOf } from "./layout.js";
import type { ArraysOf, ArrayTree } from "./arrayTree.js";
import type { Objective } from "./objective.js";
import { makeObjective } from "./objective.js";
import type { ObjectiveOptions } from "./options.js";

/** Named arrays of coefficients with their initial values. */
export class Parameters<T extends Readonly<Record<string, ArrayTree>>> {
  /** The initial values, as they were given. */
  readonly values: T;
  /** The number of coefficients. */
  readonly size: number;

  constructor(values: T) {
    this.values = values;
    this.size = layoutOf("parameters", values).size;
  }

  /** The names, sorted, which is their order in the flat vector. */
  get names(): readonly (keyof T & string)[] {
    return Object.keys(this.values).sort();
  }

  /**
   * An objective that sees only the named parts: its function gets an object of these, and its Jacobian is zero in the
   * columns of all others.
   */
  objective<K extends keyof T & string, Data extends ArrayTree = Readonly<Record<string, never>>>(
    parts: readonly K[],
    f: (x: { readonly [N in K]: ArraysOf<T[N]> }, data: ArraysOf<Data>) => ArrayInput,
    options: ObjectiveOptions<Data> = {},
  ): Objective {
    const unknown = parts.find((name) => !Object.hasOwn(this.values, name));
    if (parts.length === 0 || unknown !== undefined) {
      throw new ArgumentError({
        operation: "parameters.objective",
        argument: "parts",
        found: unknown === undefined ? "no names" : `"${unknown}"`,
        expected: `names out of ${this.names.join(", ")}`,
      });
    }
    return makeObjective({ body: f, options, parts: [...parts] });
  }
}

/**
 * Named coefficients.
 *
 * @param values arrays, or trees of arrays, by name
 * @throws {ArgumentError} if a value is not an array or there are no elements
 *
 * @example
 * ```ts
 * import { np, objectiveFunction, parameters } from "heddle";
 *
 * const p = parameters({ wall: [1, 2], coil: [3] });
 * const near = p.objective(["wall"], ({ wall }) => np.tanh(wall), { name: "near" });
 * const far = p.objective(["coil", "wall"], ({ coil, wall }) => coil.mul(wall), { name: "far" });
 * const fun = await objectiveFunction([near, far], { x: p });
 * console.log((await fun.jacobian(p)).shape); // [ 4, 3 ]
 * await fun.dispose();
 * ```
 */
export function parameters<const T extends Readonly<Record<string, ArrayTree>>>(values: T): Parameters<T> {
  if (typeof values !== "object" || (values as unknown) === null) {
    throw new ArgumentError({
      operation: "parameters",
      argument: "values",
      found: typeof values,
      expected: "an object of arrays",
    });
  }
  return new Parameters(values);
}

/** Coefficients as a tree: those of `parameters` are their values. */
export function coefficientsOf(x: unknown): unknown {
  return x instanceof Parameters ? x.values : x;
}
