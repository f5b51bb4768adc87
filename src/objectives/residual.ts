/**
 * From a user's function to the residual that optimizers see: reduce, shift by target or bounds, scale. The result is a
 * graph whose inputs are the arrays of coefficients that the objective sees, flat, and its data.
 */
import type { ArrayInput } from "../arrays/index.js";
import { toArray } from "../arrays/index.js";
import type { NDArray } from "../arrays/index.js";
import { np } from "../arrays/index.js";
import { traceFunction } from "../arrays/index.js";
import { at } from "../base/at.js";
import { ArgumentError, ShapeError } from "../base/errors.js";
import { formatShape, sizeOf } from "../base/shape.js";
import type { TreeStructure } from "../base/tree.js";
import { unflatten } from "../base/tree.js";
import type { Aval, Graph } from "../ir/graph.js";
import type { LayoutPart } from "./layout.js";
import type { ObjectiveOptions } from "./options.js";

/** A function of coefficients and data, as objectives hold it. */
export type ObjectiveFunctionBody = (x: never, data: never) => unknown;

/** The data of an objective, taken apart. */
export interface DataParts {
  readonly structure: TreeStructure;
  readonly avals: readonly Aval[];
}

/** `value` with the shape of the function's result: its own, one that broadcasts to it, or a flat vector of its size. */
function fit(operation: string, argument: string, value: ArrayInput, like: NDArray): NDArray {
  const array = toArray(operation, argument, value).astype("float64");
  if (array.ndim === 1 && like.ndim !== 1 && array.size === like.size) return array.reshape(like.shape);
  const lead = like.ndim - array.ndim;
  const fits =
    lead >= 0 && array.shape.every((extent, axis) => extent === 1 || extent === like.shape[axis + lead]);
  if (!fits) {
    throw new ShapeError({
      operation,
      argument,
      found: formatShape(array.shape),
      expected: `${formatShape(like.shape)}, as the function returns, or a shape that broadcasts to it`,
    });
  }
  return np.broadcastTo(array, like.shape);
}

function requirePositive(operation: string, argument: string, weight: NDArray): void {
  if (weight.traced) return;
  for (const value of weight.data) {
    if (!(value > 0)) {
      throw new ArgumentError({ operation, argument, found: String(value), expected: "positive numbers" });
    }
  }
}

/** f − target; or the distance outside of bounds, signed, zero inside. */
function shift(operation: string, f: NDArray, options: ObjectiveOptions): NDArray {
  const scale = options.normalizeTarget === false ? (options.normalization ?? 1) : 1;
  const given = (argument: string, value: ArrayInput): NDArray => {
    const array = fit(operation, argument, value, f);
    return scale === 1 ? array : array.mul(scale);
  };
  if (options.target !== undefined) return f.sub(given("target", options.target));
  if (options.bounds === undefined) return f;
  const [lower, upper] = [given("bounds[0]", options.bounds[0]), given("bounds[1]", options.bounds[1])];
  if (!lower.traced && !upper.traced && lower.data.some((value, i) => !(value <= at(upper.data, i)))) {
    throw new ArgumentError({ operation, argument: "bounds", found: "a lower bound above its upper one" });
  }
  const above = np.where(np.greater(f, upper), f.sub(upper), 0);
  return np.where(np.less(f, lower), f.sub(lower), above);
}

function scale(operation: string, r: NDArray, options: ObjectiveOptions): NDArray {
  let result = r;
  if (options.normalization !== undefined && options.normalization !== 1)
    result = result.div(options.normalization);
  for (const argument of ["quadratureWeight", "weight"] as const) {
    const value = options[argument];
    if (value === undefined || value === 1) continue;
    const weight = fit(operation, argument, value, result);
    requirePositive(operation, argument, weight);
    result = result.mul(weight);
  }
  return result;
}

function refuseAsync(operation: string, pending: Promise<unknown>): never {
  // Nobody else will look at what it becomes.
  pending.catch(() => undefined);
  throw new ArgumentError({
    operation,
    argument: "function",
    found: "an async function",
    expected: "a synchronous one, since objectives are traced",
  });
}

/**
 * The residual as a graph: inputs are a flat f64 vector per array of coefficients that the objective sees, then the data;
 * the output is f64 `[dimF]`. Throws what the user's function throws, and `ShapeError` or `ArgumentError` where target,
 * bounds or weights do not fit its result.
 */
export function residualGraph(
  operation: string,
  f: ObjectiveFunctionBody,
  options: ObjectiveOptions,
  part: LayoutPart,
  data: DataParts,
): Graph {
  const vectors = part.leaves.map((leaf): Aval => ({ dtype: "float64", shape: [leaf.size] }));
  const residual = (inputs: readonly NDArray[]): NDArray[] => {
    const leaves = part.leaves.map((leaf, position) => at(inputs, position).reshape(leaf.shape));
    // The structures were taken from the user's own coefficients and data, so the function gets what it declared.
    const x = unflatten(part.structure, leaves) as never;
    const values = unflatten(data.structure, inputs.slice(vectors.length)) as never;
    const value = f(x, values);
    if (value instanceof Promise) refuseAsync(operation, value);
    let result: NDArray = toArray(operation, "the result of the function", value as ArrayInput).astype(
      "float64",
    );
    if (options.reduce !== undefined) result = np[options.reduce](result);
    result = scale(operation, shift(operation, result, options), options);
    if (sizeOf(result.shape) === 0) {
      throw new ShapeError({
        operation,
        argument: "result",
        found: formatShape(result.shape),
        expected: "at least one element",
        remedy: "leave the objective out where it has no rows",
      });
    }
    return [result.reshape([result.size])];
  };
  const { graph, captures } = traceFunction(operation, residual, [...vectors, ...data.avals]);
  if (captures.length > 0) {
    throw new ArgumentError({
      operation,
      argument: "function",
      found: "traced values of an enclosing function",
      expected: "concrete arrays",
      remedy: "build objectives outside of functions that are being traced",
    });
  }
  return graph;
}
