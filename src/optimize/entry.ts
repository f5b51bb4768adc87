/**
 * Checked reads of `Float64Array`s in inner loops. `base/at` takes any list, which makes it slow for all of them once
 * it has seen several kinds; this one sees a single kind, so the engine turns it into a plain bounds-checked load.
 */

/** The element `index` of `items`; throws `RangeError` outside it. */
export function entry(items: Float64Array, index: number): number {
  const item = items[index];
  if (item === undefined) {
    throw new RangeError(`index ${index} is outside an array of ${items.length}`);
  }
  return item;
}
