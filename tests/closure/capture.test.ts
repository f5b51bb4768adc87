// What a body may use, what crosses and comes back equal, and what is refused: by name, with a way out.
import fs from "node:fs";
import { createServer } from "node:net";
import nodePath, { join } from "node:path";
import * as path from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as heddle from "heddle";
import { np, registerCodec, sharedArray } from "heddle";
import { CaptureError } from "#heddle/base/errors";
import { captureBody } from "#heddle/closure/body";
import { Decoder, Encoder } from "#heddle/closure/codec";
import { errorFromWire, errorToWire } from "#heddle/closure/error-wire";
import { nameOfExport } from "#heddle/closure/exports";
import { compile } from "#heddle/closure/functions";
import { globalNames } from "#heddle/closure/globals";
import { freeOf } from "#heddle/closure/scope";
import type { AnyFunction } from "#heddle/closure/source";
import { sourceOf } from "#heddle/closure/source";

declare const nowhere: unknown;

/** A function from text, so that the test runner's rewriting does not touch it. */
function fromText(text: string): AnyFunction {
  return (0, eval)(text) as AnyFunction; // The text is a function's.
}

function freeNames(text: string): string[] {
  const { names } = freeOf(sourceOf("test", "f", fromText(`(${text})`)).node);
  return [...names.keys()].filter((name) => !globalNames.has(name)).toSorted();
}

function roundTrip(value: unknown): unknown {
  return new Decoder().decode(structuredClone(new Encoder("test").encode(value, "value")));
}

function capture(text: string, given: object = {}, items?: unknown[]): void {
  captureBody("parallelFor", fromText(`(${text})`), given, items);
}

describe("free names", () => {
  it.each<[string, string[]]>([
    ["(i) => i + a", ["a"]],
    ["(i) => Math.sin(i) + Number(a.b.c) + b['d']", ["a", "b"]],
    ["(a) => { const b = a; let c = b; var d = c; return a + b + c + d; }", []],
    ["() => { return f(); function f() { return g; } }", ["g"]],
    ["() => { { let a = 1; } return a; }", ["a"]],
    ["() => { { var a = 1; } return a; }", []],
    ["({ a, b: { c = d }, ...e }, [f, , g = h]) => [a, c, e, f, g]", ["d", "h"]],
    [
      "() => { for (const a of b) c(a); for (let i = 0; i < 3; i++) c(i); for (var k in b); return i + k; }",
      ["b", "c", "i"],
    ],
    ["() => { try { a(); } catch ({ message }) { return message + e; } }", ["a", "e"]],
    ["() => { try { a(); } catch { return 1; } }", ["a"]],
    ["() => ({ a, b: c, [d]: 1, e() { return f; }, get g() { return h; } })", ["a", "c", "d", "f", "h"]],
    [
      "() => { class A extends B { #p = c; static d = e; m() { return this.#p + A.d; } [f]() {} } return new A(); }",
      ["B", "c", "e", "f"],
    ],
    ["function rec(n) { return n < 2 ? arguments.length : rec(n - 1); }", []],
    ["() => { outer: for (;;) { inner: for (;;) { if (a) break outer; continue inner; } } }", ["a"]],
    [
      "() => { switch (a) { case b: { let c; } case d: let e = 1; default: return e + c; } }",
      ["a", "b", "c", "d"],
    ],
    ["() => `${a} ${`${b}`}` + tag`x${c}`", ["a", "b", "c", "tag"]],
    ["async () => { for await (const x of a) await b(x); }", ["a", "b"]],
    ["() => typeof a + void b + (delete c.d)", ["a", "b", "c"]],
    ["() => { ({ a, b: c.d } = e); [f, g[0]] = h; i++; }", ["a", "c", "e", "f", "g", "h", "i"]],
    ["() => a?.b?.[c]?.(d)", ["a", "c", "d"]],
    ["() => { const { x = y } = z; return x; }", ["y", "z"]],
    ["() => ((a) => a + b)(1) + (function a() { return a; })()", ["b"]],
  ])("of %s", (text, names) => {
    expect(freeNames(text)).toEqual(names);
  });
});

