/**
 * Decides whether an unknown value has the form of a plan. Plans come from files and from other machines, so nothing is
 * taken for granted: wrong types, unknown instructions, names that collide with object prototypes and absurd sizes are
 * refused before any other rule looks at them.
 */
import { isDType, itemSize } from "../base/dtype.js";
import { PlanError } from "../base/errors.js";
import type { Plan } from "./plan.js";

const limits = {
  ranks: 4096,
  instructions: 1_000_000,
  nesting: 32,
  axes: 32,
  nameLength: 400,
  bytes: 2 ** 48,
} as const;

const forbiddenNames = new Set(["__proto__", "constructor", "prototype"]);

function refuse(path: string, found: unknown, expected: string): never {
  let text: string;
  try {
    text = typeof found === "string" ? JSON.stringify(found.slice(0, 80)) : String(found);
  } catch {
    text = typeof found;
  }
  throw new PlanError({ operation: "verify", argument: path, found: text, expected });
}

type Fields = Readonly<Record<string, unknown>>;

function record(path: string, value: unknown): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) refuse(path, value, "an object");
  return value as Fields; // An object that is no array: its fields are unknown and are checked one by one.
}

/** Reads a field of untrusted data: own properties only. */
function field(fields: Fields, name: string): unknown {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

function list(path: string, value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) refuse(path, value, "a list");
  return value;
}

function name(path: string, value: unknown): string {
  if (typeof value !== "string" || value.length === 0 || value.length > limits.nameLength) {
    refuse(path, value, `a name of 1 to ${limits.nameLength} characters`);
  }
  if (forbiddenNames.has(value)) refuse(path, value, "a name that objects do not reserve");
  return value;
}

function integer(path: string, value: unknown, low: number, high: number): number {
  if (!Number.isSafeInteger(value)) refuse(path, value, `an integer from ${low} to ${high}`);
  const number = value as number; // isSafeInteger does not narrow `unknown`.
  if (number < low || number > high) refuse(path, value, `an integer from ${low} to ${high}`);
  return number;
}

function integers(path: string, value: unknown): number {
  const items = list(path, value);
  if (items.length > limits.axes) refuse(path, `a list of ${items.length}`, `at most ${limits.axes} axes`);
  items.forEach((item, axis) => integer(`${path}[${axis}]`, item, 0, limits.bytes));
  return items.length;
}

function type(path: string, value: unknown): void {
  const fields = record(path, value);
  const dtype = field(fields, "dtype");
  if (!isDType(dtype)) refuse(`${path}.dtype`, dtype, "a dtype");
  const shape = field(fields, "shape");
  integers(`${path}.shape`, shape);
  let bytes = itemSize(dtype);
  for (const extent of shape as readonly number[]) bytes *= extent; // `integers` has checked it.
  if (!(bytes <= limits.bytes)) refuse(`${path}.shape`, `${bytes} bytes`, `at most ${limits.bytes} bytes`);
}

function optional(path: string, value: unknown, kind: "string" | "boolean"): void {
  if (value !== undefined && typeof value !== kind) refuse(path, value, `a ${kind}, or nothing`);
}

function names(path: string, value: unknown): void {
  list(path, value).forEach((item, position) => name(`${path}[${position}]`, item));
}

function oneOf(path: string, value: unknown, choices: readonly string[]): void {
  if (typeof value !== "string" || !choices.includes(value))
    refuse(path, value, `one of ${choices.join(", ")}`);
}

const reductions = ["add", "mul", "max", "min"];

function collective(path: string, fields: Fields, ranks: number): void {
  name(`${path}.group`, field(fields, "group"));
  name(`${path}.input`, field(fields, "input"));
  name(`${path}.output`, field(fields, "output"));
  const operation = field(fields, "operation");
  oneOf(`${path}.operation`, operation, [
    "allReduce",
    "allGather",
    "reduceScatter",
    "allToAll",
    "broadcast",
    "permute",
  ]);
  if (operation === "allReduce" || operation === "reduceScatter") {
    oneOf(`${path}.reduce`, field(fields, "reduce"), reductions);
  }
  if (operation === "allGather" || operation === "reduceScatter" || operation === "allToAll") {
    integer(`${path}.axis`, field(fields, "axis"), 0, limits.axes);
  }
  if (operation === "broadcast") integer(`${path}.root`, field(fields, "root"), 0, ranks - 1);
  if (operation === "permute") {
    list(`${path}.pairs`, field(fields, "pairs")).forEach((pair, position) => {
      const ends = list(`${path}.pairs[${position}]`, pair);
      if (ends.length !== 2) refuse(`${path}.pairs[${position}]`, `a list of ${ends.length}`, "[from, to]");
      ends.forEach((end, which) => integer(`${path}.pairs[${position}][${which}]`, end, 0, ranks - 1));
    });
  }
}

