/**
 * Waiting for a shared word without blocking the event loop: a short spin, which answers in microseconds when the other
 * side is quick, then `Atomics.waitAsync`, which costs nothing but does not keep a process alive by itself.
 */

/** Resolves when `words[index]` may differ from `value`: at once if it does, else when somebody notifies. */
export function park(words: Int32Array, index: number, value: number): Promise<unknown> | undefined {
  const result = Atomics.waitAsync(words, index, value);
  return result.async ? result.value : undefined;
}

/** What it costs to wake a thread that sleeps, in milliseconds: to watch for about as long is worth it. */
export const wakeTime = 0.25;

/** Looks at `ready` for at most `milliseconds`; true as soon as it holds. */
export function spin(ready: () => boolean, milliseconds: number): boolean {
  if (ready()) return true;
  if (milliseconds <= 0) return false;
  const end = performance.now() + milliseconds;
  do {
    for (let i = 0; i < 32; i++) if (ready()) return true;
  } while (performance.now() < end);
  return false;
}
