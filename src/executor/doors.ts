/**
 * Several calls of a pool in a row, written once for callers that await and for callers that block: a routine yields each
 * call in both forms, and one of two drivers makes it.
 */

/** A call in both forms. */
export interface Door<T> {
  awaited(): Promise<T>;
  blocked(): T;
}

/** A routine that yields calls and goes on with what they give. */
export type Routine<T> = Generator<Door<unknown>, T, unknown>;

/** Makes a call within a routine. */
export function* through<T>(door: Door<T>): Routine<T> {
  // Drivers answer a call with what it gives.
  return (yield door) as T;
}

/** Runs a routine, awaiting each call. */
export async function awaitRoutine<T>(routine: Routine<T>): Promise<T> {
  let step = routine.next();
  while (step.done !== true) {
    let value: unknown;
    try {
      value = await step.value.awaited();
    } catch (error) {
      step = routine.throw(error);
      continue;
    }
    step = routine.next(value);
  }
  return step.value;
}

/** Runs a routine, blocking for each call. */
export function blockRoutine<T>(routine: Routine<T>): T {
  let step = routine.next();
  while (step.done !== true) {
    let value: unknown;
    try {
      value = step.value.blocked();
    } catch (error) {
      step = routine.throw(error);
      continue;
    }
    step = routine.next(value);
  }
  return step.value;
}
