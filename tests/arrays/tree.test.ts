// Trees: order of leaves, structure, user classes, and what is refused.
import { ArgumentError, np, tree } from "heddle";
import { structureKey } from "#heddle/base/tree";
import { describe, expect, it } from "vitest";
import { expectError } from "./expectError.js";

class Box {
  readonly a: unknown;
  readonly label: unknown;
  constructor(a: unknown, label: unknown) {
    this.a = a;
    this.label = label;
  }
}
tree.register(Box, {
  flatten: (box) => [{ a: box.a }, box.label],
  unflatten: ({ a }: { a: unknown }, label: unknown) => new Box(a, label),
});

describe("tree", () => {
  it("visits keys sorted, and takes lists of nothing but numbers as arrays", () => {
    const x = np.ones(2);
    const found = tree.leaves({ b: [1, 2], a: [x, [3], "s"], c: null });
    expect(found[0]).toBe(x);
    expect(found.slice(1)).toEqual([[3], "s", [1, 2]]);
    expect(tree.leaves(5)).toEqual([5]);
    expect(tree.leaves([])).toEqual([]);
    expect(
      tree.leaves([
        [1, 2],
        [3, 4],
      ]),
    ).toEqual([
      [
        [1, 2],
        [3, 4],
      ],
    ]);
    expect(tree.leaves([[1, 2], true])).toEqual([[1, 2], true]);
    expect(tree.leaves(undefined)).toEqual([undefined]);
  });

  it("puts leaves back", () => {
    const value = { b: [1, 2], a: [{ x: 1 }, null, []], box: new Box([1, [2, "t"]], "name") };
    const [leaves, structure] = tree.flatten(value);
    expect(tree.unflatten(structure, leaves)).toEqual(value);
    expect(tree.unflatten(structure, leaves)).toHaveProperty("box.label", "name");
    expectError(
      () => tree.unflatten(structure, [1]),
      ArgumentError,
      "HEDDLE_ARGUMENT",
      "1 leaves",
      String(leaves.length),
    );
  });

  it("maps over several trees of one structure", () => {
    const add = (a: unknown, b: unknown) => Number(a) + Number(b);
    expect(tree.map(add, { a: 1, b: { c: 2 } }, { b: { c: 20 }, a: 10 })).toEqual({ a: 11, b: { c: 22 } });
    expectError(
      () => tree.map(add, { a: 1 }, { b: 1 }),
      ArgumentError,
      "HEDDLE_ARGUMENT",
      "tree 1",
      "{b: *}",
      "{a: *}",
    );
  });

  it("tells structures apart by classes and what they keep", () => {
    const key = (value: unknown) => structureKey(tree.structure(value));
    expect(key({ a: 1, b: 2 })).toBe(key({ b: 3, a: 4 }));
    expect(key(new Box(1, { n: [1] }))).toBe(key(new Box(2, { n: [1] })));
    expect(key(new Box(1, "p"))).not.toBe(key(new Box(1, "q")));
    expect(key(new Box(1, 1))).not.toBe(key(new Box(1, "1")));
    expect(key([1, "a"])).not.toBe(key({ 0: 1, 1: "a" }));
    expect(key({ a: null })).not.toBe(key({ a: 1 }));
    expect(key({ "a:*": 1 })).not.toBe(key({ a: 1 }));
  });

  it("prints structures", () => {
    expect(tree.formatStructure(tree.structure({ a: [1, 2], b: [np.ones(1), null], c: new Box(1, 0) }))).toBe(
      "{a: *, b: [*, null], c: Box({a: *})}",
    );
  });

  it("refuses cycles, and classes twice", () => {
    const loop: Record<string, unknown> = {};
    loop["self"] = { loop };
    expectError(() => tree.flatten(loop), ArgumentError, "HEDDLE_ARGUMENT", ".self.loop", "contains itself");
    const rule = { flatten: () => [[]] as const, unflatten: () => new Box(1, 1) };
    expectError(
      () => tree.register(Box, rule),
      ArgumentError,
      "HEDDLE_ARGUMENT",
      "Box",
      "registered already",
    );
    expectError(() => tree.register({} as typeof Box, rule), ArgumentError, "HEDDLE_ARGUMENT", "a class");
  });
});
