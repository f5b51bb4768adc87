/** Failures on purpose, so that tests can show what happens when a rank breaks in the middle of a program. */

/** What the next run of a program does instead. */
export const fault = { none: 0, throw: 1, exit: 2, endless: 3 } as const;

/** Called before each run: carries out the fault that lies in word 0, once. */
export function faultHook(words: Int32Array | undefined): () => void {
  if (words === undefined) return () => {};
  return () => {
    const kind = Atomics.exchange(words, 0, fault.none);
    if (kind === fault.throw)
      throw new RangeError("a fault was asked for", { cause: new Error("by a test") });
    if (kind === fault.exit) process.exit(3);
    while (kind === fault.endless) void 0;
  };
}