describe("sources", () => {
  const object = {
    method(x: number) {
      return x + 1;
    },
    async asyncMethod(x: number) {
      return x + 1;
    },
    "quoted name"(x: number) {
      return x + 1;
    },
    if(x: number) {
      return x + 1;
    },
  };
  const calls: [string, AnyFunction][] = [
    ["an arrow function", (x: number) => x + 1],
    [
      "a function expression",
      function (x: number) {
        return x + 1;
      },
    ],
    ["a method", object.method],
    ["an async method", object.asyncMethod],
    ["a method with a quoted name", object["quoted name"]],
    ["a method named by a keyword", object.if],
    ["an async arrow function", async (x: number) => x + 1],
    ["a sloppy function", fromText("(function (x) { with ({ y: 1 }) { return x + y; } })")],
    ["a function with comments", fromText("(/* a */ (x /* b */) /* c */ => x + 1 // d\n)")],
    [
      "a function under esbuild's names",
      fromText("((x) => { const f = __name((y) => y + 1, 'f'); return f(x); })"),
    ],
    [
      "a function under istanbul's counters",
      fromText("((x) => { cov_1abc().f[0]++; cov_1abc().s[1]++; return x + 1; })"),
    ],
  ];
  it.each(calls)("of %s compile to the same function", async (_name, fn) => {
    const { text, node, strict } = sourceOf("test", "f", fn);
    const known = new Set(["y", "__name", "cov_1abc"]);
    expect([...freeOf(node).names.keys()].filter((name) => !known.has(name))).toEqual([]);
    const again = compile({ text, strict, names: [] }, []) as (x: number) => unknown;
    expect(await again(2)).toBe(3);
  });

  it.each<[string, AnyFunction, RegExp]>([
    ["native functions", Math.sin, /f is a native or bound function.*write an arrow function that calls it/],
    ["bound functions", ((x: number) => x).bind(null), /a native or bound function/],
    ["classes", class A {} as unknown as AnyFunction, /a class/],
    [
      "accessors",
      Object.getOwnPropertyDescriptor(
        {
          get a() {
            return 1;
          },
        },
        "a",
      )?.get as AnyFunction,
      /cannot be compiled elsewhere/,
    ],
  ])("of %s are refused", (_name, fn, message) => {
    expect(() => sourceOf("test", "f", fn)).toThrow(message);
    expect(() => sourceOf("test", "f", fn)).toThrow(CaptureError);
  });
});

