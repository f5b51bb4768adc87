// The allocator never hands out an address twice, gives everything back, and knows its limits.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MemoryError } from "#heddle/base/errors";
import { Allocator, granule } from "#heddle/heap/allocator";
import { copyBox, denseSide, windowSide } from "#heddle/heap/box";
import { Heap } from "#heddle/heap/heap";

const actions = fc.array(
  fc.oneof(
    fc.record({ take: fc.integer({ min: 0, max: 2000 }) }),
    fc.record({ give: fc.nat(), take: fc.constant(undefined) }),
  ),
  { maxLength: 200 },
);

describe("the allocator", () => {
  it("keeps used ranges apart, aligned and inside, and free ranges whole", () => {
    fc.assert(
      fc.property(actions, (list) => {
        const end = 64 * granule;
        const allocator = new Allocator(granule, end);
        const used: { address: number; size: number }[] = [];
        for (const action of list) {
          if (action.take === undefined) {
            const [range] = used.splice("give" in action ? action.give % Math.max(1, used.length) : 0, 1);
            if (range !== undefined) expect(allocator.give(range.address)).toBe(true);
          } else {
            const address = allocator.take(action.take);
            const size = Math.max(1, Math.ceil(action.take / granule)) * granule;
            const fits = allocator.freeRanges().some((range) => range.end - range.start >= size);
            if (address === undefined) expect(fits).toBe(false);
            else {
              expect(address % granule).toBe(0);
              expect(address).toBeGreaterThanOrEqual(granule);
              expect(address + size).toBeLessThanOrEqual(end);
              for (const other of used) {
                expect(address >= other.address + other.size || other.address >= address + size).toBe(true);
              }
              used.push({ address, size });
            }
          }
          const free = allocator.freeRanges();
          for (let i = 1; i < free.length; i++) expect(free[i - 1]?.end).toBeLessThan(free[i]?.start ?? -1);
          const usedBytes = used.reduce((sum, range) => sum + range.size, 0);
          expect(allocator.usedBytes).toBe(usedBytes);
          expect(free.reduce((sum, range) => sum + range.end - range.start, 0)).toBe(
            end - granule - usedBytes,
          );
        }
        for (const { address } of used) allocator.give(address);
        expect(allocator.freeRanges()).toEqual([{ start: granule, end }]);
      }),
      { numRuns: 200 },
    );
  });

  it("does not take back what it has not handed out", () => {
    const allocator = new Allocator(granule, 10 * granule);
    const address = allocator.take(1);
    expect(address).toBe(granule);
    expect(allocator.give(0)).toBe(false);
    expect(allocator.give(granule + 1)).toBe(false);
    expect(allocator.give(granule)).toBe(true);
    expect(allocator.give(granule)).toBe(false);
  });
});

describe("the heap", () => {
  it("grows, keeps old views valid, and hands out zeros", () => {
    const heap = new Heap();
    const small = heap.allocate(80, "small");
    const view = heap.view("float64", small.address, 10);
    view.fill(7);
    const big = heap.allocate(5_000_000, "big");
    expect(heap.report().capacity).toBeGreaterThan(5_000_000);
    expect([...heap.view("float64", small.address, 10)]).toEqual(new Array<number>(10).fill(7));
    view[0] = 8;
    expect(heap.view("float64", small.address, 1)[0]).toBe(8);
    expect(heap.view("bool", big.address, 5_000_000).every((byte) => byte === 0)).toBe(true);
    heap.view("bool", big.address, 5_000_000).fill(1);
    big.free();
    big.free();
    const again = heap.allocate(5_000_000, "again");
    expect(again.address).toBe(big.address);
    expect(heap.view("bool", again.address, 5_000_000).every((byte) => byte === 0)).toBe(true);
    again.free();
    small.free();
    expect(heap.report()).toMatchObject({ usedBytes: 0, blocks: 0 });
  });

  it("refuses what goes beyond its limit, by name and numbers, and works on", () => {
    const heap = new Heap({ limit: 1_000_000 });
    const first = heap.allocate(900_000, "first");
    expect(() => heap.allocate(200_000, "second")).toThrow(MemoryError);
    expect(() => heap.allocate(200_000, "second")).toThrow(
      /second is 200000 bytes, with 900032 in use, expected at most 1000000 in all/,
    );
    first.free();
    heap.allocate(200_000, "second").free();
    expect(() => heap.allocate(NaN, "nonsense")).toThrow(MemoryError);
    expect(() => heap.allocate(2 ** 40, "absurd")).toThrow(MemoryError);
  });
});

describe("copyBox", () => {
  it("moves any window of any array as a loop over elements does", () => {
    const axis = fc.record({ extent: fc.integer({ min: 1, max: 4 }), before: fc.nat(2), after: fc.nat(2) });
    fc.assert(
      fc.property(fc.array(axis, { maxLength: 4 }), (axes) => {
        const extent = axes.map((one) => one.extent);
        const start = axes.map((one) => one.before);
        const shape = axes.map((one) => one.before + one.extent + one.after);
        const size = (list: number[]): number => list.reduce((product, value) => product * value, 1);
        const source = Float64Array.from({ length: size(shape) }, (_, i) => i + 1);
        const dense = new Float64Array(size(extent));
        const bytes = (array: Float64Array): Uint8Array => new Uint8Array(array.buffer);
        const window = windowSide(bytes(source), 0, shape, start, 8);
        copyBox(denseSide(bytes(dense), 0, extent, 8), window, extent, 8);
        const position = (flat: number): number => {
          let rest = flat;
          let offset = 0;
          let stride = 1;
          for (let i = extent.length - 1; i >= 0; i--) {
            offset += ((rest % (extent[i] ?? 1)) + (start[i] ?? 0)) * stride;
            rest = Math.floor(rest / (extent[i] ?? 1));
            stride *= shape[i] ?? 1;
          }
          return offset;
        };
        dense.forEach((value, i) => expect(value).toBe(source[position(i)]));
        const back = new Float64Array(size(shape));
        const target = windowSide(bytes(back), 0, shape, start, 8);
        copyBox(target, denseSide(bytes(dense), 0, extent, 8), extent, 8);
        expect(back.filter((value) => value !== 0).length).toBe(dense.length);
        dense.forEach((value, i) => expect(back[position(i)]).toBe(value));
      }),
    );
  });
});
