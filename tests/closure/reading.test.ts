// How captures are read: each function once, a module's variables once for all of its functions, nothing kept. Modules
// are what programs are made of, so these run as plain programs.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../", import.meta.url));
let folder = "";
beforeAll(async () => {
  // Inside the package, so that "heddle" is this one.
  await mkdir(join(root, ".cache"), { recursive: true });
  folder = await mkdtemp(join(root, ".cache", "reading-"));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** What programs use: `carried` is a body after its journey, `messages` counts what the inspector is asked. */
const prelude = `
  import { Session } from "node:inspector";
  import { captureBody } from "#heddle/closure/body";
  import { Decoder } from "#heddle/closure/codec";
  import { compile } from "#heddle/closure/functions";
  const capture = (body) => captureBody("parallelFor", body, {}, undefined).body;
  const carried = (body) => {
    const { source, values } = structuredClone(capture(body));
    const decoder = new Decoder();
    return compile(source, values.map((value) => decoder.decode(value)));
  };
  const refusal = (body) => {
    try {
      capture(body);
      return "not refused";
    } catch (error) {
      return error.message;
    }
  };
  let messages = 0;
  const { post } = Session.prototype;
  Session.prototype.post = function (...given) {
    messages++;
    return post.apply(this, given);
  };
  const counted = (body) => {
    messages = 0;
    capture(body);
    return messages;
  };
  const tell = (value) => console.log(JSON.stringify(value));`;

async function told(program: string, ...options: string[]): Promise<unknown> {
  const file = join(folder, `program-${Math.random().toString(36).slice(2)}.mjs`);
  await writeFile(file, `${prelude}\n${program}`);
  const { stdout } = await run(process.execPath, [...options, file], { cwd: folder, timeout: 20_000 });
  return JSON.parse(stdout) as unknown;
}

describe("what is read", () => {
  it("is of the moment, also for functions that were read before", async () => {
    const values = await told(`
      let scale = 1;
      let shift = (x) => x + scale;
      const area = (x) => shift(x) * 10;
      const body = (i) => area(i) + scale;
      const results = [carried(body)(1)];
      scale = 2;
      results.push(carried(body)(1));
      shift = (x) => x + 100 * scale;
      results.push(carried(body)(1), carried((i) => area(i) + scale)(1), body(1));
      tell(results);`);
    expect(values).toEqual([21, 32, 2012, 2012, 2012]);
  });

  it("belongs to the function's own instance of its module, block and call", async () => {
    const module =
      "export let value = 1; export const get = () => value; export const set = (x) => { value = x; };";
    await writeFile(join(folder, "twin.mjs"), module);
    const values = await told(`
      import { get, set } from "./twin.mjs?a";
      import { get as other } from "./twin.mjs?b";
      const value = 7;
      const own = () => value;
      const made = (value) => () => value;
      const one = made(10);
      const two = made(20);
      const blocks = [];
      for (const value of [1, 2]) blocks.push(() => value);
      const [first, second] = blocks;
      const body = () => [value, own(), get(), other(), one(), two(), first(), second()];
      capture(body);
      set(5);
      const again = carried(body)();
      {
        const value = 8;
        const body = () => [value, own(), get(), one()];
        tell([again, carried(body)()]);
      }`);
    expect(values).toEqual([
      [7, 7, 5, 1, 10, 20, 1, 2],
      [8, 7, 5, 10],
    ]);
  });

  it("is asked for in few messages", async () => {
    const counts = await told(`
      const scale = 2;
      const half = (x) => x / scale;
      const area = (r) => half(r) * scale;
      const round = (x) => Math.round(x);
      const alone = (i) => i + scale;
      const helped = (i) => area(i) + half(i) + round(i);
      const fresh = () => {
        const rate = 3;
        const grow = (x) => x * rate;
        const twice = (x) => grow(grow(x));
        return (i) => twice(i) + grow(i);
      };
      counted(alone);
      const first = counted(helped);
      tell([counted(alone), counted((i) => round(i) + scale), first, counted(helped), counted(fresh())]);`);
    // One to name the body, two per function that is read, one to let go. `area` and `half` are read once in all.
    expect(counts).toEqual([4, 4, 8, 4, 8]);
  });

  it("is not kept", async () => {
    const kept = await told(
      `
      const references = [];
      const captured = () => {
        const table = new Float64Array(1000);
        const helper = (i) => table[i];
        const body = (i) => helper(i) + table[0];
        references.push(new WeakRef(table), new WeakRef(helper), new WeakRef(body));
        capture(body);
      };
      for (let i = 0; i < 100; i++) captured();
      for (let i = 0; i < 10; i++) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        gc();
      }
      tell(references.filter((reference) => reference.deref() !== undefined).length);`,
      "--expose-gc",
    );
    expect(kept).toBe(0);
  });
});

describe("a variable that is not initialised yet", () => {
  it("is told from one that is undefined, in any scope", async () => {
    const refusals = await told(`
      const early = [refusal(() => late), refusal(() => helper())];
      function helper() { return late; }
      let empty;
      const nothing = undefined;
      const inner = () => {
        let unset;
        const found = [refusal(() => [unset, inside]), carried(() => [unset, empty, nothing])().length];
        const inside = 1;
        return [...found, carried(() => inside)()];
      };
      const late = "<value unavailable>";
      tell([...early, ...inner(), carried(() => late)(), carried(helper)()]);`);
    const refused = /uses "(late|inside)" from outside, where it is not initialised yet/;
    expect(refusals).toEqual([
      expect.stringMatching(refused),
      expect.stringMatching(refused),
      expect.stringMatching(refused),
      3,
      1,
      "<value unavailable>",
      "<value unavailable>",
    ]);
  });
});