describe("values cross", () => {
  const plain = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.double(),
      fc.string(),
      fc.bigInt(),
      fc.boolean(),
      fc.constantFrom(null, undefined, -0, NaN),
      fc.date({ noInvalidDate: true }),
      fc.float64Array(),
      fc.uint8Array(),
      fc.array(tie("value")),
      fc.dictionary(fc.string(), tie("value"), { noNullPrototype: true }),
      fc.array(fc.tuple(tie("value"), tie("value"))).map((entries) => new Map(entries)),
      fc.array(tie("value")).map((items) => new Set(items)),
    ),
  })).value;

  it("as equals", () => {
    fc.assert(
      fc.property(plain, (value) => {
        expect(roundTrip(value)).toStrictEqual(value);
      }),
      { numRuns: 200 },
    );
  });

  it("with identity and cycles", () => {
    const shared = { a: 1 };
    const value: Record<string, unknown> = { x: shared, y: [shared], m: new Map([["k", shared]]) };
    value["self"] = value;
    const back = roundTrip(value) as typeof value & { y: unknown[]; m: Map<string, unknown> };
    expect(back["self"]).toBe(back);
    expect(back.y[0]).toBe(back["x"]);
    expect(back.m.get("k")).toBe(back["x"]);
    expect(back["x"]).not.toBe(shared);
  });

  it("with identity between plain data and what needs codecs", () => {
    const shared = { a: [1, { b: 2 }] };
    const list = [shared, shared.a];
    const mixed = { f: () => 1, shared, list, deep: { more: [{ list, f: Math.sin }] } };
    const encoder = new Encoder("test");
    const wires = [list, mixed, shared, mixed].map((value) => encoder.encode(value, "value"));
    const decoder = new Decoder(new Map(), undefined, true);
    const [first, second, third, fourth] = structuredClone(wires).map((wire) => decoder.decode(wire)) as [
      typeof list,
      typeof mixed,
      typeof shared,
      typeof mixed,
    ];
    expect(first).toEqual(list);
    expect(second.list).toBe(first);
    expect(second.deep.more[0]?.list).toBe(first);
    expect([first[0], second.shared]).toEqual([third, third]);
    expect(first[0] === third && second.shared === third && first[1] === third.a).toBe(true);
    expect(fourth).toBe(second);
    expect(second.deep.more[0]?.f).toBe(Math.sin);
    expect([first, third, third.a, third.a[1], second, second.deep.more[0]].map(Object.isFrozen)).toEqual(
      Array.from({ length: 6 }, () => true),
    );
  });

  it("with cycles through lists, maps and sets", () => {
    const node: { next: unknown; near: unknown[] } = { next: undefined, near: [{ plain: 1 }] };
    const all = new Set<unknown>([node]);
    node.next = new Map<unknown, unknown>([["all", all]]);
    node.near.push(node, { node });
    const back = roundTrip(node) as typeof node & { next: Map<string, Set<unknown>> };
    expect(back.next.get("all")?.has(back)).toBe(true);
    expect(back.near).toEqual([{ plain: 1 }, back, { node: back }]);
    expect((back.near[2] as { node: unknown }).node).toBe(back);
    // The way back is met before the part that is not plain.
    const parent: { child: { up?: unknown }; f?: () => number } = { child: {} };
    parent.child.up = parent;
    parent.f = () => 1;
    const again = roundTrip(parent) as typeof parent;
    expect(again.child.up).toBe(again);
    expect(again.f?.()).toBe(1);
  });

  it("with what getters and proxies give, asked once", () => {
    let asked = 0;
    const value = {
      get x() {
        asked++;
        return asked === 1 ? [1] : () => 1;
      },
      proxies: [new Proxy({ a: 1 }, {}), new Proxy([1, 2], {})],
    };
    expect(roundTrip(value)).toEqual({ x: [1], proxies: [{ a: 1 }, [1, 2]] });
    expect(asked).toBe(1);
  });

  it("frozen inside of maps and sets, too", () => {
    const value = { map: new Map([["k", { list: [{ a: 1 }] }]]), set: new Set([{ b: 1 }]) };
    const decoder = new Decoder(new Map(), undefined, true);
    const back = decoder.decode(structuredClone(new Encoder("test").encode(value, "value"))) as typeof value;
    expect(back).toEqual(value);
    const inside = back.map.get("k");
    const parts = [back, inside, inside?.list, inside?.list[0], ...back.set];
    expect(parts.map(Object.isFrozen)).toEqual(Array.from({ length: 5 }, () => true));
    // What comes back from a rank belongs to the caller.
    expect(Object.isFrozen(roundTrip(value))).toBe(false);
  });

  it("with fields that collide with prototypes and with heddle's own marks", () => {
    const value = JSON.parse('{"__proto__": {"polluted": 1}, "c": "object", "d": [["a", 1]]}') as object;
    const back = roundTrip(value) as Record<string, unknown>;
    expect(Object.keys(back)).toEqual(["__proto__", "c", "d"]);
    expect(back["polluted"]).toBeUndefined();
    expect(back).toEqual(value);
  });

  it("in what kind they are", () => {
    const pattern = roundTrip(/a+/giu) as RegExp;
    expect([pattern.source, pattern.flags]).toEqual(["a+", "giu"]);
    const buffer = roundTrip(Buffer.from("hello")) as Buffer;
    expect(Buffer.isBuffer(buffer) && buffer.toString()).toBe("hello");
    const part = new Float64Array(1000).subarray(3, 5);
    expect((roundTrip(part) as Float64Array).buffer.byteLength).toBe(16);
    const error = roundTrip(new RangeError("far", { cause: { a: 1 } })) as RangeError;
    expect(error).toBeInstanceOf(RangeError);
    expect([error.message, error.cause]).toEqual(["far", { a: 1 }]);
    const f = roundTrip((x: number) => x * 2) as (x: number) => number;
    expect(f(4)).toBe(8);
    const array = roundTrip(np.array([[1, 2]])) as heddle.NDArray;
    expect(array).toBeInstanceOf(heddle.NDArray);
    expect([array.dtype, array.shape, array.toArray()]).toEqual(["float64", [1, 2], [[1, 2]]]);
  });

  it("on shared memory as the same memory, with the shape", () => {
    const array = sharedArray("float64", [2, 3]);
    const back = roundTrip(array) as typeof array;
    back[4] = 7;
    expect(array[4]).toBe(7);
    expect([array.length, array.shape, back.shape]).toEqual([6, [2, 3], [2, 3]]);
    expect(sharedArray("bool", 3).shape).toEqual([3]);
    expect(() => sharedArray("float16" as "float64", 3)).toThrow(/sharedArray: dtype is float16/);
    expect(() => sharedArray("float64", -1)).toThrow(/sharedArray: shape/);
  });

  it("by name, for heddle's own exports, all of them", () => {
    const functions = Object.entries(heddle).filter(
      ([, value]) => typeof value === "function" || typeof value === "object",
    );
    expect(functions.length).toBeGreaterThan(20);
    for (const [name, value] of functions) {
      expect([name, nameOfExport(value) !== undefined]).toEqual([name, true]);
      expect(roundTrip(value)).toBe(value);
    }
    expect(nameOfExport(np)).toBe("np");
    expect(nameOfExport(np.sin)).toBe("np.sin");
  });
});

