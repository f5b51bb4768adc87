// How calls of the faults campaign end: every one within its bound, with a value or with what it threw.

/** Milliseconds within which everything settles, on a machine that does other things too. */
export const bound = 20_000;

/** How a call ended. */
export type Ended = { readonly value: unknown } | { readonly thrown: unknown };

/** Waits for a promise, but not for ever. */
export async function settled(what: string, call: Promise<unknown>): Promise<Ended> {
  let timer: NodeJS.Timeout | undefined;
  const overrun = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not settled after ${bound} ms`)), bound);
  });
  const end = call.then(
    (value: unknown): Ended => ({ value }),
    (thrown: unknown): Ended => ({ thrown }),
  );
  try {
    return await Promise.race([end, overrun]);
  } finally {
    clearTimeout(timer);
  }
}

/** Makes a call that blocks. One that never returns is the watchdog's to end. */
export function settledNow(call: () => unknown): Ended {
  try {
    return { value: call() };
  } catch (thrown) {
    return { thrown };
  }
}

/** What a call ended with, as text: a value, or an error with all that it says. */
export function describeEnd(end: Ended): string {
  if ("value" in end) return "a value";
  const { thrown } = end;
  if (!(thrown instanceof Error)) return `a thrown ${String(thrown)}`;
  const { rank, index, task } = thrown as { rank?: unknown; index?: unknown; task?: unknown };
  return `${thrown.name} (rank ${String(rank)}, index ${String(index)}, task ${String(task)}): ${thrown.message}`;
}

/** A pause. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
