/**
 * What an objective can be told, and the checks that need no shapes.
 */
import type { ArrayInput } from "../arrays/index.js";
import { ArgumentError } from "../base/errors.js";
import { requireKnownOptions } from "../base/options.js";
import type { ArrayTree } from "./arrayTree.js";

/** Options of an objective. */
export interface ObjectiveOptions<Data = ArrayTree> {
  /** What reports and errors call it. Names are distinct within an objective function. */
  readonly name?: string;
  /** What the function should reach: a number, the function's shape, or a shape that broadcasts to it. Not with `bounds`. */
  readonly target?: ArrayInput;
  /** The range in which the residual is zero; outside, it is the signed distance to the nearer bound. */
  readonly bounds?: readonly [lower: ArrayInput, upper: ArrayInput];
  /** Multiplies the residual; positive. 1 by default. */
  readonly weight?: ArrayInput;
  /** Multiplies the residual too, as weights of a quadrature do; positive. 1 by default. */
  readonly quadratureWeight?: ArrayInput;
  /** Divides the residual, so that objectives of different units compare; positive. 1 by default. */
  readonly normalization?: number;
  /** `false`: target and bounds are given in units of `normalization`. */
  readonly normalizeTarget?: boolean;
  /** Reduces all values to one before the shift. */
  readonly reduce?: "mean" | "sum" | "min" | "max";
  /** A tree of arrays that the function gets as its second argument; `setData` changes it without retracing. */
  readonly data?: Data;
  /** How to differentiate: forward or reverse. `"auto"` is forward where the residual has at least a fifth as many elements as there are coefficients. */
  readonly derivative?: "auto" | "fwd" | "rev";
  /** The rank that holds all of it. */
  readonly rank?: number;
  /**
   * An objective that is more than a rank's fair share is computed in chunks, on several ranks: so many rows of its
   * residual each or, where rows share too much work, so many columns of its Jacobian. `"auto"` finds a number that is
   * worth a chunk. The bits of results do not depend on it.
   */
  readonly chunk?: number | "auto";
}

const known: readonly (keyof ObjectiveOptions)[] = [
  "name",
  "target",
  "bounds",
  "weight",
  "quadratureWeight",
  "normalization",
  "normalizeTarget",
  "reduce",
  "data",
  "derivative",
  "rank",
  "chunk",
];

const oneOf = (value: unknown, choices: readonly string[]): boolean =>
  value === undefined || (typeof value === "string" && choices.includes(value));

/** Refuses options that do not exist, contradict each other, or are out of range. Throws `ArgumentError`. */
export function checkOptions(options: ObjectiveOptions): void {
  const refuse = (argument: string, found: string, expected: string, remedy?: string): never => {
    throw new ArgumentError({
      operation: options.name === undefined ? "objective" : `objective "${options.name}"`,
      argument,
      found,
      expected,
      ...(remedy === undefined ? {} : { remedy }),
    });
  };
  requireKnownOptions(
    options.name === undefined ? "objective" : `objective "${options.name}"`,
    options,
    known,
  );
  if (options.name !== undefined && (typeof options.name !== "string" || options.name === "")) {
    refuse("name", JSON.stringify(options.name), "a string that is not empty");
  }
  if (options.target !== undefined && options.bounds !== undefined) {
    refuse(
      "bounds",
      "given together with target",
      "one of the two",
      "for a target inside a range, use two objectives",
    );
  }
  const bounds: unknown = options.bounds;
  if (bounds !== undefined && !(Array.isArray(bounds) && bounds.length === 2)) {
    refuse("bounds", "something else", "a pair [lower, upper]");
  }
  const { normalization = 1, rank, chunk = "auto" } = options;
  if (!(typeof normalization === "number" && normalization > 0 && Number.isFinite(normalization))) {
    refuse("normalization", String(normalization), "a positive number");
  }
  if (rank !== undefined && !(Number.isInteger(rank) && rank >= 0)) {
    refuse("rank", String(rank), "an integer from 0");
  }
  if (chunk !== "auto" && !(Number.isSafeInteger(chunk) && chunk >= 1)) {
    refuse("chunk", String(chunk), '"auto", or an integer from 1');
  }
  if (!oneOf(options.reduce, ["mean", "sum", "min", "max"])) {
    refuse("reduce", String(options.reduce), '"mean", "sum", "min" or "max"');
  }
  if (!oneOf(options.derivative, ["auto", "fwd", "rev"])) {
    refuse("derivative", String(options.derivative), '"auto", "fwd" or "rev"');
  }
}
