// Loops in plain JavaScript, which benchmarks compare with.

/**
 * A loop in plain JavaScript, as people write it: the checked element access that this project's compiler flags ask for
 * would slow it down.
 */
export function plainLoop(parameters: string, body: string): (...args: (Float64Array | number)[]) => void {
  // eslint-disable-next-line @typescript-eslint/no-implied-eval -- the text is a constant of this file
  return new Function(parameters, body) as (...args: (Float64Array | number)[]) => void;
}
