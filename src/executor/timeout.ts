/** The timeout of a call, checked. */
import { ArgumentError } from "../base/errors.js";

/** Refuses a timeout that is not a positive number of milliseconds. */
export function requireTimeout(operation: string, timeout: unknown): void {
  if (timeout === undefined || (typeof timeout === "number" && timeout > 0)) return;
  throw new ArgumentError({
    operation,
    argument: "options.timeout",
    found: typeof timeout === "number" || timeout === null ? String(timeout) : `a ${typeof timeout}`,
    expected: "a positive number of milliseconds",
  });
}
