// A plan that came from a file may say anything: its programs are checked before a rank compiles them.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Pool } from "heddle";
import { createPool, PlanError } from "heddle";
import { planFromJSON, planToJSON } from "#heddle/plan/json";
import type { Plan } from "#heddle/plan/plan";
import { blocks } from "../contracts/plans.js";

type Loose = Record<string, unknown>;

describe("pool.load", () => {
  let pool: Pool;
  beforeAll(async () => {
    pool = await createPool({ ranks: 1, inProcess: true });
  });
  afterAll(async () => {
    await pool.close();
  });

  it("runs a plan that was written and read", async () => {
    const { plan, arrays } = blocks(1);
    const direct = await pool.run(plan, arrays);
    expect(await pool.run(planFromJSON(planToJSON(plan)), arrays)).toEqual(direct);
  });

  const broken = (change: (program: Loose, graph: Loose) => void): Plan => {
    const { plan } = blocks(1);
    const copy = structuredClone(plan);
    const program = copy.programs["double"] as unknown as Loose; // Broken on purpose below.
    change(program, program["graph"] as Loose);
    return copy;
  };
  const types = [{ dtype: "float64", shape: [3, 5] }];
  it.each<[string, Plan, RegExp]>([
    ["no graph", broken((p) => (p["graph"] = null)), /the graph of program "double" is refused \(graph: it/],
    ["a graph without lists", broken((p) => (p["graph"] = {})), /avals is something else, expected a list/],
    [
      "an unknown dtype",
      broken((_, g) => (g["avals"] = [{ dtype: "f8", shape: [] }])),
      /the dtype of value 0/,
    ],
    [
      "an absurd shape",
      broken((_, g) => (g["avals"] = [{ dtype: "bool", shape: [-1] }])),
      /the shape of value 0/,
    ],
    ["a hole", broken((_, g) => (g["avals"] = [null])), /not in the form of a graph/],
    ["constants", broken((_, g) => (g["constants"] = [{ id: 0, data: [1] }])), /constants are inputs/],
    [
      "an unknown operation",
      broken((_, g) => (g["equations"] = [{ op: "constructor", params: {}, inputs: [0, 0], outputs: [1] }])),
      /the operation of equation 0/,
    ],
    [
      "an equation of the wrong type",
      broken((_, g) => (g["avals"] = [...types, { dtype: "float64", shape: [3000, 5000] }])),
      /f64\[3000,5000\], expected f64\[3,5\], by its shape rule/,
    ],
    [
      "a value that is not there",
      broken((_, g) => (g["equations"] = [{ op: "add", params: {}, inputs: [0, 7], outputs: [1] }])),
      /value 7/,
    ],
    [
      "stated types that are not those of the graph",
      broken((p) => (p["inputs"] = [{ dtype: "float64", shape: [3, 4] }])),
      /input 0 of program "double" is f64\[3,5\] in its graph, expected f64\[3,4\]|input 0 of program "double" is float64\[3,5\]/,
    ],
    [
      "a hash of something else",
      broken((p) => (p["hash"] = "0".repeat(32))),
      /the hash of program "double" is 0+, expected/,
    ],
  ])("refuses %s", async (_name, plan, message) => {
    const { arrays } = blocks(1);
    const call = pool.run(plan, arrays);
    await expect(call).rejects.toThrow(message);
    await expect(call).rejects.toThrow(PlanError);
  });
});