interface Count {
  instructions: number;
}

function instruction(path: string, value: unknown, ranks: number, depth: number, count: Count): void {
  if (++count.instructions > limits.instructions) {
    refuse(path, `instruction number ${count.instructions}`, `at most ${limits.instructions} instructions`);
  }
  const fields = record(path, value);
  const kind = field(fields, "kind");
  switch (kind) {
    case "run":
      name(`${path}.program`, field(fields, "program"));
      names(`${path}.inputs`, field(fields, "inputs"));
      names(`${path}.outputs`, field(fields, "outputs"));
      optional(`${path}.task`, field(fields, "task"), "string");
      return;
    case "load":
    case "store": {
      name(`${path}.buffer`, field(fields, "buffer"));
      name(`${path}.region`, field(fields, "region"));
      const window = field(fields, "window");
      if (window === undefined) return;
      const box = record(`${path}.window`, window);
      integers(`${path}.window.start`, field(box, "start"));
      integers(`${path}.window.extent`, field(box, "extent"));
      return;
    }
    case "send":
      name(`${path}.buffer`, field(fields, "buffer"));
      name(`${path}.tag`, field(fields, "tag"));
      integer(`${path}.to`, field(fields, "to"), 0, ranks - 1);
      return;
    case "recv":
      name(`${path}.buffer`, field(fields, "buffer"));
      name(`${path}.tag`, field(fields, "tag"));
      integer(`${path}.from`, field(fields, "from"), 0, ranks - 1);
      type(path, value);
      return;
    case "collective":
      collective(path, fields, ranks);
      return;
    case "loop":
      if (depth >= limits.nesting)
        refuse(path, `a loop at depth ${depth}`, `at most ${limits.nesting} nested loops`);
      integer(`${path}.count`, field(fields, "count"), 1, Number.MAX_SAFE_INTEGER);
      list(`${path}.body`, field(fields, "body")).forEach((item, position) => {
        instruction(`${path}.body[${position}]`, item, ranks, depth + 1, count);
      });
      return;
    case "free":
      name(`${path}.buffer`, field(fields, "buffer"));
      return;
    default:
      refuse(`${path}.kind`, kind, "run, load, store, send, recv, collective, loop or free");
  }
}

function entries(path: string, value: unknown): [string, unknown][] {
  const table = Object.entries(record(path, value));
  for (const [key] of table) name(`${path} has an entry whose name`, key);
  return table;
}

/** Refuses, with the path of the first offence, what does not have the form of a plan. */
export function checkStructure(value: unknown): asserts value is Plan {
  const plan = record("plan", value);
  if (field(plan, "version") !== 1) refuse("plan.version", field(plan, "version"), "1");
  const ranks = integer("plan.ranks", field(plan, "ranks"), 1, limits.ranks);
  for (const [key, entry] of entries("plan.programs", field(plan, "programs"))) {
    const path = `plan.programs.${key}`;
    const program = record(path, entry);
    list(`${path}.inputs`, field(program, "inputs")).forEach((item, i) => type(`${path}.inputs[${i}]`, item));
    list(`${path}.outputs`, field(program, "outputs")).forEach((item, i) =>
      type(`${path}.outputs[${i}]`, item),
    );
    name(`${path}.hash`, field(program, "hash"));
    optional(`${path}.label`, field(program, "label"), "string");
  }
  for (const [key, entry] of entries("plan.regions", field(plan, "regions"))) {
    const path = `plan.regions.${key}`;
    type(path, entry);
    const region = record(path, entry);
    oneOf(`${path}.role`, field(region, "role"), ["input", "constant", "output", "scratch"]);
    optional(`${path}.zero`, field(region, "zero"), "boolean");
  }
  for (const [key, entry] of entries("plan.groups", field(plan, "groups"))) {
    const path = `plan.groups.${key}`;
    const members = list(path, entry);
    if (members.length === 0) refuse(path, "empty", "at least one rank");
    members.forEach((member, i) => integer(`${path}[${i}]`, member, 0, ranks - 1));
    if (new Set(members).size !== members.length) refuse(path, members.join(","), "each rank once");
  }
  const lists = list("plan.lists", field(plan, "lists"));
  if (lists.length !== ranks) refuse("plan.lists", `a list of ${lists.length}`, `${ranks}, one per rank`);
  const count = { instructions: 0 };
  lists.forEach((items, rank) => {
    list(`plan.lists[${rank}]`, items).forEach((item, position) => {
      instruction(`plan.lists[${rank}][${position}]`, item, ranks, 0, count);
    });
  });
}