describe("values that cannot cross are refused by their path", () => {
  class Secret {
    #hidden = 1;
    get value(): number {
      return this.#hidden;
    }
  }
  const secret = new Secret();
  const inner = (): number => secret.value;
  it.each<[string, object, RegExp]>([
    [
      "an instance of a class",
      { state: { deep: [new Secret()] } },
      /with\.state\.deep\[0\] is an instance of Secret, which cannot cross.*register a codec/,
    ],
    [
      "a server",
      { state: { socket: createServer() } },
      /with\.state\.socket is an instance of Server, .*ctx\.local/,
    ],
    ["a promise", { p: Promise.resolve(1) }, /with\.p is an instance of Promise, .*await it first/],
    ["a symbol", { s: Symbol("x") }, /with\.s is a symbol/],
    ["a symbol as key", { s: { [Symbol("x")]: 1 } }, /with\.s is an object with symbols for keys/],
    [
      "a WeakMap",
      { m: new Map([["k", new WeakMap()]]) },
      /with\.m\.get\("k"\) is an instance of WeakMap, .*pass a Map/,
    ],
    [
      "what a function captures",
      { f: (x: number) => x + secret.value },
      /with\.f → secret is an instance of Secret/,
    ],
    [
      "what a captured function captures",
      { f: (x: number) => x + inner() },
      /with\.f → inner → secret is an instance of Secret/,
    ],
    ["a bound function", { f: Math.sin.bind(null) }, /with\.f is a native or bound function/],
    ["a class", { f: Secret }, /with\.f is a class/],
  ])("%s", (_name, given, message) => {
    expect(() => capture("() => 1", given)).toThrow(message);
    expect(() => capture("() => 1", given)).toThrow(CaptureError);
  });

  it("and items by their position", () => {
    expect(() => capture("() => 1", {}, [1, { a: new Secret() }])).toThrow(
      /items\[1\]\.a is an instance of Secret/,
    );
  });
});

