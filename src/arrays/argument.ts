/**
 * The types of arguments and results of transformed functions: trees of arrays, in which numbers, lists and typed arrays
 * may stand for arrays when calling.
 */
import type { ArrayInput } from "./input.js";
import type { NDArray } from "./ndarray.js";

/** What may be passed where a traced function takes T. */
export type Argument<T> = unknown extends T
  ? unknown
  : T extends NDArray
    ? ArrayInput
    : T extends readonly unknown[] | Readonly<Record<string, unknown>>
      ? { [K in keyof T]: Argument<T[K]> }
      : T;

/** What may be passed where a traced function takes the parameters P. */
export type Arguments<P> = { [I in keyof P]: Argument<P[I]> } extends infer A extends readonly unknown[]
  ? A
  : readonly unknown[];

/** A derivative with respect to T: the same tree with an array for each leaf. */
export type Derivative<T> = unknown extends T
  ? NDArray
  : T extends ArrayInput
    ? NDArray
    : T extends readonly unknown[] | Readonly<Record<string, unknown>>
      ? { [K in keyof T]: Derivative<T[K]> }
      : T;
