/**
 * Equality of arrays to the last bit, signs of zeros included; quick for large ones.
 */
import type { NDArray } from "heddle";
import { expect } from "vitest";

export function same(found: NDArray, wanted: NDArray): void {
  expect(found.shape).toEqual(wanted.shape);
  expect(found.dtype).toBe(wanted.dtype);
  const bytes = ({ data }: NDArray): Buffer => Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (bytes(found).equals(bytes(wanted))) return;
  expect(found.data).toEqual(wanted.data);
  throw new Error("arrays differ in their bits");
}
