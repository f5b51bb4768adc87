/**
 * Errors as plain data. Structured cloning keeps an error's message and stack but loses its class, its name, its cause
 * and its own properties, all of which a person needs, so errors cross threads in this form and are rebuilt.
 */
import * as errors from "../base/errors.js";

/** An error, or whatever else was thrown, as plain data. */
export interface ErrorWire {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  readonly cause?: ErrorWire;
  /** Own enumerable properties that structured cloning accepts. */
  readonly props: Readonly<Record<string, unknown>>;
  /** Not an error: the thrown value, if it can cross, else its text. */
  readonly thrown?: { readonly value: unknown };
}

const deepest = 16;

function cloneable(value: unknown): { readonly value: unknown } | undefined {
  try {
    return { value: structuredClone(value) };
  } catch {
    return undefined;
  }
}

/** Takes a thrown value apart. Never throws. */
export function errorToWire(thrown: unknown, depth = 0): ErrorWire {
  if (!(thrown instanceof Error) && !looksLikeError(thrown)) {
    const value = cloneable(thrown) ?? { value: String(thrown) };
    return { name: "NonError", message: printThrown(thrown), stack: undefined, props: {}, thrown: value };
  }
  const props: Record<string, unknown> = {};
  for (const key of Object.keys(thrown)) {
    if (key === "message" || key === "stack" || key === "name" || key === "cause") continue;
    try {
      const value = cloneable((thrown as unknown as Record<string, unknown>)[key]); // Own property, by its key.
      if (value !== undefined) props[key] = value.value;
    } catch {
      // A getter that throws: there is nothing to carry.
    }
  }
  return {
    name: textOf(thrown.name),
    message: textOf(thrown.message),
    stack: typeof thrown.stack === "string" ? thrown.stack : undefined,
    props,
    ...(thrown.cause === undefined || depth >= deepest
      ? {}
      : { cause: errorToWire(thrown.cause, depth + 1) }),
  };
}

/** Classes may declare their name or message as anything. */
function textOf(value: unknown): string {
  return typeof value === "string" ? value : String(value);
}

function printThrown(thrown: unknown): string {
  try {
    if (typeof thrown === "string") return thrown;
    const json: unknown = JSON.stringify(thrown); // undefined for functions and symbols
    return typeof json === "string" ? json : String(thrown);
  } catch {
    return typeof thrown;
  }
}

/** Errors of other realms (a `vm` context) are no instances of this one's `Error`. */
function looksLikeError(value: unknown): value is Error {
  return (
    typeof value === "object" && value !== null && Object.prototype.toString.call(value) === "[object Error]"
  );
}

const knownClasses: ReadonlyMap<string, { readonly prototype: object }> = new Map(
  [
    ...[EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError, AggregateError],
    ...Object.values(errors),
  ].map((errorClass) => [errorClass.name, errorClass]),
);

/** Puts an error together again: same name, message, stack, cause and properties, and the same class if it is known. */
export function errorFromWire(wire: ErrorWire): unknown {
  if (wire.thrown !== undefined) return wire.thrown.value;
  const error = new Error(
    wire.message,
    wire.cause === undefined ? undefined : { cause: errorFromWire(wire.cause) },
  );
  const known = knownClasses.get(wire.name);
  if (known !== undefined) Object.setPrototypeOf(error, known.prototype);
  const define = (key: string, value: unknown, enumerable: boolean): void => {
    Object.defineProperty(error, key, { value, enumerable, configurable: true, writable: true });
  };
  for (const [key, value] of Object.entries(wire.props)) define(key, value, true);
  if (error.name !== wire.name) define("name", wire.name, false);
  if (wire.stack !== undefined) define("stack", wire.stack, false);
  return error;
}
