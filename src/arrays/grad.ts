/**
 * Gradients of scalar functions.
 */
import { at } from "../base/at.js";
import { isFloating } from "../base/dtype.js";
import { DerivativeError } from "../base/errors.js";
import { leafCount } from "../base/tree.js";
import type { Graph } from "../ir/graph.js";
import { formatAval } from "../ir/graph.js";
import { vjpGraph } from "../transform/transpose.js";
import type { Argnums, ArgumentsIn, DerivativeIn, Traced } from "./argument.js";
import { evaluate } from "./bind.js";
import type { AnyFunction } from "./differentiate.js";
import { asArguments, avalOf, compose, differentiable, splitAux, treeOf } from "./differentiate.js";
import type { NDArray } from "./ndarray.js";

/** Which arguments to differentiate in, and whether the function returns `[value, aux]`. */
export interface GradOptions<A extends Argnums, H extends boolean> {
  /** One position (0 unless given) or a list of them, which gives a list of derivatives. */
  readonly argnums?: A;
  /** The function returns `[value, aux]`; aux is handed through. */
  readonly hasAux?: H;
}

type Scalar = NDArray | number;

/** The value and its gradient in the active inputs, as a graph: outputs are all results, then the gradients. */
export function gradientGraph(operation: string, graph: Graph, active: readonly boolean[]): Graph {
  const [first, ...rest] = graph.outputs;
  const aval = first === undefined ? undefined : avalOf(graph, first);
  if (aval === undefined || aval.shape.length > 0 || !isFloating(aval.dtype)) {
    throw new DerivativeError({
      operation,
      argument: "the result of f",
      found: aval === undefined ? "an empty tree" : formatAval(aval),
      expected: "one float64 or float32 scalar",
      remedy: "reduce it, for example with .sum(), or ask for jacrev or jacfwd",
    });
  }
  return compose(graph, (b, inputs) => {
    const seeds = [b.fill(1, aval), ...rest.map((id) => b.fill(0, avalOf(graph, id)))];
    return b.inline(vjpGraph(graph, active), [...inputs, ...seeds]);
  });
}

function run(
  operation: string,
  f: AnyFunction,
  args: readonly unknown[],
  { argnums = 0, hasAux = false }: GradOptions<Argnums, boolean>,
): { readonly value: NDArray; readonly gradient: unknown; readonly aux: unknown } {
  const target = differentiable(operation, f, args, argnums);
  const { value, aux } = splitAux(operation, target.structure, hasAux);
  const count = leafCount(value);
  if (count !== 1) {
    throw new DerivativeError({
      operation,
      argument: "the result of f",
      found: `a tree of ${count} leaves`,
      expected: "one scalar",
      remedy: hasAux ? "return [value, aux]" : "for a further result that is not differentiated, set hasAux",
    });
  }
  const results = evaluate(gradientGraph(operation, target.graph, target.active), target.inputs);
  const outputs = target.graph.outputs.length;
  return {
    value: at(results, 0),
    gradient: asArguments(target, results.slice(outputs)),
    aux: aux === null ? null : treeOf(aux, results.slice(1, outputs)),
  };
}

/**
 * The gradient of a function that returns a scalar: a function of the same arguments that returns, for the argument at
 * `argnums` (0 unless given; a list gives a list), a tree of its structure with the derivatives. Reverse mode: the cost is a
 * small multiple of the function's, however many parameters there are.
 *
 * Throws `DerivativeError` if the result is not a float scalar, or if a chosen argument is not of floats.
 *
 * @example
 * ```ts
 * import { grad, np } from "heddle";
 *
 * const slope = grad((x) => np.sin(x).mul(x).sum());
 * console.log(slope([0, Math.PI]).toArray()); // [ 0, -3.14... ]
 * ```
 */
export function grad<P extends readonly NDArray[], const A extends Argnums = 0>(
  f: (...args: P) => Scalar,
  options?: GradOptions<A, false>,
): (...args: ArgumentsIn<P, A>) => DerivativeIn<P, A>;
export function grad<P extends readonly unknown[], const A extends Argnums = 0>(
  f: (...args: P) => Scalar,
  options?: GradOptions<A, false>,
): (...args: ArgumentsIn<P, A>) => DerivativeIn<P, A>;
export function grad<P extends readonly NDArray[], X, const A extends Argnums = 0>(
  f: (...args: P) => readonly [Scalar, X],
  options: GradOptions<A, true> & { readonly hasAux: true },
): (...args: ArgumentsIn<P, A>) => [gradient: DerivativeIn<P, A>, aux: Traced<X>];
export function grad<P extends readonly unknown[], X, const A extends Argnums = 0>(
  f: (...args: P) => readonly [Scalar, X],
  options: GradOptions<A, true> & { readonly hasAux: true },
): (...args: ArgumentsIn<P, A>) => [gradient: DerivativeIn<P, A>, aux: Traced<X>];
export function grad(f: AnyFunction, options: GradOptions<Argnums, boolean> = {}) {
  return (...args: readonly unknown[]): unknown => {
    const { gradient, aux } = run("grad", f, args, options);
    return options.hasAux === true ? [gradient, aux] : gradient;
  };
}

/**
 * The value and the gradient at once: `[value, gradient]`, or with `hasAux` `[[value, aux], gradient]`. See `grad`.
 */
export function valueAndGrad<P extends readonly NDArray[], const A extends Argnums = 0>(
  f: (...args: P) => Scalar,
  options?: GradOptions<A, false>,
): (...args: ArgumentsIn<P, A>) => [value: NDArray, gradient: DerivativeIn<P, A>];
export function valueAndGrad<P extends readonly unknown[], const A extends Argnums = 0>(
  f: (...args: P) => Scalar,
  options?: GradOptions<A, false>,
): (...args: ArgumentsIn<P, A>) => [value: NDArray, gradient: DerivativeIn<P, A>];
export function valueAndGrad<P extends readonly NDArray[], X, const A extends Argnums = 0>(
  f: (...args: P) => readonly [Scalar, X],
  options: GradOptions<A, true> & { readonly hasAux: true },
): (...args: ArgumentsIn<P, A>) => [value: [NDArray, Traced<X>], gradient: DerivativeIn<P, A>];
export function valueAndGrad<P extends readonly unknown[], X, const A extends Argnums = 0>(
  f: (...args: P) => readonly [Scalar, X],
  options: GradOptions<A, true> & { readonly hasAux: true },
): (...args: ArgumentsIn<P, A>) => [value: [NDArray, Traced<X>], gradient: DerivativeIn<P, A>];
export function valueAndGrad(f: AnyFunction, options: GradOptions<Argnums, boolean> = {}) {
  return (...args: readonly unknown[]): unknown => {
    const { value, gradient, aux } = run("valueAndGrad", f, args, options);
    return [options.hasAux === true ? [value, aux] : value, gradient];
  };
}
