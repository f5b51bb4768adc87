// Every rule of the verifier has a plan here that breaks it, and the message that names the culprits.
import { describe, expect, it } from "vitest";
import { PlanError } from "#heddle/base/errors";
import type { Instruction, Plan, Region } from "#heddle/plan/plan";
import { insertFrees } from "#heddle/plan/frees";
import { verify } from "#heddle/plan/verify";

const vector = { dtype: "float64", shape: [4] } as const;
const program = { inputs: [vector], outputs: [vector], graph: null, hash: "f" };
const output: Region = { ...vector, role: "output" };
const regions: Record<string, Region> = {
  c: { ...vector, role: "input" },
  y: output,
  s: { ...vector, role: "scratch" },
};

const load = (buffer: string, region = "c"): Instruction => ({ kind: "load", buffer, region });
const store = (buffer: string, region = "y", start?: number, extent?: number): Instruction =>
  start === undefined || extent === undefined
    ? { kind: "store", buffer, region }
    : { kind: "store", buffer, region, window: { start: [start], extent: [extent] } };
const run = (input: string, result: string, task?: string): Instruction => ({
  kind: "run",
  program: "f",
  inputs: [input],
  outputs: [result],
  ...(task === undefined ? {} : { task }),
});
const free = (...buffers: string[]): Instruction[] => buffers.map((buffer) => ({ kind: "free", buffer }));
const send = (buffer: string, to: number, tag = "t"): Instruction => ({ kind: "send", buffer, to, tag });
const recv = (buffer: string, from: number, tag = "t"): Instruction => ({
  kind: "recv",
  buffer,
  ...vector,
  from,
  tag,
});
const sum = (input: string, result: string, group = "all"): Instruction => ({
  kind: "collective",
  operation: "allReduce",
  reduce: "add",
  group,
  input,
  output: result,
});
const half = (buffer: string, start: number): Instruction => ({
  kind: "load",
  buffer,
  region: "c",
  window: { start: [start], extent: [2] },
});

function plan(lists: readonly (readonly Instruction[])[], over: Partial<Plan> = {}): Plan {
  const all = lists.map((_, rank) => rank);
  return {
    version: 1,
    ranks: lists.length,
    programs: { f: program },
    regions,
    groups: { all },
    lists,
    ...over,
  };
}

/** A rank that fills the output, so that other rules can be looked at. */
const filler = [load("w"), store("w"), ...free("w")];
const noOutput = { regions: { ...regions, y: { ...output, zero: true } } };

describe("verify accepts", () => {
  it.each<[string, Plan]>([
    [
      "a program between a load and a store",
      plan([[load("x"), run("x", "y"), store("y"), ...free("x", "y")]]),
    ],
    [
      "two ranks that write the two halves",
      plan([0, 2].map((start) => [half("x", start), store("x", "y", start, 2), ...free("x")])),
    ],
    [
      "a pair that sends both ways in a loop",
      plan([
        [
          load("x"),
          { kind: "loop", count: 1000, body: [send("x", 1), recv("r", 1), ...free("r")] },
          store("x"),
          ...free("x"),
        ],
        [
          load("x"),
          { kind: "loop", count: 1000, body: [recv("r", 0), send("x", 0), ...free("r")] },
          ...free("x"),
        ],
      ]),
    ],
    [
      "a scratch region handed over with a token",
      plan([
        [load("x"), store("x", "s"), send("x", 1), ...free("x")],
        [recv("token", 0), load("z", "s"), store("z"), ...free("token", "z")],
      ]),
    ],
    [
      "a collective",
      plan(
        [0, 1].map((rank) => insertFrees([load("x"), sum("x", "z"), ...(rank === 0 ? [store("z")] : [])])),
      ),
    ],
    [
      "a loop that renews a buffer",
      plan([
        [
          load("x"),
          { kind: "loop", count: 5, body: [run("x", "t"), ...free("x"), run("t", "x"), ...free("t")] },
          store("x"),
          ...free("x"),
        ],
      ]),
    ],
  ])("%s", (_name, good) => {
    verify(good, { memory: 4096 });
    verify(good, { memory: 4096, sharesHeap: true });
  });
});

