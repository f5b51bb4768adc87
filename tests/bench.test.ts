// The benchmarks are not run here, but what they say about their figures must be right: bounds, ratios, peers that are not
// there; and alternatives must be measured in turn.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { interleaved } from "../dist/bench/interleaved.js";
import type { Row, Section } from "../dist/bench/rows.js";
import { formatSection, isMet, missingRows, ratioOf } from "../dist/bench/rows.js";

const quick: Row = { name: "quick", value: 2, unit: "µs", wanted: { most: 3 } };
const slow: Row = { name: "slow", value: 8, unit: "µs", wanted: { most: 3 } };
const speed: Row = { name: "speed", value: 1.5, unit: "×", wanted: { least: 1.8 } };
const gone: Row = { name: "somepool", unit: "µs", missing: "not installed" };
const section: Section = { title: "waking", base: "quick", rows: [quick, slow, speed, gone] };

describe("rows", () => {
  it("know whether they keep to their bounds", () => {
    expect([quick, slow, speed, gone, { ...quick, wanted: { most: 2 } }].map(isMet)).toEqual([
      true,
      false,
      false,
      undefined,
      true,
    ]);
  });

  it("are compared with their base, where the units agree", () => {
    expect(section.rows.map((row) => ratioOf(row, section))).toEqual([undefined, 4, undefined, undefined]);
  });

  it("fail without their peers, unless that is said", () => {
    expect(missingRows(section.rows, [])).toEqual([gone]);
    expect(missingRows(section.rows, ["otherpool"])).toEqual([gone]);
    expect(missingRows(section.rows, ["somepool"])).toEqual([]);
  });

  it("print all of it", () => {
    const lines = formatSection(section).map((line) => line.replaceAll(/ +/g, " "));
    expect(lines).toEqual([
      "waking (ratios: to quick)",
      " quick 2.00 µs wanted ≤ 3 µs: met",
      " slow 8.00 µs 4.00× wanted ≤ 3 µs: NOT MET",
      " speed 1.50 × wanted ≥ 1.8 ×: NOT MET",
      " somepool not installed",
    ]);
  });
});

it("alternatives are measured in turn, less what warms up", async () => {
  const calls: string[] = [];
  const contestants = ["a", "b"].map((name) => ({ name, call: () => calls.push(name) }));
  const medians = await interleaved(contestants, { rounds: 2, calls: 2, warmUp: 1, idle: 0, rest: 0 });
  expect(calls.join("")).toBe("aaabbbaaabbb");
  expect([...medians.keys()]).toEqual(["a", "b"]);
});

it.each([["nothing"], ["--bogus"]])("the command line refuses %s", (argument) => {
  const program = fileURLToPath(new URL("../dist/bench/main.js", import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, [program, argument], { encoding: "utf8" });
  expect(status).toBe(2);
  expect(stderr).toContain(argument);
});
