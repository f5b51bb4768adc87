/**
 * What objectives really cost, by the ranks' clocks, and whether another placement would be clearly better. Costs are the
 * least that was seen, forgotten slowly: a machine that is busy otherwise only ever adds time, and work that has become
 * more is believed after a while.
 */
import { at } from "../base/at.js";
import type { Ledger } from "../executor/ledger.js";
import type { BalanceItem, BalancePart } from "../planner/balance.js";
import { balance, loadsOf, makespan } from "../planner/balance.js";
import type { Entry } from "./entry.js";
import { isCut } from "./grid.js";
import type { ObjectivePlacement, RankBudget } from "./placement.js";
import { balanceItem, homeOf, isSplit, piecesOf, placementOf, taskOf } from "./placement.js";
import type { Method } from "./programs.js";

/** How much of the time of the busiest rank another placement must save. */
const clearly = 0.15;
/** Milliseconds that it must save: less is not worth loading programs anew. */
const worthwhile = 0.02;
/** By how much a cost that was seen once may have grown from one measured call to the next. */
const forget = 1.1;
/** All of the first calls are measured, then one in so many. */
const firstCalls = 16;
const oneIn = 16;
/** Measured calls before the first decision; after each change it takes twice as many, up to a limit. */
const firstDecision = 4;
const mostPatience = 64;

/** A piece of work whose time the ranks book. */
interface Clock {
  readonly objective: number;
  readonly chunk: number | null;
  readonly rank: number;
  readonly task: number;
}

/** What is known of a method. */
interface Costs {
  samples: number;
  /** Calls, older ones counting less. */
  weight: number;
  /** Milliseconds by objective, in one piece and by chunk. */
  readonly whole: (number | undefined)[];
  readonly chunks: (number[] | undefined)[];
}

/** A placement that would be clearly better. */
export interface Improvement {
  readonly placement: readonly ObjectivePlacement[];
  /** Milliseconds of the busiest rank in a call, as it is and as it would be. */
  readonly before: number;
  readonly after: number;
}

export class Measurements {
  readonly #entries: readonly Entry[];
  readonly #ledger: Ledger;
  readonly #numberOf: (task: string) => number;
  readonly #clocks = new WeakMap<readonly ObjectivePlacement[], Map<Method, readonly Clock[]>>();
  readonly #costs = new Map<Method, Costs>();
  #calls = 0;
  #patience = firstDecision;

  constructor(entries: readonly Entry[], ledger: Ledger, numberOf: (task: string) => number) {
    this.#entries = entries;
    this.#ledger = ledger;
    this.#numberOf = numberOf;
  }

