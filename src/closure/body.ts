/**
 * Takes a loop's body apart for its journey: finds what it uses from outside, matches that with what was given by name,
 * and refuses, by name and with a way out, what could not work or would be silently lost.
 */
import { at } from "../base/at.js";
import { ArgumentError, CaptureError } from "../base/errors.js";
import { capturedBy } from "./captured.js";
import { Encoder } from "./codec.js";
import "./codecs.js";
import type { CompiledSource } from "./functions.js";
import { closedSource, requirePortable } from "./functions.js";
import type { BodyWire } from "./job.js";
import { freeOf } from "./scope.js";
import { reading } from "./live.js";
import type { AnyFunction } from "./source.js";
import { sourceOf } from "./source.js";
import { checkWrites } from "./writes.js";

/** Values given to a body by name. */
export type Captures = Readonly<Record<string, unknown>>;

/** A body and the items of its loop, encoded in one message. */
export interface CapturedBody {
  readonly body: BodyWire;
  readonly items: readonly unknown[] | undefined;
  /** Bytes of scratch memory that a rank's values need. */
  readonly scratchBytes: number;
  /** Where a value stands that is memory which all ranks share. */
  readonly sharedPath: string | undefined;
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
  return reading(() => capture(operation, body, given, items));
}

function capture(
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
  requirePortable(free, (found) => {
    throw new CaptureError({
      operation,
      argument: "body",
      found,
      remedy: "give what is needed by name, in options.with",
    });
  });
  for (const { origin, how } of free.writes) {
    if (how !== "name" || origin.kind !== "free" || origin.path.length > 0) continue;
    throw new CaptureError({
      operation,
      argument: "body",
      found: `a function that assigns to "${origin.name}" from outside, which would be lost: a rank has its own copy`,
      remedy: "return the value instead",
    });
  }
  const { names, values } = capturedBy(body, free, captures, (name, found, remedy) => {
    throw new CaptureError({
      operation,
      argument: "body",
      found: `a function that uses "${name}" ${found}`,
      remedy: remedy === "give it by name" ? `write ${operation}(..., body, { with: { ${name} } })` : remedy,
    });
  });
  const captured = Object.fromEntries(names.map((name, i) => [name, values[i]]));
  checkWrites(free.writes, captured, { items, named: captures }, (written, remedy, name) => {
    throw new CaptureError({
      operation,
      argument: name === "item" ? "items" : Object.hasOwn(captures, name) ? `with.${name}` : name,
      found: `written to by the body (${written}); a rank has its own copy, so the write would be lost`,
      remedy: name === "item" ? "return what is new instead" : remedy,
    });
  });

  const encoder = new Encoder(operation);
  const encoded = Object.fromEntries(
    Object.entries(captures).map(([name, value]) => [name, encoder.encode(value, `with.${name}`)]),
  );
  const bound = values.map((value, i) => encoder.encode(value, at(names, i)));
  const encodedItems = items?.map((item, position) => encoder.encode(item, `items[${position}]`));
  const decoders: Record<string, CompiledSource> = {};
  for (const [name, codec] of encoder.foreign) {
    const argument = `the decoder of codec "${name}"`;
    decoders[name] = closedSource(codec.decode, argument, (found, remedy) => {
      throw new CaptureError({ operation, argument, found, remedy });
    });
  }
  return {
    body: { source: { text, strict, names }, values: bound, captures: encoded, decoders },
    items: encodedItems,
    scratchBytes: encoder.scratchBytes,
    sharedPath: encoder.sharedPath,
  };
}
