/** Arrays that every rank sees in the same memory. */
import type { DType, StorageOf } from "../base/dtype.js";
import { isDType, itemSize, viewOf } from "../base/dtype.js";
import { DTypeError } from "../base/errors.js";
import type { Shape } from "../base/shape.js";
import { requireShape, sizeOf } from "../base/shape.js";

/** A flat typed array on shared memory, with the shape that its elements stand for. */
export type SharedArray<D extends DType = DType> = StorageOf[D] & { readonly shape: Shape };

/**
 * A zeroed array in shared memory. Loop bodies that capture it read and write the same elements; nothing is copied.
 * Iterations that write the same element race, unless they use `Atomics`.
 *
 * @param shape the extents, or the number of elements
 * Throws `DTypeError` or `ShapeError`.
 */
export function sharedArray<D extends DType>(dtype: D, shape: Shape | number): SharedArray<D> {
  if (!isDType(dtype)) {
    throw new DTypeError({
      operation: "sharedArray",
      argument: "dtype",
      found: String(dtype),
      expected: "a dtype",
    });
  }
  const extents = [...requireShape("sharedArray", "shape", typeof shape === "number" ? [shape] : shape)];
  const size = sizeOf(extents);
  const view = viewOf(dtype, new SharedArrayBuffer(size * itemSize(dtype)), 0, size);
  return Object.defineProperty(view, "shape", { value: Object.freeze(extents) }) as SharedArray<D>; // Just defined.
}