describe("verify refuses", () => {
  it.each<[string, Plan, RegExp]>([
    [
      "a use before the definition",
      plan([[run("x", "y"), ...free("y")]], noOutput),
      /buffer "x" is used before it is defined; rank 0, instruction 0 \(y = run f\(x\)\)/,
    ],
    [
      "a use after the free",
      plan([[load("x"), ...free("x"), store("x")]]),
      /"x" is used after it was freed; rank 0, instruction 2 \(store x -> y\); rank 0, instruction 1 \(free x\)/,
    ],
    [
      "a second free",
      plan([[...filler, ...free("w")]]),
      /"w" is freed twice; rank 0, instruction 3 \(free w\); rank 0, instruction 2 \(free w\)/,
    ],
    [
      "a free of nothing",
      plan([[...filler, ...free("q")]]),
      /"q" is freed but never defined; rank 0, instruction 3/,
    ],
    [
      "a buffer that is never freed",
      plan([[load("x"), store("x")]]),
      /"x" is never freed; rank 0, instruction 0 \(x = load c\)/,
    ],
    [
      "an overwritten buffer",
      plan([[load("x"), run("x", "x"), store("x"), ...free("x")]]),
      /"x" is overwritten while it is alive; rank 0, instruction 1 \(x = run f\(x\)\); rank 0, instruction 0 \(x = load c\)/,
    ],
    [
      "a buffer that a loop leaves behind",
      plan([[...filler, { kind: "loop", count: 2, body: [load("x")] }]]),
      /body leaves buffer "x" alive; rank 0, instruction 3\.0 \(x = load c\); rank 0, instruction 3 \(loop 2 times/,
    ],
    [
      "a buffer that a loop takes away",
      plan([[load("x"), store("x"), { kind: "loop", count: 2, body: free("x") }]]),
      /frees buffer "x", which the next round needs; rank 0, instruction 2\.0 \(free x\); rank 0, instruction 0/,
    ],
    [
      "a wrong input type",
      plan([[half("x", 0), run("x", "y"), store("y"), ...free("x", "y")]]),
      /input 0 of program "f" is float64\[2\], expected float64\[4\]; rank 0, instruction 1 .*; rank 0, instruction 0/,
    ],
    [
      "a wrong number of inputs",
      plan([[load("x"), { kind: "run", program: "f", inputs: ["x", "x"], outputs: ["y"] }]]),
      /program "f" takes 1 inputs, not 2/,
    ],
    [
      "a wrong number of outputs",
      plan([[load("x"), { kind: "run", program: "f", inputs: ["x"], outputs: [] }]]),
      /program "f" gives 1 outputs, not 0/,
    ],
    [
      "an unknown program",
      plan([[load("x"), run("x", "y")]], { programs: {} }),
      /program is "f", which the plan does not have, expected one of none/,
    ],
    [
      "a store of the wrong type",
      plan([[load("x"), store("x", "y", 0, 2), ...free("x")]]),
      /"x" is float64\[4\], but the window is float64\[2\]; rank 0, instruction 1 .*; rank 0, instruction 0/,
    ],
    [
      "a window outside its region",
      plan([[half("x", 3), ...free("x")]]),
      /the window leaves region "c", which is float64\[4\]; rank 0, instruction 0 \(x = load c\[3:5\]\)/,
    ],
    [
      "a write to the input",
      plan([[load("x"), store("x", "c"), ...free("x")]]),
      /ranks do not write region "c", whose role is input; rank 0, instruction 1/,
    ],
    [
      "a send without a receive",
      plan([[load("x"), send("x", 1), ...free("x")], filler]),
      /never ends: rank 0, instruction 1 \(send x -> rank 1 tag "t"\) waits for ever; rank 1, which it waits for, has ended/,
    ],
    [
      "a receive without a send",
      plan([[recv("x", 1), ...free("x")], filler]),
      /never ends: rank 0, instruction 0 \(x = recv float64\[4\] <- rank 1 tag "t"\) waits for ever; rank 1/,
    ],
    [
      "tags that differ",
      plan(
        [
          [load("x"), send("x", 1, "a"), ...free("x")],
          [recv("y", 0, "b"), ...free("y")],
        ],
        noOutput,
      ),
      /wait for each other.*rank 0, instruction 1 \(send x -> rank 1 tag "a"\); rank 1, instruction 0 \(y = recv/,
    ],
    [
      "types that differ between send and receive",
      plan(
        [
          [half("x", 0), send("x", 1), ...free("x")],
          [recv("y", 0), ...free("y")],
        ],
        noOutput,
      ),
      /float64\[2\] is sent where float64\[4\] is received; rank 0, instruction 1 .*; rank 1, instruction 0/,
    ],
    [
      "two ranks that both send first",
      plan(
        [0, 1].map((rank) => [load("x"), send("x", 1 - rank), recv("y", 1 - rank), ...free("x", "y")]),
        noOutput,
      ),
      /wait for each other.*rank 0, instruction 1 \(send x.*; rank 1, instruction 1 \(send x/,
    ],
    [
      "a send to itself",
      plan([[load("x"), send("x", 0), ...free("x")]]),
      /a rank sends to itself; rank 0, instruction 1/,
    ],
    [
      "collectives that differ",
      plan(
        [
          [load("x"), sum("x", "z"), ...free("x", "z")],
          [
            load("x"),
            { kind: "collective", operation: "allGather", axis: 0, group: "all", input: "x", output: "z" },
            ...free("x", "z"),
          ],
        ],
        noOutput,
      ),
      /members of group "all" enter different collectives: all.* float64\[4\] .*, and all.*; rank ., instruction 1 .*; rank ., instruction 1/,
    ],
    [
      "collectives of two groups in opposite order",
      plan(
        [0, 1].map((rank) => {
          const [first, second] = rank === 0 ? ["a", "b"] : ["b", "a"];
          return [load("x"), sum("x", "p", first), sum("x", "q", second), ...free("x", "p", "q")];
        }),
        { ...noOutput, groups: { a: [0, 1], b: [0, 1] } },
      ),
      /wait for each other.*rank 0, instruction 1 \(p = allReduce\(x, add\) over a\); rank 1, instruction 1 \(p = allReduce\(x, add\) over b\)/,
    ],
    [
      "a collective that one member skips",
      plan([[load("x"), sum("x", "z"), ...free("x", "z")], filler]),
      /never ends: rank 0, instruction 1 .* rank 1, which it waits for, has ended its list/,
    ],
    [
      "a collective of a group that the rank is not in",
      plan([[load("x"), sum("x", "z", "other"), ...free("x", "z")], filler], { groups: { other: [1] } }),
      /rank 0 is not a member of group "other"; rank 0, instruction 1/,
    ],
    [
      "two ranks that write the same elements",
      plan([filler, filler]),
      /two ranks write overlapping windows of region "y" in no order; rank ., instruction 1 .*; rank ., instruction 1/,
    ],
    [
      "a rank that reads what another writes at any time",
      plan([filler, [load("x", "y"), ...free("x")]]),
      /one rank writes what another reads in region "y" in no order; rank ., .*; rank ., /,
    ],
    [
      "two stores of one rank to the same elements",
      plan([[load("x"), store("x"), store("x"), ...free("x")]]),
      /two stores write overlapping windows of region "y"; rank 0, instruction 1 .*; rank 0, instruction 2/,
    ],
    [
      "an output with a hole",
      plan([[half("x", 0), store("x", "y", 0, 2), ...free("x")]]),
      /no instruction writes element \[2\] of output region "y".*declare the region zero/,
    ],
  ])("%s", (_name, bad, message) => {
    expect(() => verify(bad)).toThrow(message);
    expect(() => verify(bad)).toThrow(PlanError);
  });

  it("more memory than the budget", () => {
    const big = plan([[load("x"), run("x", "y"), store("y"), ...free("x", "y")]]);
    expect(() => verify(big, { memory: 127 })).toThrow(
      /memory of rank 0 is 128 bytes at its peak, expected at most 127/,
    );
    verify(big, { memory: 128 });
    verify(big, { memory: 0, sharesHeap: true });
  });

  it("a hole in two dimensions, by its first element", () => {
    const matrix = { dtype: "float64", shape: [3, 4] } as const;
    const block = (start: number[], extent: number[]): Instruction[] => [
      { kind: "load", buffer: "b", region: "m", window: { start, extent } },
      { kind: "store", buffer: "b", region: "j", window: { start, extent } },
      ...free("b"),
    ];
    const lists = [[...block([0, 0], [3, 2]), ...block([0, 2], [2, 2]), ...block([2, 3], [1, 1])]];
    const tables = {
      programs: {},
      regions: { m: { ...matrix, role: "input" }, j: { ...matrix, role: "output" } },
    } as const;
    expect(() => verify(plan(lists, tables))).toThrow(/element \[2,2\] of output region "j"/);
    verify(plan([[...lists.flat(), ...block([2, 2], [1, 1])]], tables));
  });
});

describe("verify refuses what has not the form of a plan", () => {
  const good = plan([filler]);
  const broken = (change: (copy: Record<string, unknown>) => void): unknown => {
    const copy = structuredClone(good) as unknown as Record<string, unknown>; // Broken on purpose below.
    change(copy);
    return copy;
  };
  it.each<[string, unknown, RegExp]>([
    ["null", null, /plan is null, expected an object/],
    ["a list", [], /expected an object/],
    ["another version", broken((p) => (p["version"] = 2)), /plan.version is 2, expected 1/],
    ["no ranks", broken((p) => (p["ranks"] = 0)), /plan.ranks is 0, expected an integer from 1/],
    ["NaN ranks", broken((p) => (p["ranks"] = NaN)), /plan.ranks is NaN/],
    ["too few lists", broken((p) => (p["ranks"] = 2)), /plan.lists is "a list of 1", expected 2/],
    [
      "an unknown instruction",
      broken((p) => (p["lists"] = [[{ kind: "jump" }]])),
      /plan.lists\[0\]\[0\].kind is "jump"/,
    ],
    ["a null instruction", broken((p) => (p["lists"] = [[null]])), /plan.lists\[0\]\[0\] is null/],
    [
      "a loop without end",
      broken((p) => (p["lists"] = [[{ kind: "loop", count: Infinity, body: [] }]])),
      /count is Infinity/,
    ],
    [
      "a window that is no box",
      broken((p) => (p["lists"] = [[{ ...load("x"), window: { start: ["0"], extent: [1] } }]])),
      /window.start\[0\] is "0", expected an integer/,
    ],
    [
      "a region of absurd size",
      broken((p) => (p["regions"] = { c: { dtype: "float64", shape: [2 ** 40, 2 ** 40], role: "input" } })),
      /bytes", expected at most/,
    ],
    [
      "an unknown dtype",
      broken((p) => (p["regions"] = { c: { dtype: "float128", shape: [1], role: "input" } })),
      /plan.regions.c.dtype is "float128", expected a dtype/,
    ],
    ["a rank outside", broken((p) => (p["groups"] = { all: [0, 7] })), /plan.groups.all\[1\] is 7/],
    ["a rank twice in a group", broken((p) => (p["groups"] = { all: [0, 0] })), /expected each rank once/],
    [
      "a name that objects reserve",
      broken((p) => {
        p["regions"] = JSON.parse('{"__proto__": {"dtype":"bool","shape":[],"role":"input"}}') as unknown;
      }),
      /"__proto__", expected a name that objects do not reserve/,
    ],
    ["an inherited field", Object.create(good) as unknown, /plan.version is undefined/],
    [
      "a reference to an inherited name",
      broken((p) => (p["lists"] = [[load("x", "toString"), ...free("x")]])),
      /region is "toString", which the plan does not have/,
    ],
    [
      "a cyclic loop",
      broken((p) => {
        const loop: Record<string, unknown> = { kind: "loop", count: 1 };
        loop["body"] = [loop];
        p["lists"] = [[loop]];
      }),
      /at most 32 nested loops/,
    ],
  ])("%s", (_name, bad, message) => {
    expect(() => verify(bad)).toThrow(message);
    expect(() => verify(bad)).toThrow(PlanError);
  });
});
