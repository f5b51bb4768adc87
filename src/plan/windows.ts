/**
 * Checks who touches which elements of the shared regions: no two ranks without an order between them, no store that
 * nobody could ever have seen, and no element of an output that nobody writes.
 */
import { at } from "../base/at.js";
import { sizeOf } from "../base/shape.js";
import { planError } from "./place.js";
import type { Plan, Region, Window } from "./plan.js";
import { overlap } from "./plan.js";
import type { RegionAccess } from "./simulate.js";
import { happenedBefore } from "./simulate.js";

/** The axis along which the windows differ most: sweeping along it meets the fewest pairs. */
function sweepAxis(accesses: readonly RegionAccess[], axes: number): number {
  let best = 0;
  let most = 0;
  for (let axis = 0; axis < axes; axis++) {
    const starts = new Set(accesses.map((access) => access.window.start[axis])).size;
    if (starts > most) [best, most] = [axis, starts];
  }
  return best;
}

function checkPair(name: string, a: RegionAccess, b: RegionAccess, all: readonly RegionAccess[]): void {
  if (!(a.writes || b.writes) || !overlap(a.window, b.window)) return;
  if (a.place.rank !== b.place.rank) {
    if (happenedBefore(a, b) || happenedBefore(b, a)) return;
    throw planError(
      a.writes && b.writes
        ? `two ranks write overlapping windows of region "${name}" in no order`
        : `one rank writes what another reads in region "${name}" in no order`,
      [a.place, b.place],
      "put a send and a receive, or a collective, between them",
    );
  }
  if (!(a.writes && b.writes) || a.place.instruction === b.place.instruction) return;
  const seen = all.some(
    (other) => !other.writes && overlap(other.window, a.window) && overlap(other.window, b.window),
  );
  if (!seen) throw planError(`two stores write overlapping windows of region "${name}"`, [a.place, b.place]);
}

function checkOrder(name: string, region: Region, accesses: readonly RegionAccess[]): void {
  const axis = sweepAxis(accesses, region.shape.length);
  const start = (access: RegionAccess): number => access.window.start[axis] ?? 0;
  const sorted = [...accesses].sort((a, b) => start(a) - start(b));
  for (let i = 0; i < sorted.length; i++) {
    const a = at(sorted, i);
    const end = start(a) + (a.window.extent[axis] ?? 1);
    for (let j = i + 1; j < sorted.length; j++) {
      const b = at(sorted, j);
      if (start(b) >= end) break;
      checkPair(name, a, b, accesses);
    }
  }
}

/** A position of the region that no window contains, or `undefined`. */
function uncovered(region: Region, windows: readonly Window[]): readonly number[] | undefined {
  if (sizeOf(region.shape) === 0) return undefined;
  const search = (axis: number, candidates: readonly Window[]): number[] | undefined => {
    const extent = region.shape[axis];
    if (extent === undefined) return candidates.length > 0 ? undefined : [];
    if (candidates.length === 0) return region.shape.slice(axis).map(() => 0);
    // Between two neighbouring cuts the same windows apply, so one position stands for all.
    const cuts = new Set([0]);
    for (const { start, extent: size } of candidates) {
      cuts.add(at(start, axis));
      cuts.add(at(start, axis) + at(size, axis));
    }
    for (const cut of [...cuts].sort((a, b) => a - b)) {
      if (cut >= extent) continue;
      const inside = candidates.filter(
        (w) => at(w.start, axis) <= cut && cut < at(w.start, axis) + at(w.extent, axis),
      );
      const rest = search(axis + 1, inside);
      if (rest !== undefined) return [cut, ...rest];
    }
    return undefined;
  };
  return search(0, windows);
}

/** Checks all accesses to all regions. */
export function checkWindows(plan: Plan, accesses: readonly RegionAccess[]): void {
  for (const [name, region] of Object.entries(plan.regions)) {
    const own = accesses.filter((access) => access.region === name);
    const stores = own.filter((access) => access.writes);
    if (stores.length > 0) checkOrder(name, region, own);
    if (region.role !== "output" || region.zero === true) continue;
    const hole = uncovered(
      region,
      stores.map((access) => access.window),
    );
    if (hole !== undefined) {
      throw planError(
        `no instruction writes element [${hole.join(",")}] of output region "${name}"`,
        [],
        "store it, or declare the region zero",
      );
    }
  }
}
