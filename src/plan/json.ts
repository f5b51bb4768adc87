/**
 * Plans as JSON text. JSON has no NaN, infinities, negative zero or typed arrays, all of which graphs may hold, so these
 * are written as small tagged objects; the text of equal plans is equal, whatever order their tables were made in.
 */
import { isDType } from "../base/dtype.js";
import { PlanError } from "../base/errors.js";
import type { Plan } from "./plan.js";
import { checkStructure } from "./structure.js";

const numberTag = "$number";
const arrayTag = "$array";

const arrayClasses = {
  float64: Float64Array,
  float32: Float32Array,
  int32: Int32Array,
  uint32: Uint32Array,
  bool: Uint8Array,
} as const;

function dtypeOfArray(value: ArrayBufferView): keyof typeof arrayClasses | undefined {
  for (const [dtype, arrayClass] of Object.entries(arrayClasses)) {
    if (value instanceof arrayClass) return dtype as keyof typeof arrayClasses; // Object.entries widens the keys.
  }
  return undefined;
}

function numberToJSON(value: number): unknown {
  if (Object.is(value, -0)) return { [numberTag]: "-0" };
  return Number.isFinite(value) ? value : { [numberTag]: String(value) };
}

function unsupported(path: string, found: string): PlanError {
  return new PlanError({
    operation: "planToJSON",
    argument: path,
    found,
    expected: "plain data: numbers, strings, booleans, null, lists, objects and typed arrays",
  });
}

function toJSON(path: string, value: unknown): unknown {
  if (value === null) return null;
  switch (typeof value) {
    case "number":
      return numberToJSON(value);
    case "string":
    case "boolean":
      return value;
    case "object":
      break;
    default:
      throw unsupported(path, `a ${typeof value}`);
  }
  if (Array.isArray(value)) return value.map((item, position) => toJSON(`${path}[${position}]`, item));
  if (ArrayBuffer.isView(value)) {
    const dtype = dtypeOfArray(value);
    if (dtype === undefined) throw unsupported(path, value.constructor.name);
    const numbers = Array.from(value as Float64Array, numberToJSON); // Every listed class iterates over numbers.
    return { [arrayTag]: dtype, data: numbers };
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) throw unsupported(path, "an instance of a class");
  const sorted: [string, unknown][] = Object.entries(value as Record<string, unknown>) // A plain object.
    .filter(([, item]) => item !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([key, item]) => [key, toJSON(`${path}.${key}`, item)]);
  return Object.fromEntries(sorted);
}

function numberFromJSON(value: unknown): number {
  if (typeof value === "number") return value;
  const text =
    typeof value === "object" && value !== null ? (value as Record<string, unknown>)[numberTag] : undefined;
  switch (text) {
    case "-0":
      return -0;
    case "NaN":
      return NaN;
    case "Infinity":
      return Infinity;
    case "-Infinity":
      return -Infinity;
    default:
      throw new PlanError({
        operation: "planFromJSON",
        argument: numberTag,
        found: JSON.stringify(text),
        expected: '"-0", "NaN", "Infinity" or "-Infinity"',
      });
  }
}

function fromJSON(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (depth > 200) {
    throw new PlanError({ operation: "planFromJSON", found: "data nested deeper than 200 levels" });
  }
  if (Array.isArray(value)) return value.map((item) => fromJSON(item, depth + 1));
  const fields = value as Record<string, unknown>; // JSON objects are plain.
  if (Object.hasOwn(fields, numberTag)) return numberFromJSON(fields);
  if (Object.hasOwn(fields, arrayTag)) {
    const dtype = fields[arrayTag];
    const data = fields["data"];
    if (!isDType(dtype) || !Array.isArray(data)) {
      throw new PlanError({
        operation: "planFromJSON",
        argument: arrayTag,
        found: JSON.stringify(dtype),
        expected: "a dtype with a list as data",
      });
    }
    return arrayClasses[dtype].from(data.map(numberFromJSON));
  }
  const result: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(fields)) {
    // Assigning to "__proto__" would change the object's prototype instead of adding a field.
    Object.defineProperty(result, key, {
      value: fromJSON(item, depth + 1),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return result;
}

/** The plan as JSON text with sorted keys: equal plans give equal text. */
export function planToJSON(plan: Plan): string {
  return JSON.stringify(toJSON("plan", plan));
}

/** Reads what `planToJSON` wrote. The text is untrusted: whatever has not the form of a plan is a `PlanError`. */
export function planFromJSON(text: string): Plan {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw new PlanError({ operation: "planFromJSON", found: "text that is not JSON", cause });
  }
  const plan = fromJSON(parsed, 0);
  checkStructure(plan);
  return plan;
}
