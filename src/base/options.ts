/** Options that do not exist are refused: a misspelled one would be silently without effect. */
import { ArgumentError } from "./errors.js";

/** Throws `ArgumentError` if `options` is no object, or has a key that is not one of `known`. */
export function requireKnownOptions(
  operation: string,
  options: unknown,
  known: readonly string[],
  argument = "options",
): void {
  if (typeof options !== "object" || options === null) {
    const found =
      options === null ? "null" : typeof options === "string" ? JSON.stringify(options) : typeof options;
    throw new ArgumentError({ operation, argument, found, expected: "an object" });
  }
  for (const key in options) {
    if (known.includes(key)) continue;
    throw new ArgumentError({
      operation,
      argument: `${argument}.${key}`,
      found: "given, though there is no such option",
      expected: `only ${known.join(", ")}`,
      remedy: "remove it, or look for its right name",
    });
  }
}
