// Random lives of a pool: steps, loops, throws, exits, aborts and unloads in random order and at once. Every call
// settles, every result that comes is right, and afterwards nothing is left in the heap.
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { parallelFor } from "heddle";
import { adoptCore } from "#heddle/executor/cores";
import { openPool } from "#heddle/executor/open";
import { Pool } from "#heddle/executor/pool";
import { Heap } from "#heddle/heap/heap";
import { fault } from "#heddle/rank/faults";
import { blocks, ring } from "../contracts/plans.js";

const ranks = 2;

const action = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ kind: "step" as const }) },
  { weight: 2, arbitrary: fc.constant({ kind: "ring" as const }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("loop" as const),
      n: fc.nat(40),
      bad: fc.option(fc.nat(40)),
      exits: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("break" as const),
      rank: fc.nat(ranks - 1),
      exits: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("abort" as const), after: fc.nat(3) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("wait" as const), milliseconds: fc.nat(8) }) },
  { weight: 1, arbitrary: fc.constant({ kind: "once" as const }) },
  { weight: 3, arbitrary: fc.constant({ kind: "settle" as const }) },
);

it("settles every call, whatever happens to its ranks", { timeout: 120_000 }, async () => {
  const kinds = new Set(["RankError", "RankLostError", "AbortError"]);
  let failures = 0;
  let successes = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 30 }), async (actions) => {
      const heap = new Heap();
      const faults = Array.from({ length: ranks }, () => new Int32Array(new SharedArrayBuffer(4)));
      const pool = new Pool();
      adoptCore(pool, await openPool({ ranks }, { heap, faults }));
      const { plan, arrays } = blocks(ranks);
      const { c, ...constants } = arrays;
      const resident = await pool.load(plan, { constants });
      const circle = ring(ranks);
      const around = await pool.load(circle.plan);
      const step = (signal?: AbortSignal): Promise<number[]> =>
        resident.run(
          { c: c as Float64Array },
          (region) => [...region("y")],
          signal === undefined ? {} : { signal },
        );
      const y = await step();
      const calls: Promise<unknown>[] = [];
      const expectResult = (call: Promise<unknown>, value: unknown): void => {
        calls.push(
          call.then(
            (found) => {
              successes++;
              expect(found).toEqual(value);
            },
            (error: unknown) => {
              failures++;
              expect(kinds).toContain((error as Error).name);
            },
          ),
        );
      };
      for (const one of actions) {
        switch (one.kind) {
          case "step":
            expectResult(step(), y);
            break;
          case "ring":
            expectResult(
              around.run(circle.arrays, (region) => [...region("y")]),
              circle.expected["y"],
            );
            break;
          case "loop": {
            const { n, bad, exits } = one;
            const body = (
              i: number,
              { bad: wrong, exits: leaves }: { bad: number | null; exits: boolean },
            ): number => {
              if (i === wrong && leaves) process.exit(1);
              if (i === wrong) throw new Error("bad");
              return i * 2;
            };
            expectResult(
              parallelFor(n, body, { pool, with: { bad, exits } }),
              Float64Array.from({ length: n }, (_, i) => i * 2),
            );
            break;
          }
          case "break": {
            const words = faults[one.rank];
            if (words !== undefined) Atomics.store(words, 0, one.exits ? fault.exit : fault.throw);
            break;
          }
          case "abort": {
            const controller = new AbortController();
            expectResult(step(controller.signal), y);
            setTimeout(() => controller.abort(), one.after);
            break;
          }
          case "wait":
            await new Promise((resolve) => setTimeout(resolve, one.milliseconds));
            break;
          case "once":
            expectResult(
              pool.run(circle.plan, circle.arrays).then((results) => [...(results["y"]?.data ?? [])]),
              circle.expected["y"],
            );
            break;
          case "settle":
            await Promise.all(calls.splice(0));
            break;
        }
      }
      await Promise.all(calls);
      for (const words of faults) Atomics.store(words, 0, fault.none);
      expect(await step()).toEqual(y);
      expect(await parallelFor(3, (i) => i, { pool })).toEqual(Float64Array.of(0, 1, 2));
      await pool.close();
      expect(heap.report()).toMatchObject({ usedBytes: 0, blocks: 0 });
    }),
    { numRuns: Number(process.env["HEDDLE_SOAK"] ?? 12), seed: 20260, endOnFailure: true },
  );
  expect(failures).toBeGreaterThan(10);
  expect(successes).toBeGreaterThan(30);
});
