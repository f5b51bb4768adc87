// Plans survive being written and read, bit for bit, and hostile text is refused with a typed error.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PlanError } from "#heddle/base/errors";
import { planFromJSON, planToJSON } from "#heddle/plan/json";
import type { Plan } from "#heddle/plan/plan";
import { printPlan } from "#heddle/plan/print";
import { verify } from "#heddle/plan/verify";

const vector = { dtype: "float64", shape: [4] } as const;

function sample(graph: unknown, count: number, label: string): Plan {
  return {
    version: 1,
    ranks: 2,
    programs: { f: { inputs: [vector], outputs: [vector], graph, hash: "h", label } },
    regions: { c: { ...vector, role: "input" }, y: { ...vector, role: "output" } },
    groups: { all: [0, 1] },
    lists: [
      [
        { kind: "load", buffer: "x", region: "c" },
        {
          kind: "loop",
          count,
          body: [
            { kind: "run", program: "f", inputs: ["x"], outputs: ["t"] },
            { kind: "free", buffer: "t" },
          ],
        },
        { kind: "collective", operation: "permute", pairs: [[0, 1]], group: "all", input: "x", output: "p" },
        { kind: "store", buffer: "x", region: "y", window: { start: [0], extent: [4] } },
        { kind: "free", buffer: "x" },
        { kind: "free", buffer: "p" },
      ],
      [
        { kind: "load", buffer: "x", region: "c" },
        { kind: "collective", operation: "permute", pairs: [[0, 1]], group: "all", input: "x", output: "p" },
        { kind: "free", buffer: "x" },
        { kind: "free", buffer: "p" },
      ],
    ],
  };
}

const number = fc.oneof(fc.double(), fc.constantFrom(NaN, -0, Infinity, -Infinity));
const graph = fc.record({
  params: fc.array(number),
  nested: fc.dictionary(fc.string(), fc.oneof(number, fc.boolean(), fc.constant(null), fc.string())),
  data: fc.array(number).map((numbers) => Float64Array.from(numbers)),
});

describe("plans as JSON", () => {
  it("come back as they were, and equal plans give equal text", () => {
    fc.assert(
      fc.property(graph, fc.integer({ min: 1, max: 1e6 }), fc.string(), (value, count, label) => {
        const plan = sample(value, count, label);
        verify(plan);
        const text = planToJSON(plan);
        const back = planFromJSON(text);
        expect(back).toStrictEqual(
          structuredClone({ ...plan, programs: { f: { ...plan.programs["f"], graph: normalize(value) } } }),
        );
        expect(planToJSON(back)).toBe(text);
        expect(printPlan(back)).toBe(printPlan(plan));
      }),
      { numRuns: 100 },
    );
  });

  it.each([
    ["text that is not JSON", "{", /text that is not JSON/],
    ["another number tag", '{"version": {"$number": "1e999"}}', /expected "-0", "NaN"/],
    ["an array of unknown type", '{"a": {"$array": "int8", "data": []}}', /expected a dtype with a list/],
    ["endless nesting", "[".repeat(1000) + "]".repeat(1000), /deeper than 200/],
    [
      "a reserved name",
      '{"version":1,"ranks":1,"programs":{},"groups":{},"lists":[[]],"regions":{"__proto__":{}}}',
      /reserve/,
    ],
  ])("refuse %s", (_name, text, message) => {
    expect(() => planFromJSON(text)).toThrow(message);
    expect(() => planFromJSON(text)).toThrow(PlanError);
  });

  it("refuse what JSON cannot hold, by its path", () => {
    expect(() => planToJSON(sample({ f: () => 0 }, 1, ""))).toThrow(/plan.programs.f.graph.f is a function/);
    expect(() => planToJSON(sample(new Map(), 1, ""))).toThrow(/an instance of a class/);
  });
});

/** fast-check makes objects without a prototype; reading back gives ordinary ones. */
function normalize(value: unknown): unknown {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  if (Array.isArray(value)) return value.map(normalize);
  const result: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    Object.defineProperty(result, key, {
      value: normalize(item),
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  return result;
}

describe("printPlan", () => {
  it("shows tables and lists", () => {
    expect(printPlan(sample(null, 3, "left"))).toBe(
      `plan for 2 ranks
program f: (float64[4]) -> (float64[4]) h  # left
region c: input float64[4]
region y: output float64[4]
group all: 0, 1
rank 0:
  x = load c
  loop 3 times {
    t = run f(x)
    free t
  }
  p = permute(x, 0->1) over all
  store x -> y[0:4]
  free x
  free p
rank 1:
  x = load c
  p = permute(x, 0->1) over all
  free x
  free p`,
    );
  });
});