describe("bodies are refused", () => {
  const out = new Float64Array(3);
  const list: number[] = [];
  const state = { count: 0, map: new Map(), shared: sharedArray("float64", 3), list };
  it.each<[string, string, object, RegExp]>([
    [
      "that use a name that is declared nowhere",
      "(i) => i + k",
      {},
      /uses "k" which is declared nowhere; declare it, or give it by name/,
    ],
    [
      "that assign to a name that was not given",
      "(i) => { total += i; }",
      {},
      /assigns to "total" from outside, which would be lost.*return the value/,
    ],
    [
      "that assign to a given name",
      "(i) => { total += i; }",
      { total: 0 },
      /assigns to "total" from outside/,
    ],
    [
      "that assign to a name from the context",
      "(i, { total }) => { total += i; }",
      { total: 0 },
      /with\.total is written to/,
    ],
    [
      "that assign to the context",
      "(i, ctx) => { ctx.total += i; }",
      { total: 0 },
      /with\.total is written to/,
    ],
    [
      "that write to elements of a copy",
      "(i, { out }) => { out[i] = i; }",
      { out },
      /with\.out is written to by the body \(out\[\.\.\.\] = \.\.\.\).*sharedArray/,
    ],
    ["that write to elements by a free name", "(i) => { out[i] = i; }", { out }, /with\.out is written to/],
    ["that write through the context", "(i, ctx) => { ctx.out[i] = i; }", { out }, /with\.out is written to/],
    [
      "that write to members",
      "(i) => { state.count++; }",
      { state },
      /with\.state is written to by the body \(state\.count = \.\.\.\)/,
    ],
    [
      "that write by nested destructuring",
      "(i, { state: { list } }) => { list[0] = 1; }",
      { state },
      /with\.state is written to/,
    ],
    ["that delete", "(i) => { delete state.count; }", { state }, /with\.state is written to/],
    ["that call mutating methods of lists", "(i) => { list.push(i); }", { list }, /\(list\.push\(\.\.\.\)\)/],
    [
      "that call mutating methods of maps",
      "(i) => { state.map.set(i, 1); }",
      { state },
      /\(state\.map\.set\(\.\.\.\)\)/,
    ],
    [
      "that call mutating methods of typed arrays",
      "(i) => { out.set([1], i); }",
      { out },
      /\(out\.set\(\.\.\.\)\)/,
    ],
    [
      "that assign by pattern",
      "(i) => { [out[0], list[1]] = [1, 2]; }",
      { out, list },
      /with\.out is written to/,
    ],
    ["that use this", "() => this.x", {}, /uses this from outside/],
    ["that are generators", "function* () { yield 1; }", {}, /body is a generator/],
    [
      "whose given names the context has",
      "(i) => i",
      { rank: 1 },
      /with\.rank is a name that the body's context has itself/,
    ],
  ])("%s", (_name, text, given, message) => {
    expect(() => capture(text, given)).toThrow(message);
    expect(() => capture(text, given)).toThrow(CaptureError);
  });

  it("that write to their items", () => {
    expect(() => capture("(item) => { item.x = 1; }", {}, [{ x: 0 }])).toThrow(
      /items is written to by the body \(item\.x = \.\.\.\).*return what is new/,
    );
    expect(() => capture("({ list }) => { list.push(1); }", {}, [{ list: [] }])).toThrow(
      /items is written to/,
    );
    capture("(item) => { item[0] = 1; }", {}, [sharedArray("float64", 1)]);
    capture("(item) => { item += 1; return item; }", {}, [1, 2]);
  });

  it("but not for what is theirs, shared, or only looks like a write", () => {
    const x = np.array([1, 2]);
    capture("(i, { shared }) => { shared[i] = i; shared.fill(0); }", { shared: state.shared });
    capture("(i) => { state.shared[i] = 1; }", { state });
    capture("(i) => { const out = []; out.push(i); out[0] = 1; let total = 0; total += i; return out; }", {
      out,
    });
    capture("(i) => x.at(0).set(1)", { x });
    capture("(i) => new Map(state.map).set(i, 1).get(i)", { state });
    capture("(i) => list.map((v) => v + i).sort()", { list });
    capture("(i, { out: copy }) => { const own = copy.slice(); own[0] = i; return own; }", { out });
  });
});

describe("writes through a local name are found", () => {
  const out = new Float64Array(3);
  const grid = [[1], [2]];
  const state = { rows: new Map([["a", [1]]]), list: [1], grid };
  it.each<[string, string]>([
    ["an alias", "(i) => { const a = out; a[i] = 1; }"],
    ["an alias of an alias", "(i) => { const a = state; const b = a.list; b.push(i); }"],
    ["an alias that is declared with let or var", "(i) => { let a = out; a[i] = 1; }"],
    ["a destructured alias", "(i) => { const { list: l } = state; l[0] = i; }"],
    ["an element", "(i) => { const row = grid[i]; row[0] = 1; }"],
    ["elements in turn", "() => { for (const row of grid) row[0] = 1; }"],
    ["an element that a callback is given", "() => { grid.forEach((row) => { row[0] = 1; }); }"],
    ["an element that reduce gives", "() => grid.reduce((sum, row) => { row.push(1); return sum; }, 0)"],
    ["a part of a typed array", "(i) => { const part = out.subarray(1); part[0] = i; }"],
    ["a part at once", "(i) => { out.subarray(1)[0] = i; }"],
    ["what a map has", "() => { const row = state.rows.get('a'); row.push(1); }"],
    ["what an element at a place is", "() => { grid.at(-1).push(1); }"],
    ["one of two", "(i) => { const a = i ? out : null; a[0] = 1; }"],
    ["one or else another", "() => { const a = state.none || state.list; a.push(1); }"],
    ["the context's value", "(i, ctx) => { const { out: o } = ctx; o[i] = 1; }"],
    ["a variable in a block", "(i) => { if (i) { const a = out; { a[i] = 1; } } }"],
    ["a variable in an inner function", "(i) => { const a = out; const f = () => { a[i] = 1; }; f(); }"],
  ])("by %s", (_name, text) => {
    expect(() => capture(text, { out, grid, state })).toThrow(/written to by the body .* would be lost/);
  });

  it("but not where it is theirs, or shared", () => {
    const shared = sharedArray("float64", 3);
    const views = [shared, shared];
    for (const text of [
      "(i) => { const a = out.slice(); a[i] = 1; return a; }",
      "(i) => { const a = [...grid]; a.push([i]); return a; }",
      "(i) => { let a = out; a = new Float64Array(3); a[i] = 1; return a; }",
      "(i) => { const a = grid.map((row) => [...row]); a[0].push(i); return a; }",
      "(i) => { const a = shared; a[i] = 1; }",
      "(i) => { const a = views[i % 2]; a[i] = 1; }",
      "() => { for (const a of views) a[0] = 1; }",
      "() => { views.forEach((a) => { a[0] = 1; }); }",
      "() => { const part = shared.subarray(1); part.fill(0); }",
      "(i) => { const { length } = out; let n = length; n += i; return n; }",
      "(i) => { const rows = new Map(state.rows); rows.set('b', [i]); return rows; }",
    ]) {
      capture(text, { out, grid, state, shared, views });
    }
  });

  it("also in captured functions, by their way", () => {
    let count = 0;
    const cache = new Map<number, number>();
    const counting = (i: number): number => (count += i);
    const caching = (i: number): number => cache.set(i, i).size;
    expect(() => captureBody("parallelFor", (i: number) => counting(i), {}, undefined)).toThrow(
      /counting is a function that writes to what it captures \(count = \.\.\.\)/,
    );
    expect(() => captureBody("parallelFor", (i: number) => caching(i), {}, undefined)).toThrow(
      /caching is a function that writes to what it captures \(cache\.set\(\.\.\.\)\)/,
    );
    expect(count).toBe(0);
  });
});

