/** Checks the arrays that a caller gives for a plan's regions. */
import type { Storage } from "../base/dtype.js";
import { allocate } from "../base/dtype.js";
import { ArgumentError, DTypeError, ShapeError } from "../base/errors.js";
import { sizeOf } from "../base/shape.js";
import type { Plan, RegionRole } from "../plan/plan.js";
import { formatType } from "../plan/plan.js";
import type { Arrays } from "./resident.js";

/** Refuses names that are no regions of the role, and arrays whose type or length is not the region's. */
export function checkArrays(
  operation: string,
  argument: string,
  plan: Plan,
  role: RegionRole,
  arrays: Arrays,
): void {
  for (const [name, data] of Object.entries<unknown>(arrays)) {
    const region = Object.hasOwn(plan.regions, name) ? plan.regions[name] : undefined;
    const where = `${argument}.${name}`;
    if (region?.role !== role) {
      const names = Object.entries(plan.regions).flatMap(([known, { role: own }]) =>
        own === role ? [known] : [],
      );
      throw new ArgumentError({
        operation,
        argument: where,
        found: region === undefined ? "no region of the plan" : `a region whose role is ${region.role}`,
        expected: names.length === 0 ? `nothing: the plan has no ${role}` : `one of ${names.join(", ")}`,
      });
    }
    const model: Storage = allocate(region.dtype, 0);
    if (typeof data !== "object" || data?.constructor !== model.constructor) {
      throw new DTypeError({
        operation,
        argument: where,
        found: data === null ? "null" : typeof data === "object" ? data.constructor.name : typeof data,
        expected: `a ${model.constructor.name}, for ${formatType(region)}`,
      });
    }
    const { length } = data as Storage; // Its class was just compared.
    if (length !== sizeOf(region.shape)) {
      throw new ShapeError({
        operation,
        argument: where,
        found: `${length} elements`,
        expected: `${sizeOf(region.shape)}, for ${formatType(region)}`,
      });
    }
  }
}
