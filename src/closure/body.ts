/**
 * Takes a loop's body apart for its journey: finds what it uses from outside, matches that with what was given by name,
 * and refuses, by name and with a way out, what could not work or would be silently lost.
 */
import { ArgumentError, CaptureError } from "../base/errors.js";
import { Encoder, isShared } from "./codec.js";
import "./codecs.js";
import { closedSource, needsOf } from "./functions.js";
import type { CompiledSource } from "./functions.js";
import type { BodyWire } from "./job.js";
import type { Write } from "./scope.js";
import { freeOf } from "./scope.js";
import type { AnyFunction } from "./source.js";
import { sourceOf } from "./source.js";

/** Values given to a body by name. */
export type Captures = Readonly<Record<string, unknown>>;

/** A body and the items of its loop, encoded in one message. */
export interface CapturedBody {
  readonly body: BodyWire;
  readonly items: readonly unknown[] | undefined;
  /** Bytes of scratch memory that a rank's values need. */
  readonly scratchBytes: number;
}

const mutatingMethods: Readonly<Record<string, readonly string[]>> = {
  Array: ["push", "pop", "shift", "unshift", "splice", "sort", "reverse", "fill", "copyWithin"],
  Map: ["set", "delete", "clear"],
  Set: ["add", "delete", "clear"],
};
const mutatingView = new Set(["set", "fill", "sort", "reverse", "copyWithin"]);

function mutates(target: unknown, method: string): boolean {
  if (ArrayBuffer.isView(target)) return mutatingView.has(method) || /^set[A-Z]/.test(method);
  const tag = Object.prototype.toString.call(target).slice(8, -1);
  if (tag === "Date") return method.startsWith("set");
  return (Object.hasOwn(mutatingMethods, tag) ? mutatingMethods[tag] : undefined)?.includes(method) ?? false;
}

/** Follows a path; stops at the last value that is certain. */
function follow(value: unknown, path: readonly (string | null)[]): unknown {
  let current = value;
  for (const step of path) {
    if (step === null || typeof current !== "object" || current === null) return current;
    current = (current as Record<string, unknown>)[step]; // Any object may be asked for any property.
  }
  return current;
}

function pathText(name: string, { path, how }: Pick<Write, "path" | "how">): string {
  const text = name + path.map((step) => (step === null ? "[...]" : `.${step}`)).join("");
  return how === "call" ? `${text}(...)` : `${text} = ...`;
}

class BodyCheck {
  readonly #operation: string;
  readonly #captures: Captures;
  readonly #items: readonly unknown[] | undefined;

  constructor(operation: string, captures: Captures, items: readonly unknown[] | undefined) {
    this.#operation = operation;
    this.#captures = captures;
    this.#items = items;
  }

  checkWrites(writes: readonly Write[], imports: Readonly<Record<string, readonly string[]>>): void {
    for (const write of writes) this.#checkWrite(write, imports);
  }

