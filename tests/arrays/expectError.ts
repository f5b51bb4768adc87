// Errors are part of the contract: a test names the class, the code and the parts of the message that a user needs.
import type { HeddleError } from "heddle";
import { expect } from "vitest";

/** Runs `f` and checks what it throws. */
export function expectError(
  f: () => unknown,
  type: abstract new (...args: never[]) => HeddleError,
  code: string,
  ...parts: readonly string[]
): void {
  let caught: unknown;
  try {
    f();
  } catch (error) {
    caught = error;
  }
  expect(caught, `expected ${type.name}: ${parts.join(" ... ")}`).toBeInstanceOf(type);
  const error = caught as HeddleError;
  expect(error.code).toBe(code);
  for (const part of parts) expect(error.message).toContain(part);
}
