/**
 * Derivatives as linear maps: along given tangents (jvp), along given cotangents (vjp), and linearization at a point.
 */
import { at } from "../base/at.js";
import { ArgumentError, DTypeError, ShapeError } from "../base/errors.js";
import type { TreeStructure } from "../base/tree.js";
import { formatStructure, structureKey } from "../base/tree.js";
import { formatShape, sameShape } from "../base/shape.js";
import type { Aval } from "../ir/graph.js";
import { jvpGraph } from "../transform/jvp.js";
import { linearizeGraph } from "../transform/linearize.js";
import { simplify } from "../transform/simplify.js";
import { transposeGraph } from "../transform/transpose.js";
import type { Arguments, Derivative, Traced } from "./argument.js";
import { evaluate } from "./bind.js";
import type { AnyFunction, Differentiable } from "./differentiate.js";
import { avalOf, differentiable, treeOf } from "./differentiate.js";
import { convertTo } from "./input.js";
import type { NDArray } from "./ndarray.js";
import { flattenArrays, splitLeaves } from "./trace-function.js";

function all(operation: string, f: AnyFunction, args: readonly unknown[]): Differentiable {
  return differentiable(
    operation,
    f,
    args,
    args.map((_, i) => i),
  );
}

/** The leaves of a tree that must look like another one. */
function matching(
  operation: string,
  argument: string,
  value: unknown,
  structure: TreeStructure,
  avals: readonly Aval[],
): NDArray[] {
  const flat = flattenArrays(operation, argument, value);
  if (structureKey(flat.structure) !== structureKey(structure)) {
    throw new ArgumentError({
      operation,
      argument,
      found: `the tree ${formatStructure(flat.structure)}`,
      expected: formatStructure(structure),
    });
  }
  return flat.leaves.map((leaf, i) => {
    const { dtype, shape } = at(avals, i);
    if (!sameShape(leaf.shape, shape)) {
      throw new ShapeError({
        operation,
        argument: `${argument}, leaf ${i}`,
        found: `of shape ${formatShape(leaf.shape)}`,
        expected: formatShape(shape),
      });
    }
    if (leaf.dtype === dtype) return leaf;
    // A plain number or list takes the wanted dtype; arrays of another one are a mistake.
    if (leaf.dtype !== "float64" || leaf.traced) {
      throw new DTypeError({
        operation,
        argument: `${argument}, leaf ${i}`,
        found: leaf.dtype,
        expected: dtype,
      });
    }
    return convertTo(leaf, dtype);
  });
}

function tangentsOf(operation: string, target: Differentiable, tangents: readonly unknown[]): NDArray[] {
  const structure: TreeStructure = {
    kind: "list",
    children: target.argument.parts.map((part) => part.structure),
  };
  // A list of numbers is one vector; here it is a list of arguments.
  const trees = tangents.map((tangent, i) => flattenArrays(operation, `tangent ${i}`, tangent));
  if (trees.length !== structure.children.length) {
    throw new ArgumentError({
      operation,
      argument: "tangents",
      found: `${trees.length} of them`,
      expected: `${structure.children.length}, one per argument`,
    });
  }
  let start = 0;
  return tangents.flatMap((tangent, i) => {
    const part = at(target.argument.parts, i);
    const avals = target.argument.leaves.slice(start, (start += part.count));
    return matching(operation, `tangent ${i}`, tangent, part.structure, avals);
  });
}

/**
 * The value of `f` and its derivative along tangents, in forward mode: `[value, tangent]`, both trees like the result.
 * `primals` and `tangents` are lists of arguments. Throws `DerivativeError` for arguments that are not floats, `ShapeError`,
 * `DTypeError` or `ArgumentError` if tangents do not look like primals.
 *
 * @example
 * ```ts
 * import { jvp, np } from "heddle";
 *
 * const [value, tangent] = jvp((x) => np.sin(x), [0], [2]);
 * console.log(value.item(), tangent.item()); // 0 2
 * ```
 */