/** A body after its journey. */
function travelled(body: AnyFunction, given: object = {}): (...args: unknown[]) => unknown {
  const { body: wire } = structuredClone(captureBody("parallelFor", body, given, undefined));
  const decoder = new Decoder(new Map(), undefined, true);
  return compile(
    wire.source,
    wire.values.map((value) => decoder.decode(value)),
  ) as (...args: unknown[]) => unknown;
}

const moduleLevel = { factor: 3 };
let moduleCount = 1;
const even = (n: number): boolean => n === 0 || odd(n - 1);
const odd = (n: number): boolean => n !== 0 && even(n - 1);

describe("what a body uses from outside is found by itself", () => {
  it("whatever scope it is in, at its value of the moment", () => {
    const make = (parameter: number) => {
      let local = parameter * 2;
      const body = (i: number): number => {
        const inner = 1;
        return i + parameter + local + moduleLevel.factor + moduleCount + inner;
      };
      const first = travelled(body)(1);
      local += 100;
      moduleCount = 1001;
      return [first, travelled(body)(1), body(1)];
    };
    const [first, second, direct] = make(5);
    expect(first).toBe(1 + 5 + 10 + 3 + 1 + 1);
    expect(second).toBe(direct);
    moduleCount = 1;
  });

  it("by the nearest declaration of a name", () => {
    const value = 1;
    const make = (value: number): (() => number)[] => {
      const bodies = [(): number => value];
      {
        const value = 3;
        bodies.push(() => value);
      }
      return bodies;
    };
    expect(make(2).map((body) => travelled(body)())).toEqual([2, 3]);
    expect(travelled(() => value)()).toBe(1);
    const bodies = [1, 2, 3].map((each) => () => each * 10);
    expect(bodies.map((body) => travelled(body)())).toEqual([10, 20, 30]);
    // A name of a global that means something else here.
    const fetch = (i: number): number => i + 0.5;
    expect(travelled((i: number) => fetch(i))(1)).toBe(1.5);
  });

  it("functions with what they capture, around cycles, each once", () => {
    const scale = 2;
    const helper = (x: number): number => x * scale;
    const twice = (x: number): number => helper(helper(x));
    expect(travelled((i: number) => twice(i))(3)).toBe(12);
    expect(travelled((n: number) => [even(n), odd(n)])(7)).toEqual([false, true]);
    const factorial = (n: number): number => (n < 2 ? 1 : n * factorial(n - 1));
    expect(travelled((n: number) => factorial(n))(5)).toBe(120);
    const pair = { a: helper, b: helper };
    expect(travelled(() => pair.a === pair.b && pair.a === helper)()).toBe(true);
    expect(
      travelled(function fib(n: number): number {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
      })(10),
    ).toBe(55);
  });

  it("memory that is shared stays the same memory", () => {
    const shared = sharedArray("float64", 2);
    const view = new Int32Array(new SharedArrayBuffer(4));
    travelled((i: number) => {
      shared[0] = i;
      Atomics.add(view, 0, 5);
    })(7);
    expect(shared[0]).toBe(7);
    expect(view[0]).toBe(5);
  });

  it("heddle's own exports, imported in any way, and what every thread has", () => {
    expect(travelled(() => np.sum([1, 2, 3]).item())()).toBe(6);
    expect(travelled(() => heddle.np.sum([1, 2, 3]).item())()).toBe(6);
    const { sin } = Math;
    const M = Math;
    expect(travelled((x: number) => sin(x) + M.cos(x))(1)).toBe(Math.sin(1) + Math.cos(1));
    expect(travelled(() => typeof nowhere)()).toBe("undefined");
  });

  it("what Node itself has, by function, as a module, and as its default", () => {
    const body = travelled((text: string) => [
      path.join("a", text),
      nodePath.basename("/x/y"),
      join("b", text),
      fs.existsSync("/"),
    ]);
    expect(body("z")).toEqual([path.join("a", "z"), "y", join("b", "z"), true]);
    const { promises } = fs;
    expect(travelled(() => promises)()).toBe(promises);
    // A plain object of the same size is none.
    const settings = Object.fromEntries(Object.keys(path).map((key) => [key, 1]));
    expect(travelled(() => settings)()).toEqual(settings);
  });

  it("values that were given by name come first", () => {
    const k = 1;
    expect(travelled((i: number) => i + k, { k: 10 })(1)).toBe(11);
  });

  it("what is undefined, null, or a plain value", () => {
    const values = { a: undefined, b: null, c: "text", d: 10n, e: true };
    const { a, b, c, d, e } = values;
    expect(travelled(() => [a, b, c, d, e])()).toEqual(Object.values(values));
  });

  it("and is frozen where it is a copy", () => {
    const settings = { nested: { list: [{ x: 1 }] } };
    const key = "nested";
    const body = travelled(() => [Object.isFrozen(settings), Object.isFrozen(settings[key].list)]);
    expect(body()).toEqual([true, true]);
    const sneaky = travelled((name: "nested") => {
      const { assign } = Object;
      return assign(settings[name], { list: [] });
    });
    expect(() => sneaky("nested")).toThrow(TypeError);
  });

  it("but not modules as a whole, things that are not there yet, and what cannot cross", () => {
    const server = createServer();
    const refused = (body: AnyFunction): string => {
      try {
        travelled(body);
      } catch (error) {
        expect(error).toBeInstanceOf(CaptureError);
        return String(error);
      }
      return "not refused";
    };
    expect(refused(() => heddle)).toMatch(/"heddle" a whole module|a whole module/);
    expect(refused(() => server)).toMatch(/server is an instance of Server.*ctx\.local/);
    class Local {}
    expect(refused(() => new Local())).toMatch(/Local is a class/);
    expect(refused(() => early)).toMatch(/"early" from outside, where it is not initialised yet/);
    const early = 1;
    expect(travelled(() => early)()).toBe(1);
  });
});

