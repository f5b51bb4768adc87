/**
 * Checked element access. The compiler rightly says that `xs[i]` may be missing; where an index is right by
 * construction, `at` states so, and a mistake surfaces as an error at its place instead of an `undefined` far away.
 */

/** The element `index` of `items`; throws `RangeError` if there is none. */
export function at<T>(items: { readonly length: number; readonly [index: number]: T }, index: number): T {
  const item = items[index];
  if (item === undefined) {
    throw new RangeError(`index ${index} is outside a list of ${items.length}`);
  }
  return item;
}

/** The last element of `items`; throws `RangeError` if it is empty. */
export function last<T>(items: readonly T[]): T {
  return at(items, items.length - 1);
}