export function jvp<P extends readonly NDArray[], R>(
  f: (...args: P) => R,
  primals: Arguments<P>,
  tangents: Arguments<P>,
): [value: Traced<R>, tangent: Derivative<R>];
export function jvp<P extends readonly unknown[], R>(
  f: (...args: P) => R,
  primals: Arguments<P>,
  tangents: Arguments<P>,
): [value: Traced<R>, tangent: Derivative<R>];
export function jvp(f: AnyFunction, primals: readonly unknown[], tangents: readonly unknown[]): unknown {
  const target = all("jvp", f, primals);
  const moving = tangentsOf("jvp", target, tangents);
  const results = evaluate(simplify(jvpGraph(target.graph, target.active)), [...target.inputs, ...moving]);
  const count = target.graph.outputs.length;
  return [treeOf(target.structure, results.slice(0, count)), treeOf(target.structure, results.slice(count))];
}

function linearized(operation: string, f: AnyFunction, primals: readonly unknown[]) {
  const target = all(operation, f, primals);
  const { known, linear, residuals } = linearizeGraph(target.graph, target.active);
  const results = evaluate(simplify(known), target.inputs);
  const count = target.graph.outputs.length;
  return {
    target,
    linear,
    residuals,
    value: treeOf(target.structure, results.slice(0, count)),
    kept: results.slice(count),
  };
}

/**
 * The value of `f` at a point and its derivative there as a function of tangents: what does not depend on them is computed
 * once. `const [value, along] = linearize(f, x); along(v)`. Errors as for `jvp`.
 */
export function linearize<P extends readonly NDArray[], R>(
  f: (...args: P) => R,
  ...primals: Arguments<P>
): [value: Traced<R>, along: (...tangents: Arguments<P>) => Derivative<R>];
export function linearize<P extends readonly unknown[], R>(
  f: (...args: P) => R,
  ...primals: Arguments<P>
): [value: Traced<R>, along: (...tangents: Arguments<P>) => Derivative<R>];
export function linearize(f: AnyFunction, ...primals: readonly unknown[]): unknown {
  const { target, linear, value, kept } = linearized("linearize", f, primals);
  const graph = simplify(linear);
  const along = (...tangents: readonly unknown[]): unknown =>
    treeOf(target.structure, evaluate(graph, [...kept, ...tangentsOf("linearize", target, tangents)]));
  return [value, along];
}

/**
 * The value of `f` at a point and a function that pulls a cotangent of the result back to a list of cotangents, one per
 * argument: `const [value, pull] = vjp(f, x); const [dx] = pull(w)`. Errors as for `jvp`.
 */
export function vjp<P extends readonly NDArray[], R>(
  f: (...args: P) => R,
  ...primals: Arguments<P>
): [
  value: Traced<R>,
  pull: (cotangent: Derivative<R> | ArgumentOf<R>) => { [I in keyof P]: Derivative<P[I]> },
];
export function vjp<P extends readonly unknown[], R>(
  f: (...args: P) => R,
  ...primals: Arguments<P>
): [
  value: Traced<R>,
  pull: (cotangent: Derivative<R> | ArgumentOf<R>) => { [I in keyof P]: Derivative<P[I]> },
];
export function vjp(f: AnyFunction, ...primals: readonly unknown[]): unknown {
  const { target, linear, residuals, value, kept } = linearized("vjp", f, primals);
  const graph = simplify(transposeGraph(linear, residuals));
  const avals = target.graph.outputs.map((id) => avalOf(target.graph, id));
  const pull = (cotangent: unknown): unknown => {
    const leaves = matching("vjp", "cotangent", cotangent, target.structure, avals);
    return splitLeaves(target.argument.parts, evaluate(graph, [...kept, ...leaves]));
  };
  return [value, pull];
}

type ArgumentOf<R> = Arguments<[R]>[0];
