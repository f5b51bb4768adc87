// Ranks watch for the next step about as long as steps are apart, and never long.
import { Watch } from "#heddle/transports/watch";
import { afterEach, describe, expect, it, vi } from "vitest";

afterEach(() => {
  vi.restoreAllMocks();
});

let clock = 1000;

/** What ranks are told after a number of steps that are `gap` milliseconds apart and take 3 ms. */
function after(steps: number, gap: number, watch = new Watch()): number {
  vi.spyOn(performance, "now").mockImplementation(() => clock);
  let told = 0;
  for (let i = 0; i < steps; i++) {
    told = watch.begin();
    clock += 3;
    watch.end();
    clock += gap;
  }
  return told;
}

describe("how long ranks watch for the next step", () => {
  it("is a moment at first, and where steps follow at once", () => {
    expect(after(1, 0)).toBe(100);
    expect(after(50, 0.005)).toBe(100);
  });

  it("is somewhat longer than steps are apart", () => {
    expect(after(50, 0.4)).toBeGreaterThan(500);
    expect(after(50, 0.4)).toBeLessThanOrEqual(600);
    expect(after(50, 1.2)).toBeGreaterThan(1500);
    expect(after(50, 1.2)).toBeLessThanOrEqual(1800);
  });

  it("is a moment where steps are far apart", () => {
    expect(after(50, 2)).toBe(100);
    expect(after(50, 500)).toBe(100);
  });

  it("forgets a pause after some steps", () => {
    const watch = new Watch();
    after(50, 1, watch);
    expect(after(2, 60_000, watch)).toBe(100);
    expect(after(20, 1, watch)).toBeGreaterThan(1400);
  });
});
