/**
 * The types of coefficients and data: what users pass, and what their functions are given.
 */
import type { ArrayInput, NDArray } from "../arrays/index.js";

/** Arrays, lists and objects of arrays: what coefficients and data may be. */
export type ArrayTree = ArrayInput | object;

/** What a function is given for a tree: the same tree with arrays as leaves. */
export type ArraysOf<T> = T extends ArrayInput
  ? NDArray
  : T extends readonly unknown[]
    ? { readonly [K in keyof T]: ArraysOf<T[K]> }
    : T extends Readonly<Record<string, unknown>>
      ? { readonly [K in keyof T]: ArraysOf<T[K]> }
      : T;
