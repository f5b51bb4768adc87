// Ranks watch for the next step about as long as steps let them wait, and never long.
import { Watch } from "#heddle/rank/watch";
import { afterEach, describe, expect, it, vi } from "vitest";

afterEach(() => {
  vi.restoreAllMocks();
});

let clock = 1000;

/** How long a rank watches after a number of steps that take 3 ms and come `wait` milliseconds after each other. */
function after(steps: number, wait: number, watch = new Watch()): number {
  vi.spyOn(performance, "now").mockImplementation(() => clock);
  for (let i = 0; i < steps; i++) {
    clock += wait;
    watch.begin();
    clock += 3;
    watch.end();
  }
  return watch.time;
}

describe("how long a rank watches for the next step", () => {
  it("is as long as a wake takes at first, and where steps follow at once", () => {
    expect(after(1, 0)).toBe(0.25);
    expect(after(50, 0.005)).toBe(0.25);
  });

  it("is somewhat longer than it had to wait", () => {
    expect(after(50, 0.4)).toBeCloseTo(0.6, 2);
    expect(after(50, 1.2)).toBeCloseTo(1.8, 2);
    expect(after(50, 3.5)).toBe(4);
  });

  it("is no longer than a wake takes where steps are far apart", () => {
    expect(after(50, 5)).toBe(0.25);
    expect(after(50, 500)).toBe(0.25);
  });

  it("forgets a pause after some steps", () => {
    const watch = new Watch();
    after(50, 1, watch);
    expect(after(3, 60_000, watch)).toBe(0.25);
    expect(after(20, 1, watch)).toBeCloseTo(1.5, 1);
  });
});
