/**
 * What Piscina's workers are asked to do in the comparison: nothing.
 */

/** Returns its argument. */
export function emptyTask(value: number): number {
  return value;
}

// Piscina calls the default export.
// eslint-disable-next-line no-restricted-syntax -- a contract of Piscina's
export default emptyTask;
