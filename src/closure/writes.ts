/**
 * Finds writes that would be lost: a rank has its own copy of what a body captures, so whatever the body writes into it,
 * directly, through a local name or by a mutating method, nobody else will ever see. Memory that is shared may be written.
 */
import { isShared } from "./codec.js";
import type { Path } from "./binding.js";
import type { Write } from "./scope.js";

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

/** Members that are looked at where a path does not say which is meant. */
const mostMembers = 16;

/** The objects inside a container. */
function membersOf(value: object): unknown[] {
  const members: Iterable<unknown> =
    value instanceof Map || value instanceof Set || Array.isArray(value)
      ? value.values()
      : ArrayBuffer.isView(value)
        ? []
        : Object.values(value);
  const found: unknown[] = [];
  for (const member of members) {
    if (found.push(member) >= mostMembers) break;
  }
  return found;
}

/** What a path may lead to. */
function follow(value: unknown, path: Path): unknown[] {
  let reached: unknown[] = [value];
  for (const step of path) {
    reached = reached.flatMap((one) => {
      if (typeof one !== "object" || one === null) return [];
      // Any object may be asked for any property.
      return step === null ? membersOf(one) : [(one as Record<string, unknown>)[step]];
    });
  }
  return reached;
}

function isLost(value: unknown, path: Path, how: Write["how"]): boolean {
  const method = path[path.length - 1];
  return follow(value, path.slice(0, -1)).some((target) => {
    if ((typeof target !== "object" && typeof target !== "function") || target === null) return false;
    if (how === "call" && (typeof method !== "string" || !mutates(target, method))) return false;
    return !isShared(target);
  });
}

function pathText(name: string, path: Path, how: Write["how"]): string {
  const text = name + path.map((step) => (step === null ? "[...]" : `.${step}`)).join("");
  return how === "call" ? `${text}(...)` : `${text} = ...`;
}

/**
 * Refuses writes that would be lost. `captured` are the values of free names; `loop` says what a body's two arguments
 * stand for, if it is a loop's body: its items, and the values that its context has by name.
 */
export function checkWrites(
  writes: readonly Write[],
  captured: Readonly<Record<string, unknown>>,
  loop:
    | {
        readonly items: readonly unknown[] | undefined;
        readonly named: Readonly<Record<string, unknown>>;
      }
    | undefined,
  refuse: (written: string, remedy: string, name: string) => void,
): void {
  const remedy = "return the value instead, or write into a sharedArray(dtype, shape)";
  const check = (name: string, value: unknown, path: Path, how: Write["how"]): void => {
    if (how === "name" ? path.length === 0 : isLost(value, path, how))
      refuse(pathText(name, path, how), remedy, name);
  };
  for (const { origin, path: end, how } of writes) {
    const path = [...origin.path, ...end];
    if (origin.kind === "free") {
      if (Object.hasOwn(captured, origin.name)) check(origin.name, captured[origin.name], path, how);
    } else if (loop === undefined) continue;
    else if (origin.index === 0) {
      const item = loop.items?.find((value) => typeof value === "object" && value !== null);
      if (item !== undefined && how !== "name") check("item", item, path, how);
    } else if (origin.index === 1) {
      const [name, ...rest] = path;
      if (typeof name !== "string" || !Object.hasOwn(loop.named, name)) continue;
      check(name, loop.named[name], rest, rest.length === 0 ? "name" : how);
    }
  }
}
