/**
 * An objective: one function of the coefficients with what it should reach and how much that matters. It is made once,
 * and then either evaluated by itself or joined with others into an objective function.
 */
import type { NDArray } from "../arrays/index.js";
import type { ArrayInput } from "../arrays/index.js";
import { ArgumentError } from "../base/errors.js";
import { structureKey } from "../base/tree.js";
import type { ArraysOf, ArrayTree } from "./arrayTree.js";
import type { ObjectiveDefinition } from "./entry.js";
import { makeEntry } from "./entry.js";
import { layoutOf } from "./layout.js";
import { LocalEngine } from "./localEngine.js";
import { ObjectiveMethods } from "./methods.js";
import type { ObjectiveOptions } from "./options.js";
import { checkOptions } from "./options.js";

let definition: (objective: Objective) => ObjectiveDefinition;
let construct: (definition: ObjectiveDefinition) => Objective;

/** Gives a collected objective's memory back; nothing relies on it. */
const collected = new FinalizationRegistry<LocalEngine>((engine) => {
  engine.free();
});

/**
 * One objective. Made by `objective` or `parameters(...).objective`; its methods evaluate it at once, in the calling
 * thread, for coefficients of any shape that its function takes.
 */
export class Objective {
  readonly #definition: ObjectiveDefinition;
  readonly #built = new Map<string, ObjectiveMethods>();

  private constructor(definition: ObjectiveDefinition) {
    this.#definition = definition;
  }

  static {
    definition = (objective) => objective.#definition;
    construct = (of) => new Objective(of);
  }

  /** What reports and errors call it. */
  get name(): string {
    return this.#definition.options.name ?? "objective";
  }

  #methods(operation: string, x: unknown): ObjectiveMethods {
    const layout = layoutOf(`${operation} of "${this.name}"`, x);
    const key =
      structureKey(layout.structure) + layout.leaves.map(({ shape }) => `[${shape.join(",")}]`).join("");
    const known = this.#built.get(key);
    if (known !== undefined) return known;
    const entry = makeEntry(this.#definition, this.name, layout, 0);
    const engine = new LocalEngine([entry], layout.size);
    collected.register(this, engine);
    const methods = new ObjectiveMethods(entry.name, layout, entry.dimF, (method, flat, extra) =>
      engine.evaluate(0, method, flat, extra),
    );
    this.#built.set(key, methods);
    return methods;
  }

  /** The weighted residual at x, [dimF]. */
  residual(x: ArrayTree): NDArray<"float64"> {
    return this.#methods("residual", x).residual(x);
  }

  /** The Jacobian of the residual at x, [dimF, dimX]. */
  jacobian(x: ArrayTree): NDArray<"float64"> {
    return this.#methods("jacobian", x).jacobian(x);
  }

  /** Residual and Jacobian together. */
  linearize(x: ArrayTree): { residual: NDArray<"float64">; jacobian: NDArray<"float64"> } {
    return this.#methods("linearize", x).linearize(x);
  }

  /** Half the sum of squares of the residual. */
  cost(x: ArrayTree): number {
    return this.#methods("cost", x).cost(x);
  }

  /** The gradient of the cost, Jᵀr, [dimX]. */
  gradient(x: ArrayTree): NDArray<"float64"> {
    return this.#methods("gradient", x).gradient(x);
  }

  /** J·v, [dimF]. */
  jvp(x: ArrayTree, v: ArrayTree): NDArray<"float64"> {
    return this.#methods("jvp", x).jvp(x, v);
  }

  /** Jᵀw, [dimX]. */
  vjp(x: ArrayTree, w: ArrayInput): NDArray<"float64"> {
    return this.#methods("vjp", x).vjp(x, w);
  }
}

/** What an objective was made of. */
export function definitionOf(of: Objective): ObjectiveDefinition {
  return definition(of);
}

/** Makes an objective of a checked definition. */
export function makeObjective(of: ObjectiveDefinition): Objective {
  if (typeof of.body !== "function") {
    throw new ArgumentError({
      operation: "objective",
      argument: "function",
      found: typeof of.body,
      expected: "a function of the coefficients that returns an array",
    });
  }
  checkOptions(of.options);
  return construct(of);
}

/**
 * An objective: a function of the coefficients, written with `np`, and what it should reach.
 *
 * The residual is `(reduce(f(x)) − target) / normalization · weight`, flattened; with `bounds`, the distance outside of
 * them. The function is traced when its coefficients are known, once per shape. Arrays that it refers to become
 * constants; arrays given as `data` can be changed later.
 *
 * @param f function of the coefficients, as one array or the tree that they were given as, and of `data`
 * @throws {ArgumentError} for options that do not exist or contradict each other
 *
 * @example
 * ```ts
 * import { np, objective } from "heddle";
 *
 * const A = np.array([[1, 2], [3, 4], [5, 6]]);
 * const o = objective((c) => np.dot(A, c), { name: "line", target: [1, 2, 3], weight: 2 });
 * console.log(o.residual([0, 0.5]).toArray()); // [ 0, 0, 0 ]
 * console.log(o.jacobian([0, 0.5]).shape); // [ 3, 2 ]
 * ```
 */
export function objective<X = NDArray, Data extends ArrayTree = Readonly<Record<string, never>>>(
  f: (x: X, data: ArraysOf<Data>) => ArrayInput,
  options: ObjectiveOptions<Data> = {},
): Objective {
  return makeObjective({ body: f, options });
}

/** The list, if all of it are objectives. Throws `ArgumentError` naming the first that is not. */
export function requireObjectives(operation: string, list: readonly unknown[]): readonly Objective[] {
  return list.map((item, position) => {
    if (item instanceof Objective) return item;
    throw new ArgumentError({
      operation,
      argument: `objectives[${position}]`,
      found: item === null ? "null" : typeof item,
      expected: "an objective, made by objective(f, ...)",
    });
  });
}
