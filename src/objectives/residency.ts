/**
 * Which pool holds an objective, and where: what a loop over objectives needs to run each on its rank.
 */
import type { Pool } from "../executor/pool.js";
import type { Block } from "../heap/heap.js";
import type { Entry } from "./entry.js";
import type { Layout } from "./layout.js";
import type { Objective } from "./objective.js";
import type { PlacedObjective } from "./sync.js";

/** An objective that is part of a function on a pool. */
export interface Residency {
  /** Told apart from every other by this thread's ranks. */
  readonly id: number;
  readonly pool: Pool;
  readonly rank: number;
  readonly entry: Entry;
  readonly layout: Layout;
  /** Its constants and data in the heap, placed when first asked for. */
  placed(): PlacedObjective & { readonly blocks: readonly Block[] };
}

const residencies = new WeakMap<Objective, Residency[]>();
let next = 1;

/** A number that no other residency has. */
export function residencyId(): number {
  return next++;
}

/** Says that a function holds the objective. Returns how to take that back. */
export function announce(objective: Objective, residency: Residency): () => void {
  residencies.set(objective, [residency, ...(residencies.get(objective) ?? [])]);
  return () => {
    const rest = (residencies.get(objective) ?? []).filter(({ id }) => id !== residency.id);
    residencies.set(objective, rest);
  };
}

/** The latest function that holds the objective; of a pool's, if one is given. */
export function residencyOf(objective: Objective, pool?: object): Residency | undefined {
  return residencies.get(objective)?.find((residency) => pool === undefined || residency.pool === pool);
}
