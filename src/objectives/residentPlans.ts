/**
 * The plans of a function that lie in the heap, one per method, each loaded when it is first called and again when the
 * placement has changed; and the arrays that read their regions in place.
 */
import type { Tenure } from "../arrays/index.js";
import { Lease } from "../arrays/index.js";
import type { Storage } from "../base/dtype.js";
import { storageNow } from "../base/elements.js";
import { placeConstant } from "../executor/constants.js";
import { coreOf } from "../executor/cores.js";
import type { Routine } from "../executor/doors.js";
import { awaitRoutine, blockRoutine, through } from "../executor/doors.js";
import type { Pool } from "../executor/pool.js";
import type { Block } from "../heap/heap.js";
import type { LoadOptions, ResidentPlan } from "../executor/resident.js";
import type { ObjectivePlacement } from "./placement.js";
import type { MethodPlan } from "./plans.js";
import type { Method } from "./programs.js";

type Placement = readonly ObjectivePlacement[];

/** A method's plan on the ranks, and the placement that it carries out. */
interface Loaded {
  readonly plan: ResidentPlan;
  readonly placement: Placement;
}

function* disposing(plan: ResidentPlan): Routine<void> {
  yield* through({ awaited: () => plan.dispose(), blocked: () => plan.sync.dispose() });
}

export class ResidentPlans {
  readonly #pool: Pool;
  readonly #build: (method: Method, placement: Placement) => MethodPlan;
  readonly #plans = new Map<Method, Loaded>();
  /** Plans on their way. */
  readonly #loading = new Map<Method, Promise<ResidentPlan>>();
  /** Arrays that read a plan's regions in place, by method. */
  readonly #leases = new Map<Method, Lease[]>();

  constructor(pool: Pool, build: (method: Method, placement: Placement) => MethodPlan) {
    this.#pool = pool;
    this.#build = build;
  }

  /** One of the plans, if there is any. */
  get any(): ResidentPlan | undefined {
    return this.#plans.values().next().value?.plan;
  }

  /** The placement that a method's plan carries out. */
  placementOf(method: Method): Placement | undefined {
    return this.#plans.get(method)?.placement;
  }

  /** The plan of a method; loaded once, however many callers wait for it. Throws `MemoryError` if the heap is full. */
  *planOf(method: Method, placement: Placement): Routine<ResidentPlan> {
    const known = this.#plans.get(method);
    if (known?.placement === placement) return known.plan;
    return yield* through({
      awaited: () => {
        let loading = this.#loading.get(method);
        if (loading === undefined) {
          // A plan that could not be loaded is tried again by the next call.
          loading = awaitRoutine(this.#load(method, placement)).finally(() => this.#loading.delete(method));
          this.#loading.set(method, loading);
        }
        return loading;
      },
      blocked: () => blockRoutine(this.#load(method, placement)),
    });
  }

  /** Loads a plan in the place of an older one, which goes first: there may not be room for the results of both. */
  *#load(method: Method, placement: Placement): Routine<ResidentPlan> {
    const { plan: own, constants: arrays } = this.#build(method, placement);
    const { heap } = coreOf(this.#pool);
    const held: Block[] = [];
    try {
      const constants: Record<string, Storage> = {};
      // Held from here on, so that the arrays stay where they are when the older plan goes.
      for (const [name, data] of Object.entries(arrays)) {
        held.push(placeConstant(heap, storageNow(data), `${name} of ${method}`));
        constants[name] = storageNow(data);
      }
      yield* this.drop(method);
      const options: LoadOptions = { constants, label: method, onRelease: () => this.detach(method) };
      const plan = yield* through({
        awaited: () => this.#pool.load(own, options),
        // If the same plan is being loaded by a call that awaits, the pool refuses this one.
        blocked: () => this.#pool.sync.load(own, options),
      });
      this.#plans.set(method, { plan, placement });
      return plan;
    } finally {
      for (const block of held) block.free();
    }
  }

  /** Takes a method's plan out of the heap. */
  *drop(method: Method): Routine<void> {
    const loaded = this.#plans.get(method);
    this.#plans.delete(method);
    if (loaded !== undefined) yield* disposing(loaded.plan);
  }

  /** Takes all plans out of the heap; answers false if there were none. */
  *dropAll(): Routine<boolean> {
    const methods = [...this.#plans.keys()];
    for (const method of methods) yield* this.drop(method);
    return methods.length > 0;
  }

  /** Settles when no plan is on its way any more. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#loading.values());
  }

  /** An array that reads a region of a method's plan in place, until the memory is needed. */
  lend(method: Method, region: Storage, tenure: Tenure): Lease {
    const lease = new Lease(region, tenure);
    this.#leases.set(method, [...(this.#leases.get(method) ?? []), lease]);
    return lease;
  }

  /** Arrays that still read the regions of a method's plan get memory of their own. */
  detach(method: Method): void {
    for (const lease of this.#leases.get(method) ?? []) lease.detach();
    this.#leases.delete(method);
  }
}