describe("errors", () => {
  it("come back with class, name, message, stack, cause and properties", () => {
    class Special extends Error {
      override name = "Special";
      readonly code = 42;
      readonly list = [1, { a: 2 }];
      readonly fn = (): number => 1;
    }
    const inner = new TypeError("inner");
    const error = new Special("outer", { cause: inner });
    const back = errorFromWire(structuredClone(errorToWire(error))) as Special;
    expect(back).toMatchObject({ name: "Special", message: "outer", code: 42, list: [1, { a: 2 }] });
    expect(back.stack).toBe(error.stack);
    expect("fn" in back).toBe(false);
    expect(back.cause).toBeInstanceOf(TypeError);
    expect(Object.keys(back).sort()).toEqual(["code", "list"].sort());
    const own = new CaptureError({ operation: "a", argument: "b" });
    const again = errorFromWire(structuredClone(errorToWire(own)));
    expect(again).toBeInstanceOf(CaptureError);
    expect(again).toMatchObject({ code: "HEDDLE_CAPTURE", operation: "a" });
  });

  it("survive whatever is thrown", () => {
    const cyclic = new Error("cyclic");
    cyclic.cause = cyclic;
    expect(errorFromWire(errorToWire(cyclic))).toMatchObject({ message: "cyclic" });
    for (const thrown of [undefined, null, 3, "text", { a: 1 }, [1]]) {
      expect(errorFromWire(structuredClone(errorToWire(thrown)))).toEqual(thrown);
    }
    expect(errorFromWire(structuredClone(errorToWire(() => 1)))).toMatch(/=>/);
    const hostile = Object.defineProperty(new Error("x"), "bad", {
      enumerable: true,
      get: () => {
        throw new Error("no");
      },
    });
    expect(errorFromWire(structuredClone(errorToWire(hostile)))).toMatchObject({ message: "x" });
  });
});

