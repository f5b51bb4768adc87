/**
 * Where objectives are: each on one rank, or its chunks on several. Costs come from the table, and later from
 * measurements; what they decide is where and when, never what.
 */
import { at } from "../base/at.js";
import type { Balance, BalanceItem, BalancePart } from "../planner/balance.js";
import { balance } from "../planner/balance.js";
import { bytesOf } from "../transform/work.js";
import { chunkLabel } from "./chunks.js";
import type { Entry } from "./entry.js";
import type { Grid } from "./grid.js";
import { isCut } from "./grid.js";
import type { Method } from "./programs.js";

/** Where one objective is. */
export interface ObjectivePlacement {
  readonly grid: Grid;
  /** Which chunks are where; in one part if the objective is whole. */
  readonly parts: readonly BalancePart[];
}

/** A piece of work of a method: a chunk of the grid, or all of the objective. */
export interface PlacedPiece {
  readonly rank: number;
  readonly chunk: number | null;
}

/** The rank that has most of an objective; the first one, if several have as much. */
export function homeOf({ parts }: ObjectivePlacement): number {
  const size = ({ from, to }: BalancePart): number => to - from;
  return parts.reduce((best, part) => (size(part) > size(best) ? part : best)).rank;
}

/** True if the objective is computed in chunks. */
export function isSplit({ grid, parts }: ObjectivePlacement): boolean {
  return grid.chunks.length > 1 && (parts.length > 1 || grid.required);
}

/** The ranks that have parts of an objective, in order. */
export function ranksOf({ parts }: ObjectivePlacement): number[] {
  return [...new Set(parts.map(({ rank }) => rank))].sort((a, b) => a - b);
}

/** What a rank's work on an objective is called, in reports and errors. */
export function taskOf({ name }: Entry, { grid }: ObjectivePlacement, chunk: number | null): string {
  return chunk === null ? name : `${name} ${chunkLabel(grid, chunk)}`;
}

/** All names of work on an objective. */
export function tasksOf(entry: Entry, placement: ObjectivePlacement): string[] {
  const { chunks } = placement.grid;
  const several = chunks.length > 1 ? chunks.map((_, chunk) => taskOf(entry, placement, chunk)) : [];
  return [taskOf(entry, placement, null), ...several];
}

/** The pieces of an objective's work in a method, in the order of its chunks. */
export function piecesOf(placement: ObjectivePlacement, method: Method): PlacedPiece[] {
  if (!isSplit(placement) || !isCut(placement.grid, method)) {
    return [{ rank: homeOf(placement), chunk: null }];
  }
  return [...placement.parts]
    .sort((a, b) => a.from - b.from)
    .flatMap(({ rank, from, to }) =>
      Array.from({ length: to - from }, (_, i) => ({ rank, chunk: from + i })),
    );
}

/** The ranks' side of a placement. */
export interface RankBudget {
  readonly ranks: number;
  /** Bytes of its own that each rank has. */
  readonly memory: number;
  /** The ranks work in the shared heap: arguments and results take none of their memory. */
  readonly sharesHeap: boolean;
}

/** What an objective costs, for balancing: by the table, unless something was measured. */
export function balanceItem(entry: Entry, grid: Grid, { sharesHeap }: RankBudget): BalanceItem {
  const { rank } = entry.definition.options;
  const { graph } = entry.program("linearize");
  return {
    cost: entry.work,
    pieces: grid.chunks.length > 1 ? grid.work : [],
    bytes: sharesHeap ? 0 : bytesOf(graph, [...graph.inputs, ...graph.outputs]),
    ...(rank === undefined ? {} : { rank }),
  };
}

/** The grids of objectives, and where their chunks go. */
export function placeEntries(entries: readonly Entry[], budget: RankBudget): ObjectivePlacement[] {
  const grids = entries.map((entry) => entry.grid(budget.memory));
  const items = entries.map((entry, i) => balanceItem(entry, at(grids, i), budget));
  return placementOf(grids, balance(items, budget.ranks, budget.memory));
}

/** A balance as a placement. */
export function placementOf(grids: readonly Grid[], { parts }: Balance): ObjectivePlacement[] {
  return grids.map((grid, i) => ({ grid, parts: at(parts, i) }));
}