  #clocksOf(method: Method, placement: readonly ObjectivePlacement[]): readonly Clock[] {
    const methods = this.#clocks.get(placement) ?? new Map<Method, readonly Clock[]>();
    this.#clocks.set(placement, methods);
    const known = methods.get(method);
    if (known !== undefined) return known;
    const clocks = placement.flatMap((place, objective) =>
      piecesOf(place, method).map(({ rank, chunk }) => ({
        objective,
        chunk,
        rank,
        task: this.#numberOf(taskOf(at(this.#entries, objective), place, chunk)),
      })),
    );
    methods.set(method, clocks);
    return clocks;
  }

  #costsOf(method: Method): Costs {
    let costs = this.#costs.get(method);
    if (costs === undefined) {
      costs = {
        samples: 0,
        weight: 0,
        whole: this.#entries.map(() => undefined),
        chunks: this.#entries.map(() => undefined),
      };
      this.#costs.set(method, costs);
    }
    return costs;
  }

  /** Begins a call; what it answers is called when the call has ended. */
  begin(method: Method, placement: readonly ObjectivePlacement[]): (() => void) | undefined {
    for (const costs of this.#costs.values()) costs.weight *= 0.99;
    this.#costsOf(method).weight++;
    if (this.#calls++ >= firstCalls && this.#calls % oneIn !== 0) return undefined;
    const clocks = this.#clocksOf(method, placement);
    const before = clocks.map(({ rank, task }) => ({ ...this.#ledger.total(rank, task) }));
    return () => {
      const times = clocks.map(({ rank, task }, i) => {
        const { milliseconds, count } = this.#ledger.total(rank, task);
        const then = at(before, i);
        // Other calls may have run meanwhile: then nobody knows whose time it was.
        return count === then.count + 1 ? milliseconds - then.milliseconds : undefined;
      });
      if (!times.includes(undefined)) this.#note(method, placement, clocks, times);
    };
  }

  #note(
    method: Method,
    placement: readonly ObjectivePlacement[],
    clocks: readonly Clock[],
    times: readonly (number | undefined)[],
  ): void {
    const costs = this.#costsOf(method);
    const relax = (old: number | undefined, seen: number): number =>
      old === undefined ? seen : Math.min(seen, old * forget);
    clocks.forEach(({ objective, chunk }, i) => {
      const seen = times[i] ?? 0;
      if (chunk === null) {
        costs.whole[objective] = relax(costs.whole[objective], seen);
        return;
      }
      const { length } = at(placement, objective).grid.chunks;
      const list = (costs.chunks[objective] ??= new Array<number>(length).fill(Infinity));
      list[chunk] = relax(at(list, chunk), seen);
    });
    costs.samples++;
  }

  /** What the objectives cost in a method, as they are computed now; `undefined` if that was not measured. */
  #items(
    method: Method,
    placement: readonly ObjectivePlacement[],
    budget: RankBudget,
  ): BalanceItem[] | undefined {
    const { whole, chunks } = this.#costsOf(method);
    const items: BalanceItem[] = [];
    for (const [objective, place] of placement.entries()) {
      const entry = at(this.#entries, objective);
      const cut = isCut(place.grid, method);
      const pieces = isSplit(place) && cut ? chunks[objective] : undefined;
      const all = pieces?.reduce((sum, piece) => sum + piece, 0) ?? whole[objective];
      if (all === undefined || !Number.isFinite(all)) return undefined;
      // The table says how a time that was measured as one is spread over chunks.
      const spread = place.grid.work.map((work) => (work / Math.max(1, entry.work)) * all);
      items.push({
        ...balanceItem(entry, place.grid, budget),
        cost: all,
        pieces: cut ? (pieces ?? spread) : [],
      });
    }
    return items;
  }

  /** A placement that is clearly better than the present one, by what was measured. */
  consider(placement: readonly ObjectivePlacement[], budget: RankBudget): Improvement | undefined {
    let most = 0;
    let chosen: readonly [Costs, BalanceItem[], Method] | undefined;
    for (const [method, costs] of this.#costs) {
      if (costs.samples < this.#patience) continue;
      const items = this.#items(method, placement, budget);
      if (items === undefined) continue;
      const time = costs.weight * items.reduce((sum, { cost }) => sum + cost, 0);
      if (time > most) [most, chosen] = [time, [costs, items, method]];
    }
    if (chosen === undefined) return undefined;
    const [, items, method] = chosen;
    const present = placement.map((place, i): readonly BalancePart[] => {
      if (isSplit(place) && isCut(place.grid, method)) return place.parts;
      return [{ rank: homeOf(place), from: 0, to: Math.max(1, at(items, i).pieces.length) }];
    });
    const before = makespan(loadsOf(items, present, budget.ranks));
    const found = balance(items, budget.ranks, budget.memory);
    const after = makespan(found.loads);
    if (before - after < Math.max(clearly * before, worthwhile)) return undefined;
    for (const costs of this.#costs.values()) costs.samples = 0;
    this.#patience = Math.min(mostPatience, 2 * this.#patience);
    const grids = placement.map(({ grid }) => grid);
    return { placement: placementOf(grids, found), before, after };
  }
}
