/** heddle's own exports by name, so that a body that was given `np` finds it on its rank instead of taking it along. */
import { CaptureError } from "../base/errors.js";

const names = new Map<unknown, string>();
const values = new Map<string, unknown>();

/** Makes the members of a module known by name, and those of the namespaces in it: `np`, `np.sin`. */
export function registerExports(namespace: Readonly<Record<string, unknown>>, prefix = ""): void {
  for (const [key, value] of Object.entries(namespace)) {
    const name = prefix + key;
    if (typeof value !== "function" && (typeof value !== "object" || value === null)) continue;
    values.set(name, value);
    if (!names.has(value)) names.set(value, name);
    const isModule = typeof value === "object" && Object.prototype.toString.call(value) === "[object Module]";
    if (isModule) registerExports(value as Readonly<Record<string, unknown>>, `${name}.`);
  }
}

/** The name under which a value is exported. */
export function nameOfExport(value: unknown): string | undefined {
  return names.get(value);
}

/** The export of a name. */
export function exportNamed(name: string): unknown {
  const value = values.get(name);
  if (value === undefined) {
    throw new CaptureError({
      operation: "decode",
      found: `heddle's export "${name}", which this thread does not have`,
      remedy: "use the same version of heddle everywhere",
    });
  }
  return value;
}