describe("registerCodec", () => {
  class Point {
    readonly x: number;
    readonly y: number;
    constructor(x: number, y: number) {
      this.x = x;
      this.y = y;
    }
  }

  it("takes instances of a class along, and names the other side's decoder", () => {
    registerCodec<Point>({
      name: "test point",
      test: (value) => value instanceof Point,
      encode: ({ x, y }, context) => [context.encode(x, ".x"), y],
      decode: (data, context) => {
        const [x, y] = data as [unknown, number];
        return { x: context.decode(x), y } as unknown as Point; // The class is not there.
      },
    });
    const { body } = captureBody("parallelFor", () => 1, { p: new Point(1, 2) }, undefined);
    expect(Object.keys(body.decoders)).toEqual(["test point"]);
    expect(roundTrip(new Point(1, 2))).toEqual({ x: 1, y: 2 });
    expect(() =>
      registerCodec({ name: "test point", test: () => false, encode: () => 0, decode: () => 0 }),
    ).toThrow(/codec.name is "test point", which another codec has/);
  });

  it("is asked about what looks like plain data", () => {
    const log = { kind: "test log", lines: ["a"] };
    registerCodec<typeof log>({
      name: "test log",
      test: (value) => value === log,
      encode: ({ lines }) => lines.length,
      decode: (data) => ({ kind: `${String(data)} lines`, lines: [] }),
    });
    expect(roundTrip([{ deep: new Map([[1, log]]) }, { plain: 1 }])).toEqual([
      { deep: new Map([[1, { kind: "1 lines", lines: [] }]]) },
      { plain: 1 },
    ]);
    expect(roundTrip({ math: Math, exported: np })).toEqual({ math: Math, exported: np });
  });

  it("refuses a decoder that needs something from outside", () => {
    class Other {}
    registerCodec<Other>({
      name: "test other",
      test: (value) => value instanceof Other,
      encode: () => 0,
      decode: () => new Other(),
    });
    expect(() => capture("() => 1", { p: new Other() })).toThrow(
      /the decoder of codec "test other" is a function that uses "Other"/,
    );
  });
});

describe("what is not there, or would be lost", () => {
  it("memory that was transferred away is refused by name", () => {
    const values = new Float64Array(8);
    const bytes = new DataView(new ArrayBuffer(8));
    for (const { buffer } of [values, bytes]) structuredClone(buffer, { transfer: [buffer] });
    for (const [text, given] of [
      ["() => values[0]", { values }],
      ["() => bytes.getInt8(0)", { bytes }],
      ["() => raw.byteLength", { raw: values.buffer }],
      ["() => list[0].values", { list: [{ values }] }],
    ] as const) {
      expect(() => capture(text, given)).toThrow(CaptureError);
      expect(() => capture(text, given)).toThrow(/memory that was transferred away/);
    }
    expect(() => capture("() => empty.length", { empty: new Float64Array(0) })).not.toThrow();
  });

  it("writes by functions of the language are refused", () => {
    const o = { a: 1, inner: { b: 2 } };
    for (const text of [
      "() => Object.assign(o, { b: 1 })",
      "() => { const { inner } = o; Object.assign(inner, { b: 1 }); }",
      '() => Object.defineProperty(o, "a", { value: 2 })',
      '() => Reflect.set(o.inner, "b", 3)',
      '() => Reflect.deleteProperty(o, "a")',
    ]) {
      expect(() => capture(text, { o }), text).toThrow(/return the value instead/);
    }
    for (const text of [
      "() => Object.assign({}, o)",
      "() => { const Object = { assign: () => 1 }; return Object.assign(o, 1); }",
      "() => Object.keys(o)",
    ]) {
      expect(() => capture(text, { o }), text).not.toThrow();
    }
  });
});
