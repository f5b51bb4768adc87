/**
 * Which rank does what: items with costs, some of which can be divided into runs of neighbouring pieces, are laid over
 * ranks so that the busiest one is done early. Pure arithmetic, so that equal numbers give equal placements everywhere.
 */
import { at } from "../base/at.js";

/** Something that has to be done in every step. */
export interface BalanceItem {
  /** What it costs in one piece. */
  readonly cost: number;
  /** What its pieces cost when it is divided; fewer than two if it cannot be. */
  readonly pieces: readonly number[];
  /** Bytes of a rank's own memory that it takes in one piece. */
  readonly bytes?: number;
  /** The rank that must do all of it. */
  readonly rank?: number;
}

/** Neighbouring pieces of an item on one rank: from `from` to before `to`. */
export interface BalancePart {
  readonly rank: number;
  readonly from: number;
  readonly to: number;
}

/** A placement. */
export interface Balance {
  /** The parts of each item, in the order of its pieces. An item in one piece is one part. */
  readonly parts: readonly (readonly BalancePart[])[];
  /** What each rank has to do. */
  readonly loads: readonly number[];
}

/** The cost of a part. */
export function partCost({ cost, pieces }: BalanceItem, { from, to }: BalancePart): number {
  if (to - from >= pieces.length) return cost;
  return pieces.slice(from, to).reduce((sum, piece) => sum + piece, 0);
}

/** What each rank has to do under a placement. */
export function loadsOf(items: readonly BalanceItem[], parts: Balance["parts"], ranks: number): number[] {
  const loads = new Array<number>(ranks).fill(0);
  parts.forEach((own, i) => {
    for (const part of own) loads[part.rank] = at(loads, part.rank) + partCost(at(items, i), part);
  });
  return loads;
}

/** The time after which all ranks are done. */
export function makespan(loads: readonly number[]): number {
  return Math.max(0, ...loads);
}

/** The level to which `amount` fills vessels that hold `loads` already. */
function fillLevel(loads: readonly number[], amount: number): number {
  const sorted = [...loads].sort((a, b) => a - b);
  let held = 0;
  for (let count = 1; count <= sorted.length; count++) {
    held += at(sorted, count - 1);
    const level = (held + amount) / count;
    const next = sorted[count];
    if (next === undefined || level <= next) return level;
  }
  return 0;
}

class Ranks {
  readonly loads: number[];
  readonly #memory: number[];

  constructor(ranks: number, memory: number) {
    this.loads = new Array<number>(ranks).fill(0);
    this.#memory = new Array<number>(ranks).fill(memory);
  }

  /** The least loaded rank with room; without one, the one with the most room. */
  choose(bytes: number): number {
    const all = this.loads.map((_, rank) => rank);
    const roomy = all.filter((rank) => at(this.#memory, rank) >= bytes);
    const least = (list: readonly number[], of: readonly number[]): number =>
      list.reduce((best, rank) => (at(of, rank) < at(of, best) ? rank : best));
    if (roomy.length > 0) return least(roomy, this.loads);
    return least(
      all,
      this.#memory.map((room) => -room),
    );
  }

  take(rank: number, cost: number, bytes: number): void {
    this.loads[rank] = at(this.loads, rank) + cost;
    this.#memory[rank] = at(this.#memory, rank) - bytes;
  }

  /** Runs of neighbouring pieces that keep the ranks at or below the lowest level that they can. */
  fill({ pieces, bytes = 0 }: BalanceItem): BalancePart[] {
    const share = bytes / pieces.length;
    const total = pieces.reduce((sum, piece) => sum + piece, 0);
    let low = fillLevel(this.loads, total);
    let high = makespan(this.loads) + total;
    for (let step = 0; step < 50; step++) {
      const middle = (low + high) / 2;
      if (this.#runs(pieces, share, middle) === null) low = middle;
      else high = middle;
    }
    const parts = this.#runs(pieces, share, high) ?? [];
    for (const { rank, from, to } of parts) {
      const cost = pieces.slice(from, to).reduce((sum, piece) => sum + piece, 0);
      this.take(rank, cost, share * (to - from));
    }
    return parts;
  }

  /** Runs that fill ranks up to a level, the least loaded first; `null` if that does not suffice for all pieces. */
  #runs(pieces: readonly number[], share: number, level: number): BalancePart[] | null {
    const order = this.loads.map((_, rank) => rank).sort((a, b) => at(this.loads, a) - at(this.loads, b));
    const parts: BalancePart[] = [];
    let from = 0;
    order.forEach((rank, position) => {
      let load = at(this.loads, rank);
      let room = at(this.#memory, rank);
      let to = from;
      // Where memory is short everywhere, the last rank takes the rest, and its plan is refused by name.
      const last = position === order.length - 1;
      while (to < pieces.length && load + at(pieces, to) <= level && (room >= share || last)) {
        load += at(pieces, to++);
        room -= share;
      }
      if (to > from) parts.push({ rank, from, to });
      from = to;
    });
    return from === pieces.length ? parts : null;
  }
}

/** An item that is less than this over a fair share gains nothing by being divided. */
const clearly = 1.1;

/**
 * Places items on ranks. What is clearly more than a fair share of everything is divided; the rest is placed whole, the
 * costliest first, each on the least loaded rank; then the divided items fill the ranks up to one level.
 *
 * @param memory bytes of its own that each rank has
 */
export function balance(items: readonly BalanceItem[], ranks: number, memory = Infinity): Balance {
  const share = items.reduce((sum, { cost }) => sum + cost, 0) / ranks;
  const divided = ({ cost, pieces, rank }: BalanceItem): boolean =>
    ranks > 1 && rank === undefined && pieces.length > 1 && cost > share * clearly;
  const state = new Ranks(ranks, memory);
  const parts = items.map((): BalancePart[] => []);
  const place = (i: number, rank: number): void => {
    const { cost, pieces, bytes = 0 } = at(items, i);
    // An item that costs nothing still takes a turn, so that such items spread too.
    state.take(rank, Math.max(Number.MIN_VALUE, cost), bytes);
    parts[i] = [{ rank, from: 0, to: Math.max(1, pieces.length) }];
  };
  const order = items.map((_, i) => i).sort((a, b) => at(items, b).cost - at(items, a).cost || a - b);
  for (const i of order) {
    const { rank } = at(items, i);
    if (rank !== undefined) place(i, rank);
  }
  for (const i of order) {
    const item = at(items, i);
    if (item.rank === undefined && !divided(item)) place(i, state.choose(item.bytes ?? 0));
  }
  for (const i of order) {
    const item = at(items, i);
    if (divided(item)) parts[i] = state.fill(item);
  }
  return { parts, loads: loadsOf(items, parts, ranks) };
}
