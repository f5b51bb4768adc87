// What the other tests take for granted about the runner: built files are loaded as they are (not rewritten on the way, as
// test files are), and `await using` works in tests on every supported Node.
import { readFileSync } from "node:fs";
import * as heddle from "heddle";
import * as errors from "#heddle/base/errors";
import { describe, expect, it } from "vitest";

describe("the test runner", () => {
  it("loads the text that workers load", () => {
    const built = readFileSync(new URL("../dist/src/base/errors.js", import.meta.url), "utf8");
    const functions = Object.values(errors).filter((value) => typeof value === "function");
    expect(functions.length).toBeGreaterThan(0);
    for (const each of functions) expect(built).toContain(String(each));
  });

  it("loads one copy of each module, by whichever name", () => {
    const shared = Object.entries(errors).filter(([name]) => name in heddle);
    for (const [name, value] of shared) expect((heddle as Record<string, unknown>)[name]).toBe(value);
  });

  it("lowers await using", async () => {
    const order: string[] = [];
    {
      await using _resource = {
        [Symbol.asyncDispose]: () => {
          order.push("closed");
          return Promise.resolve();
        },
      };
      order.push("used");
    }
    expect(order).toEqual(["used", "closed"]);
  });
});
