/**
 * The gate in front of every rank: a plan that could read nonsense, lose a write, hang, or outgrow its memory is refused
 * here, with the instructions that are to blame.
 */
import { PlanError } from "../base/errors.js";
import { checkFlow } from "./flow.js";
import { layoutRank } from "./layout.js";
import type { Plan } from "./plan.js";
import { simulate } from "./simulate.js";
import { checkStructure } from "./structure.js";
import { checkWindows } from "./windows.js";

/** What a plan is checked against, besides itself. */
export interface VerifyOptions {
  /** Bytes that the buffers of one rank may take; not checked if absent. */
  readonly memory?: number;
  /** The ranks work in the shared heap: buffers that are regions in place take no memory of the rank. */
  readonly sharesHeap?: boolean;
}

/** Checks everything about a plan that can be known before it runs. Throws `PlanError`; the value may be untrusted. */
export function verify(value: unknown, options: VerifyOptions = {}): asserts value is Plan {
  checkStructure(value);
  const plan: Plan = value;
  plan.lists.forEach((_, rank) => {
    checkFlow(plan, rank);
  });
  checkWindows(plan, simulate(plan));
  const { memory, sharesHeap = false } = options;
  if (memory === undefined) return;
  plan.lists.forEach((_, rank) => {
    const { bytes } = layoutRank(plan, rank, { sharesHeap });
    if (bytes > memory) {
      throw new PlanError({
        operation: "verify",
        argument: `the memory of rank ${rank}`,
        found: `${bytes} bytes at its peak`,
        expected: `at most ${memory}`,
        remedy: "raise createPool({ memory }), or use smaller chunks",
      });
    }
  });
}
