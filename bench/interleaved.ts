/**
 * Measures alternatives in turn, round after round, so that a machine that drifts or is shared is fair to all of them.
 */
import { median } from "./median.js";

/** Something to measure. */
export interface Contestant {
  readonly name: string;
  /** Measured from the call to its return, or to the settling of what it promises. */
  readonly call: () => unknown;
}

/** How often and when. */
export interface Pace {
  readonly rounds: number;
  /** Calls in a row per round. */
  readonly calls: number;
  /** Calls at the start of every round that do not count. */
  readonly warmUp: number;
  /** Milliseconds of idleness before each call; 0 is none. */
  readonly idle: number;
  /** Milliseconds between contestants, in which those before come to rest. */
  readonly rest: number;
}

/** A pause, in milliseconds. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Milliseconds that a call takes. */
export async function timed(call: () => unknown): Promise<number> {
  const start = performance.now();
  const result = call();
  // A turn of the queue of promises would be time of its own for calls that promise nothing.
  if (result instanceof Promise) await result;
  return performance.now() - start;
}

/** The median of each contestant, in milliseconds, by name. */
export async function interleaved(
  contestants: readonly Contestant[],
  { rounds, calls, warmUp, idle, rest }: Pace,
): Promise<ReadonlyMap<string, number>> {
  const times = new Map(contestants.map(({ name }): [string, number[]] => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const { name, call } of contestants) {
      for (let number = -warmUp; number < calls; number++) {
        if (idle > 0) await pause(idle);
        const time = await timed(call);
        if (number >= 0) times.get(name)?.push(time);
      }
      if (rest > 0) await pause(rest);
    }
  }
  return new Map([...times].map(([name, list]) => [name, median(list)]));
}
