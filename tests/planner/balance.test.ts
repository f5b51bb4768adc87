/**
 * Balancing: every piece is somewhere, pinned items stay where they were pinned, the busiest rank is near the best that
 * can be, and equal numbers give equal placements.
 */
import { at } from "#heddle/base/at";
import type { BalanceItem } from "#heddle/planner/balance";
import { balance, loadsOf, makespan, partCost } from "#heddle/planner/balance";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

const whole = (cost: number, rank?: number): BalanceItem => ({
  cost,
  pieces: [],
  ...(rank === undefined ? {} : { rank }),
});
const divisible = (cost: number, count: number): BalanceItem => ({
  cost,
  pieces: new Array<number>(count).fill(cost / count),
});

describe("balance", () => {
  test("the costliest items are placed first", () => {
    const { parts, loads } = balance(
      [1, 4, 2, 3, 4].map((cost) => whole(cost)),
      2,
    );
    expect(parts.map((own) => own.map(({ rank }) => rank))).toEqual([[1], [0], [1], [0], [1]]);
    expect(loads).toEqual([7, 7]);
  });

  test("one large item is divided evenly, neighbours together", () => {
    const { parts, loads } = balance([divisible(64, 64)], 4);
    expect(parts).toEqual([[0, 1, 2, 3].map((rank) => ({ rank, from: 16 * rank, to: 16 * (rank + 1) }))]);
    expect(loads).toEqual([16, 16, 16, 16]);
  });

  test("a large item fills up what small ones leave", () => {
    const { parts, loads } = balance([whole(10), divisible(50, 50), whole(4)], 2);
    expect(loads).toEqual([32, 32]);
    expect(parts[1]).toEqual([
      { rank: 1, from: 0, to: 28 },
      { rank: 0, from: 28, to: 50 },
    ]);
  });

  test("fewer pieces than ranks are one each", () => {
    const { parts } = balance([divisible(9, 3), whole(0.1), whole(0.1)], 5);
    expect(at(parts, 0).map(({ from, to }) => to - from)).toEqual([1, 1, 1]);
  });

  test("what is not clearly more than a fair share stays whole", () => {
    const { parts } = balance([divisible(10.4, 20), divisible(10, 20)], 2);
    expect(parts.map((own) => own.length)).toEqual([1, 1]);
  });

  test("memory keeps items apart", () => {
    const item = (cost: number): BalanceItem => ({ cost, pieces: [], bytes: 60 });
    const { parts } = balance([item(5), item(1), item(1)], 3, 100);
    expect(new Set(parts.map((own) => own[0]?.rank)).size).toBe(3);
    const large: BalanceItem = { ...divisible(8, 8), bytes: 160 };
    const split = balance([large], 2, 100);
    expect(split.parts[0]?.map(({ from, to }) => to - from)).toEqual([4, 4]);
  });

  test("laws", () => {
    const cost = fc.double({ min: 0, max: 100, noNaN: true });
    const items = fc.array(
      fc.record({ cost, pieces: fc.array(cost, { maxLength: 12 }), pinned: fc.option(fc.nat(6)) }),
      { minLength: 1, maxLength: 9 },
    );
    fc.assert(
      fc.property(items, fc.integer({ min: 1, max: 7 }), (drawn, ranks) => {
        const list = drawn.map(({ cost: own, pieces, pinned }): BalanceItem => {
          const total = pieces.reduce((sum, piece) => sum + piece, 0);
          const item = { cost: pieces.length > 1 ? total : own, pieces };
          return pinned !== null && pinned < ranks ? { ...item, rank: pinned } : item;
        });
        const { parts, loads } = balance(list, ranks);
        expect(balance(list, ranks)).toEqual({ parts, loads });
        parts.forEach((own, i) => {
          const { pieces, rank } = at(list, i);
          const covered = own.flatMap(({ from, to }) =>
            Array.from({ length: to - from }, (_, k) => from + k),
          );
          expect(covered.sort((a, b) => a - b)).toEqual(
            Array.from({ length: Math.max(1, pieces.length) }, (_, k) => k),
          );
          if (rank !== undefined) expect(own.map((part) => part.rank)).toEqual([rank]);
          expect(new Set(own.map((part) => part.rank)).size).toBe(own.length);
        });
        expect(loads).toEqual(loadsOf(list, parts, ranks));
        // Graham's bound: nobody is busier than a fair share and the largest thing that was not divided further.
        const pinned = new Array<number>(ranks).fill(0);
        for (const item of list)
          if (item.rank !== undefined) pinned[item.rank] = at(pinned, item.rank) + item.cost;
        const total = loads.reduce((sum, load) => sum + load, 0);
        const largest = Math.max(
          0,
          ...parts.flatMap((own, i) => {
            const item = at(list, i);
            if (item.rank !== undefined) return [];
            return own.length > 1 ? item.pieces : own.map((part) => partCost(item, part));
          }),
        );
        expect(makespan(loads)).toBeLessThanOrEqual(
          (makespan(pinned) + total / ranks + largest) * (1 + 1e-9),
        );
      }),
      { numRuns: 300 },
    );
  });
});