  #checkWrite(write: Write, imports: Readonly<Record<string, readonly string[]>>): void {
    const { origin, how } = write;
    if (origin.kind === "free") {
      const [first, ...rest] = write.path;
      const imported = Object.hasOwn(imports, origin.name) && typeof first === "string";
      const [name, path] = imported ? [first, rest] : [origin.name, write.path];
      if (Object.hasOwn(this.#captures, name)) this.#checkTarget(name, path, how);
      return;
    }
    const path = [...origin.path, ...write.path];
    if (origin.index === 0) {
      if (how !== "name") this.#checkItem(path, how);
      return;
    }
    const [name, ...rest] = path;
    if (origin.index !== 1 || typeof name !== "string" || !Object.hasOwn(this.#captures, name)) return;
    this.#checkTarget(name, rest, rest.length === 0 ? "name" : how);
  }

  #checkTarget(name: string, path: readonly (string | null)[], how: Write["how"]): void {
    const lost = how === "name" || this.#isLost(this.#captures[name], path, how);
    if (!lost) return;
    throw new CaptureError({
      operation: this.#operation,
      argument: `with.${name}`,
      found: `written to by the body (${pathText(name, { path, how })}); a rank has its own copy, so the write would be lost`,
      remedy: "return the value instead, or write into a sharedArray(dtype, shape)",
    });
  }

  #checkItem(path: readonly (string | null)[], how: Write["how"]): void {
    const item = this.#items?.find((value) => typeof value === "object" && value !== null);
    if (item === undefined || !this.#isLost(item, path, how)) return;
    throw new CaptureError({
      operation: this.#operation,
      argument: "items",
      found: `written to by the body (${pathText("item", { path, how })}); a rank has its own copy, so the write would be lost`,
      remedy: "return what is new instead",
    });
  }

  #isLost(value: unknown, path: readonly (string | null)[], how: Write["how"]): boolean {
    const target = follow(value, path.slice(0, -1));
    if ((typeof target !== "object" && typeof target !== "function") || target === null) return false;
    const method = path[path.length - 1];
    if (how === "call" && (typeof method !== "string" || !mutates(target, method))) return false;
    return !isShared(target);
  }
}

/** What the context of a body is called by; `with` may not use these names. */
export const contextNames: ReadonlySet<string> = new Set(["rank", "numRanks", "index", "signal", "local"]);

function checkNames(operation: string, captures: unknown): asserts captures is Captures {
  if (typeof captures !== "object" || captures === null || Array.isArray(captures)) {
    throw new ArgumentError({
      operation,
      argument: "options.with",
      found: captures === null ? "null" : Array.isArray(captures) ? "a list" : typeof captures,
      expected: "an object of values by name",
    });
  }
  for (const name of Object.keys(captures)) {
    if (!contextNames.has(name)) continue;
    throw new CaptureError({
      operation,
      argument: `with.${name}`,
      found: `a name that the body's context has itself`,
      remedy: `give it another name: with: { ${name}Value: ${name} }`,
    });
  }
}

/** Encodes a body, its captures and its items. Throws `CaptureError` or `ArgumentError`. */
export function captureBody(
  operation: string,
  body: AnyFunction,
  given: object,
  items: readonly unknown[] | undefined,
): CapturedBody {
  if (typeof body !== "function") {
    throw new ArgumentError({ operation, argument: "body", found: typeof body, expected: "a function" });
  }
  const captures: unknown = given;
  checkNames(operation, captures);
  const { text, node, strict } = sourceOf(operation, "body", body);
  if (node.generator) {
    throw new CaptureError({
      operation,
      argument: "body",
      found: "a generator",
      expected: "a function or an async function",
    });
  }
  const free = freeOf(node);
  const { wanted, imports, wholeImports } = needsOf(free);
  for (const name of [...wanted, ...wholeImports]) {
    if (Object.hasOwn(captures, name)) continue;
    const assigned = free.writes.some(
      ({ origin, how }) => how === "name" && origin.kind === "free" && origin.name === name,
    );
    throw new CaptureError({
      operation,
      argument: "body",
      found: assigned
        ? `a function that assigns to "${name}" from outside, which would be lost: a rank has its own copy`
        : `a function that uses "${name}" from outside`,
      expected: "everything from outside to be given by name",
      remedy: assigned ? "return the value instead" : `write ${operation}(..., body, { with: { ${name} } })`,
    });
  }
  if (free.usesThis || free.usesSuper || free.usesImportMeta) {
    const what = free.usesThis ? "this" : free.usesSuper ? "super" : "import.meta";
    throw new CaptureError({
      operation,
      argument: "body",
      found: `a function that uses ${what} from outside`,
      remedy: "give what is needed by name, in options.with",
    });
  }
  new BodyCheck(operation, captures, items).checkWrites(free.writes, imports);

  const encoder = new Encoder(operation);
  const encoded = Object.fromEntries(
    Object.entries(captures).map(([name, value]) => [name, encoder.encode(value, `with.${name}`)]),
  );
  const encodedItems = items?.map((item, position) => encoder.encode(item, `items[${position}]`));
  const decoders: Record<string, CompiledSource> = {};
  for (const [name, codec] of encoder.foreign) {
    decoders[name] = closedSource(codec.decode, {
      path: `the decoder of codec "${name}"`,
      encode: () => undefined,
      refuse: (found, remedy) => {
        throw new CaptureError({ operation, argument: `the decoder of codec "${name}"`, found, remedy });
      },
      reserve: () => undefined,
    });
  }
  return {
    body: { source: { text, strict, names: wanted, imports }, captures: encoded, decoders },
    items: encodedItems,
    scratchBytes: encoder.scratchBytes,
  };
}
