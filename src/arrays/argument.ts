/**
 * The types of arguments and results of transformed functions: trees of arrays, in which numbers, lists and typed arrays
 * may stand for arrays when calling.
 */
import type { ArrayInput, TypedInput } from "./input.js";
import type { NDArray } from "./ndarray.js";

type Node = readonly unknown[] | Readonly<Record<string, unknown>>;

/** Lists of nothing but numbers are arrays; lists of arrays are trees. */
type NumberList = readonly (number | NumberList)[];

/** What is one leaf of a tree. */
type Leaf = NDArray | number | boolean | TypedInput | NumberList;

/** What may be passed where a traced function takes T. */
export type Argument<T> = unknown extends T
  ? unknown
  : T extends NDArray
    ? ArrayInput
    : T extends Node
      ? { [K in keyof T]: Argument<T[K]> }
      : T;

type AsList<A> = A extends readonly unknown[] ? A : readonly unknown[];

/** What may be passed where a traced function takes the parameters P. */
export type Arguments<P> = AsList<{ [I in keyof P]: Argument<P[I]> }>;

/** As `Arguments` for the parameters that are differentiated in; the others are passed as they are declared. */
export type ArgumentsIn<P, A extends Argnums> = AsList<{
  [I in keyof P]: I extends `${A extends readonly number[] ? A[number] : A & number}` ? Argument<P[I]> : P[I];
}>;

/** As `Arguments`; those whose entry of the axes X is `null` are passed as they are declared. */
export type StackedArguments<P, X> = AsList<{
  [I in keyof P]: X extends readonly unknown[]
    ? I extends keyof X
      ? X[I] extends null
        ? P[I]
        : Argument<P[I]>
      : Argument<P[I]>
    : Argument<P[I]>;
}>;

/** What a traced function that returns T gives: an array for each leaf. */
export type Traced<T> = unknown extends T
  ? unknown
  : T extends NDArray
    ? T
    : T extends Leaf
      ? NDArray
      : T extends Node
        ? { [K in keyof T]: Traced<T[K]> }
        : T;

/** A derivative with respect to T: the same tree with an array for each leaf. */
export type Derivative<T> = unknown extends T ? NDArray : Traced<T>;

/** The positions of the arguments to differentiate in. */
export type Argnums = number | readonly number[];

/** Derivatives with respect to some of the parameters P: a list of them where a list of positions is given. */
export type DerivativeIn<P extends readonly unknown[], A extends Argnums> = A extends readonly number[]
  ? { [I in keyof A]: Derivative<P[A[I] & number]> }
  : A extends number
    ? Derivative<P[A]>
    : never;

/** A Jacobian: the tree of results, with a tree of derivatives for each leaf. */
export type JacobianOf<R, G> = unknown extends R
  ? G
  : R extends Leaf
    ? G
    : R extends Node
      ? { [K in keyof R]: JacobianOf<R[K], G> }
      : G;
