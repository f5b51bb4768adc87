/**
 * Jacobians and Hessians of functions of any shape.
 */
import { leafCount, unflatten } from "../base/tree.js";
import type { Graph } from "../ir/graph.js";
import { jacfwdGraph, jacrevGraph } from "../transform/jacobian.js";
import type { Argnums, ArgumentsIn, DerivativeIn, JacobianOf, Traced } from "./argument.js";
import { evaluate } from "./bind.js";
import type { AnyFunction } from "./differentiate.js";
import { asArguments, compose, differentiable, splitAux, treeOf } from "./differentiate.js";
import type { GradOptions } from "./grad.js";
import type { NDArray } from "./ndarray.js";

type Rule = (graph: Graph, active: readonly boolean[]) => Graph;

function run(
  operation: string,
  rule: Rule,
  f: AnyFunction,
  args: readonly unknown[],
  { argnums = 0, hasAux = false }: GradOptions<Argnums, boolean>,
): unknown {
  const target = differentiable(operation, f, args, argnums);
  const { value, aux } = splitAux(operation, target.structure, hasAux);
  const outputs = leafCount(value);
  const { graph, active } = target;
  const inner = target.argument.leaves.length;
  const whole = compose(graph, (b, inputs) => {
    const differentiated = { ...graph, outputs: graph.outputs.slice(0, outputs) };
    const rest = { ...graph, outputs: graph.outputs.slice(outputs) };
    return [...b.inline(rule(differentiated, active), inputs), ...b.inline(rest, inputs)];
  });
  const results = evaluate(whole, target.inputs);
  const blocks = Array.from({ length: outputs }, (_, output) =>
    asArguments(target, results.slice(output * inner, (output + 1) * inner)),
  );
  const jacobian = unflatten(value, blocks);
  return aux === null ? jacobian : [jacobian, treeOf(aux, results.slice(outputs * inner))];
}

/** A transformation from a function to its Jacobian. */
export interface JacobianTransform {
  <P extends readonly NDArray[], R, const A extends Argnums = 0>(
    f: (...args: P) => R,
    options?: GradOptions<A, false>,
  ): (...args: ArgumentsIn<P, A>) => JacobianOf<R, DerivativeIn<P, A>>;
  <P extends readonly unknown[], R, const A extends Argnums = 0>(
    f: (...args: P) => R,
    options?: GradOptions<A, false>,
  ): (...args: ArgumentsIn<P, A>) => JacobianOf<R, DerivativeIn<P, A>>;
  <P extends readonly NDArray[], R, X, const A extends Argnums = 0>(
    f: (...args: P) => readonly [R, X],
    options: GradOptions<A, true> & { readonly hasAux: true },
  ): (...args: ArgumentsIn<P, A>) => [jacobian: JacobianOf<R, DerivativeIn<P, A>>, aux: Traced<X>];
  <P extends readonly unknown[], R, X, const A extends Argnums = 0>(
    f: (...args: P) => readonly [R, X],
    options: GradOptions<A, true> & { readonly hasAux: true },
  ): (...args: ArgumentsIn<P, A>) => [jacobian: JacobianOf<R, DerivativeIn<P, A>>, aux: Traced<X>];
}

function transform(operation: string, rule: Rule): JacobianTransform {
  const jacobian =
    (f: AnyFunction, options: GradOptions<Argnums, boolean> = {}) =>
    (...args: readonly unknown[]): unknown =>
      run(operation, rule, f, args, options);
  // The overloads say how the result's type follows from the function's, which the implementation cannot.
  return jacobian as unknown as JacobianTransform;
}

/**
 * The Jacobian in forward mode: for a function from shape `[n]` to `[m]`, a function that returns `[m, n]`; in general
 * `[...result shape, ...argument shape]`, for each leaf of the result a tree like the argument. Best where there are
 * fewer inputs than outputs. Options and errors as for `grad`.
 *
 * @example
 * ```ts
 * import { jacfwd, np } from "heddle";
 *
 * const a = np.array([[1, 2], [3, 4], [5, 6]]);
 * console.log(jacfwd((c) => np.dot(a, c))([1, 1]).toArray()); // [ [ 1, 2 ], [ 3, 4 ], [ 5, 6 ] ]
 * ```
 */
export const jacfwd: JacobianTransform = transform("jacfwd", jacfwdGraph);

/** The Jacobian in reverse mode, with the same result as `jacfwd`. Best where there are fewer outputs than inputs. */
export const jacrev: JacobianTransform = transform("jacrev", jacrevGraph);

/** The Hessian of a scalar function: a Jacobian of a Jacobian. */
export interface HessianTransform {
  <P extends readonly NDArray[], R, const A extends Argnums = 0>(
    f: (...args: P) => R,
    options?: { readonly argnums?: A },
  ): (...args: ArgumentsIn<P, A>) => JacobianOf<R, JacobianOf<DerivativeIn<P, A>, DerivativeIn<P, A>>>;
  <P extends readonly unknown[], R, const A extends Argnums = 0>(
    f: (...args: P) => R,
    options?: { readonly argnums?: A },
  ): (...args: ArgumentsIn<P, A>) => JacobianOf<R, JacobianOf<DerivativeIn<P, A>, DerivativeIn<P, A>>>;
}

/**
 * Second derivatives, forward over reverse: for a scalar function of shape `[n]`, `[n, n]`. At a tie of `max` and its kin,
 * the derivative is shared among the winners and its own derivative is 0.
 */
export const hessian: HessianTransform = ((
    f: AnyFunction,
    { argnums = 0 }: { readonly argnums?: Argnums } = {},
  ) =>
  (...args: readonly unknown[]): unknown => {
    const first = (...inner: readonly unknown[]): unknown =>
      run("hessian", jacrevGraph, f, inner, { argnums });
    return run("hessian", jacfwdGraph, first, args, { argnums });
    // The overloads say how the result's type follows from the function's.
  }) as unknown as HessianTransform;
