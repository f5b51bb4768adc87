// What a body may use, what crosses and comes back equal, and what is refused: by name, with a way out.
import { createServer } from "node:net";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as heddle from "heddle";
import { np, registerCodec, sharedArray } from "heddle";
import { CaptureError } from "#heddle/base/errors";
import { captureBody } from "#heddle/closure/body";
import { Decoder, Encoder } from "#heddle/closure/codec";
import { errorFromWire, errorToWire } from "#heddle/closure/error-wire";
import { nameOfExport } from "#heddle/closure/exports";
import { compile, needsOf } from "#heddle/closure/functions";
import { freeOf } from "#heddle/closure/scope";
import type { AnyFunction } from "#heddle/closure/source";
import { sourceOf } from "#heddle/closure/source";

/** A function from text, so that the test runner's rewriting does not touch it. */
function fromText(text: string): AnyFunction {
  return (0, eval)(text) as AnyFunction; // The text is a function's.
}

function freeNames(text: string): string[] {
  return needsOf(freeOf(sourceOf("test", "f", fromText(`(${text})`)).node)).wanted.toSorted();
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
    const { wanted, imports } = needsOf(freeOf(node));
    expect(wanted.filter((name) => name !== "y")).toEqual([]);
    const again = compile({ text, strict, names: [], imports }, []) as (x: number) => unknown;
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
  const outside = 1;
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
      "a function with free names",
      { f: (x: number) => x + outside },
      /with\.f is a function that uses "outside" from outside.*pass outside to it/,
    ],
    ["a native function", { f: Math.sin }, /with\.f is a native or bound function/],
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
      "that use a name that was not given",
      "(i) => i + k",
      {},
      /uses "k" from outside.*write parallelFor\(\.\.\., body, \{ with: \{ k \} \}\)/,
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
      /with\.total is written to by the body \(total = \.\.\.\); a rank has its own copy/,
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
