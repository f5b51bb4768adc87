/**
 * The Euclidean norm, scaled so that squares neither overflow nor vanish: columns of a Jacobian may be of any size.
 */
import { entry } from "./entry.js";

/** The 2-norm of `count` entries from `start` on, `stride` apart; of all of them by default. */
export function norm(values: Float64Array, start = 0, stride = 1, count = values.length): number {
  let largest = 0;
  for (let i = 0; i < count; i++) largest = Math.max(largest, Math.abs(entry(values, start + i * stride)));
  if (largest === 0 || !Number.isFinite(largest)) return largest;
  let sum = 0;
  for (let i = 0; i < count; i++) {
    const scaled = entry(values, start + i * stride) / largest;
    sum += scaled * scaled;
  }
  return largest * Math.sqrt(sum);
}
