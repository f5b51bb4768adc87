// One suite for every transport: plans with every instruction give the same bits wherever the ranks live, however many
// there are, and whether their devices answer at once or later.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Pool } from "#heddle/executor/pool";
import { createPool } from "#heddle/executor/pool";
import type { PoolOptions } from "#heddle/executor/options";
import { EpochError } from "#heddle/base/errors";
import { blocks, cases } from "./plans.js";

const transports: readonly [string, Omit<PoolOptions, "ranks">][] = [
  ["in-process", { inProcess: true }],
  ["in-process, deferred device", { inProcess: true, device: "deferred" }],
  ["threads", {}],
  ["threads, deferred device", { device: "deferred" }],
  ["processes", { isolation: "process" }],
];

/** The rows that one rank in the calling thread gives. */
async function alone(): Promise<number[]> {
  await using pool = await createPool({ inProcess: true, ranks: 1 });
  const { plan, arrays } = blocks(1);
  return [...((await pool.run(plan, arrays))["y"]?.data ?? [])];
}

describe.each(transports)("%s", (_name, options) => {
  describe.each([1, 2, 3, 7])("with %i ranks", (ranks) => {
    let pool: Pool;
    let y: number[];
    beforeAll(async () => {
      y = await alone();
      pool = await createPool({ ...options, ranks });
    });
    afterAll(async () => {
      await pool.close();
    });

    it("has the ranks that were asked for", () => {
      expect(pool.ranks.map(({ rank }) => rank)).toEqual(Array.from({ length: ranks }, (_, rank) => rank));
    });

    it.each(cases(ranks).map((example) => [example.name, example] as const))("%s", async (_case, example) => {
      const results = await pool.run(example.plan, example.arrays);
      expect(Object.keys(results).sort()).toEqual(Object.keys(example.expected).sort());
      for (const [name, values] of Object.entries(example.expected)) {
        const found = results[name];
        expect(found?.data.length).toBe(values.length);
        const data = [...(found?.data ?? [])];
        if (example.rounded?.includes(name) !== true) expect(data).toEqual(values);
        else {
          expect(data).toEqual(y);
          data.forEach((value, i) => expect(value).toBeCloseTo(values[i] ?? NaN, 14));
        }
      }
    });

    it("gives a caller that blocks the same bits", () => {
      if (options.inProcess === true && options.device === "deferred") return; // That device needs the caller's thread.
      for (const example of cases(ranks)) {
        const results = pool.sync.run(example.plan, example.arrays);
        for (const [name, values] of Object.entries(example.expected)) {
          const data = [...(results[name]?.data ?? [])];
          expect(data).toEqual(example.rounded?.includes(name) === true ? y : values);
        }
      }
    });

    it("steps a resident plan again and again, at the inputs of each call", async () => {
      const { plan, arrays } = blocks(ranks);
      const { c, ...constants } = arrays;
      const resident = await pool.load(plan, { constants, label: "blocks" });
      const inputs = { c: c as Float64Array };
      for (let round = 1; round <= 20; round++) {
        const other = await resident.run({ c: inputs.c.map((value) => value + round) }, (region) => [
          ...region("y"),
        ]);
        expect(other).not.toEqual(y);
        const same = await resident.run(inputs, (region) => [...region("y")]);
        expect(same).toEqual(y);
      }
      expect(resident.epoch).toBe(40);
      await resident.dispose();
    });

    it("queues calls that are made at once, and gives each its own result", async () => {
      const { plan, arrays } = blocks(ranks);
      const { c, ...constants } = arrays;
      const resident = await pool.load(plan, { constants });
      const at = (shift: number): Promise<number[]> => {
        const input = (c as Float64Array).map((value) => value + shift);
        const result = resident.run({ c: input }, (region) => [...region("y")]);
        input.fill(NaN); // The caller may do as it likes with its array.
        return result;
      };
      const together = await Promise.all([at(0), at(1), at(2), at(0)]);
      expect(together[3]).toEqual(together[0]);
      for (const shift of [0, 1, 2]) expect(await at(shift)).toEqual(together[shift]);
      await resident.dispose();
    });

    it("refuses a block of another epoch", async () => {
      const { plan, arrays } = blocks(ranks);
      const { c, ...constants } = arrays;
      const resident = await pool.load(plan, { constants, label: "blocks" });
      const { coreOf } = await import("#heddle/executor/cores");
      const core = coreOf(pool);
      const residency = [...core.residents.values()].find((one) => one.label === "blocks");
      const inputs = { c: c as Float64Array };
      await resident.run(inputs, () => undefined);
      const mark = residency?.placed.marks[2];
      if (residency === undefined || mark === undefined) throw new Error("the plan has stores");
      const words = core.heap.view("int32", residency.placed.words, residency.placed.wordCount);
      // After the ranks are done and before main looks: the step's own promise is the place.
      const step = core.transport.step.bind(core.transport);
      core.transport.step = function* (...call) {
        const outcomes = yield* step(...call);
        Atomics.store(words, mark.word, 1);
        return outcomes;
      };
      const stale = resident.run(inputs, () => undefined);
      await expect(stale).rejects.toThrow(EpochError);
      await expect(stale).rejects.toThrow(
        new RegExp(
          `${mark.task} on rank ${mark.rank}: its block of region "${mark.region}" is of epoch 1, expected epoch 2`,
        ),
      );
      core.transport.step = step;
      await resident.run(inputs, () => undefined);
      await resident.dispose();
    });
  });
});
