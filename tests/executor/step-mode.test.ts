// Who carries out the steps of a plan is decided by what was measured, and decided anew now and then.
import { StepModes } from "#heddle/executor/step-mode";
import { describe, expect, it } from "vitest";

type Mode = ReturnType<StepModes["next"]>;

/** Runs steps that take `times[mode]` milliseconds and compute `work`; answers the mode of each. */
function run(
  modes: StepModes,
  steps: number,
  times: Readonly<Record<Mode, number>>,
  work: number,
): readonly Mode[] {
  return Array.from({ length: steps }, () => {
    const mode = modes.next();
    modes.took(mode, times[mode], work);
    return mode;
  });
}

const all = ["joined", "inline"] as const;

describe("the way of steps", () => {
  it("is the quickest of those that were tried", () => {
    for (const [joined, inline, best] of [
      [0.02, 0.1, "joined"],
      [0.05, 0.01, "inline"],
      [0.1, 0.12, "ranks"],
      [0.095, 0.2, "ranks"],
    ] as const) {
      const modes = new StepModes(all, false);
      const seen = run(modes, 200, { ranks: 0.1, joined, inline }, 0.001);
      expect(new Set(seen.slice(0, 96))).toEqual(new Set(["ranks", "joined", "inline"]));
      expect(new Set(seen.slice(96))).toEqual(new Set([best]));
      expect(modes.news()).toBe(best === "inline" ? true : undefined);
    }
  });

  it("is not the calling thread's where an awaiting caller would be held up", () => {
    const modes = new StepModes(all, false);
    expect(new Set(run(modes, 200, { ranks: 1, joined: 0.1, inline: 0.1 }, 0.6))).toEqual(new Set(["ranks"]));
  });

  it("is the caller's part at first where the caller blocks", () => {
    const modes = new StepModes(all, true);
    const seen = run(modes, 200, { ranks: NaN, joined: 1, inline: 0.1 }, 5);
    expect(new Set(seen)).toEqual(new Set(["joined"]));
    expect(new StepModes(["joined"], true).next()).toBe("joined");
  });

  it("is the ranks' where nothing else is to be had", () => {
    const modes = new StepModes([], true);
    expect(new Set(run(modes, 20, { ranks: 1, joined: NaN, inline: NaN }, 0))).toEqual(new Set(["ranks"]));
  });

  it("is found anew when times change", () => {
    const modes = new StepModes(all, false);
    run(modes, 100, { ranks: 0.1, joined: 0.02, inline: 0.01 }, 0.001);
    expect(modes.next()).toBe("inline");
    const seen = run(modes, 3000, { ranks: 0.1, joined: 0.02, inline: 0.5 }, 0.001);
    expect(seen.at(-1)).toBe("joined");
  });
});
