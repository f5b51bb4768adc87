/**
 * What an objective can be told: targets, bounds, weights, reductions, data, parts and modes, and what it refuses.
 */
import {
  ArgumentError,
  createPool,
  DTypeError,
  np,
  objective,
  objectiveFunction,
  parameters,
  sequential,
  ShapeError,
} from "heddle";
import type { NDArray, Objective, ObjectiveOptions, HeddleError } from "heddle";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

const identity = (options: ObjectiveOptions): Objective => objective((c) => c, options);
const residual = (options: ObjectiveOptions, x: number[]): number[] => [
  ...identity(options).residual(x).data,
];

describe("the residual", () => {
  test.each<[string, ObjectiveOptions, number[], number[]]>([
    ["is the function", {}, [1, 2], [1, 2]],
    ["minus a target", { target: [3, 1] }, [1, 2], [-2, 1]],
    ["minus one target for all", { target: 3 }, [1, 2], [-2, -1]],
    ["outside of bounds, signed", { bounds: [0, [1, 2]] }, [-1, 3], [-1, 1]],
    ["zero inside of bounds", { bounds: [0, 4] }, [0, 4], [0, 0]],
    [
      "over normalization, times weights",
      { target: 1, normalization: 2, weight: [3, 4], quadratureWeight: 0.5 },
      [3, 5],
      [1.5, 4],
    ],
    [
      "with a target in units of normalization",
      { target: 2, normalization: 3, normalizeTarget: false },
      [9, 3],
      [1, -1],
    ],
    ["of the mean", { reduce: "mean", target: 1 }, [1, 3], [1]],
    ["of the sum", { reduce: "sum" }, [1, 3], [4]],
    ["of the greatest", { reduce: "max", weight: 2 }, [1, 3], [6]],
    ["of the least", { reduce: "min" }, [1, 3], [1]],
  ])("is what it should be: %s", (_, options, x, wanted) => {
    expect(residual(options, x)).toEqual(wanted);
  });

  test("is f64 and flat for results of any dtype and shape", () => {
    const whole = objective((c) => np.round(c).astype("int32").reshape(2, 2));
    expect(whole.residual([1.2, 2.7, 3, 4]).dtype).toBe("float64");
    expect([...whole.residual([1.2, 2.7, 3, 4]).data]).toEqual([1, 3, 3, 4]);
    expect([...whole.jacobian([1.2, 2.7, 3, 4]).data]).toEqual(new Array(16).fill(0));
    const single = objective((c) => c.astype("float32").sum());
    expect(single.residual([1, 2]).shape).toEqual([1]);
    expect([...single.jacobian([1, 2]).data]).toEqual([1, 1]);
  });

  test("takes a target in the function's shape or flat", () => {
    const f = (target: number[] | number[][]) =>
      objective((c) => c.reshape(2, 2), { target }).residual([1, 2, 3, 4]);
    expect([
      ...f([
        [1, 1],
        [1, 1],
      ]).data,
    ]).toEqual([0, 1, 2, 3]);
    expect([...f([1, 2, 3, 4]).data]).toEqual([0, 0, 0, 0]);
    expect([...f([1, 2]).data]).toEqual([0, 0, 2, 2]);
  });

  test("of NaN coefficients is NaN, not an error", () => {
    expect(residual({ target: 1 }, [NaN, 1])).toEqual([NaN, 0]);
  });
});

describe("the derivative", () => {
  test("forward and reverse agree with each other and with differences", () => {
    const body = (c: NDArray): NDArray => np.sin(np.outer(c, c)).sum(1).mul(np.exp(c));
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: 1, maxLength: 6 }),
        (x) => {
          const [fwd, rev] = (["fwd", "rev"] as const).map((derivative) => objective(body, { derivative }));
          const forward = fwd?.jacobian(x);
          const reverse = rev?.jacobian(x);
          expect(forward?.shape).toEqual([x.length, x.length]);
          for (let j = 0; j < x.length; j++) {
            const step = 1e-6;
            const ahead = fwd?.residual(x.map((v, k) => (k === j ? v + step : v))).data;
            const behind = fwd?.residual(x.map((v, k) => (k === j ? v - step : v))).data;
            for (let i = 0; i < x.length; i++) {
              const own = forward?.data[i * x.length + j] ?? NaN;
              expect(Math.abs(own - (reverse?.data[i * x.length + j] ?? NaN))).toBeLessThan(1e-13);
              expect(Math.abs(own - ((ahead?.[i] ?? NaN) - (behind?.[i] ?? NaN)) / (2 * step))).toBeLessThan(
                1e-7,
              );
            }
          }
        },
      ),
      { numRuns: 40 },
    );
  });

  test("mode follows the shapes", () => {
    const x = new Float64Array(40);
    const modes = sequential(
      [
        objective((c) => c.sum(), { name: "one of forty" }),
        objective((c) => c.slice([0, 8]), { name: "eight" }),
        objective((c) => c.slice([0, 7]), { name: "seven" }),
        objective((c) => c.sum(), { name: "asked", derivative: "fwd" }),
      ],
      { x },
    )
      .report()
      .objectives.map(({ mode }) => mode);
    expect(modes).toEqual(["rev", "fwd", "rev", "fwd"]);
  });

  test("jvp, vjp, gradient and cost follow from the Jacobian", () => {
    const o = objective((c) => np.sin(c).mul(c.sum()), { target: 1 });
    const x = [0.3, 0.7, -0.2];
    const J = o.jacobian(x);
    const r = o.residual(x);
    const close = (found: Readonly<ArrayLike<number>>, wanted: Readonly<ArrayLike<number>>): void => {
      expect(found.length).toBe(wanted.length);
      Array.from(wanted).forEach((value, i) => expect(found[i]).toBeCloseTo(value, 13));
    };
    close(o.jvp(x, [1, 2, 3]).data, J.dot([1, 2, 3]).data);
    close(o.vjp(x, [1, 2, 3]).data, J.T.dot([1, 2, 3]).data);
    close(o.gradient(x).data, J.T.dot(r).data);
    expect(o.cost(x)).toBeCloseTo(r.dot(r).item() / 2, 13);
  });
});

describe("parts and trees", () => {
  const p = parameters({
    wall: [1, 2, 3],
    coil: [
      [1, 2],
      [3, 4],
    ],
    shift: 0.5,
  });
  const near = p.objective(["wall"], ({ wall }) => np.tanh(wall), { name: "near" });
  const far = p.objective(["shift", "coil"], ({ coil, shift }) => np.dot(coil, [1, 1]).add(shift), {
    name: "far",
  });

  test("columns of unseen coefficients are exactly zero; columns follow sorted names", async () => {
    const fun = sequential([near, far], { x: p });
    expect(fun.dimX).toBe(8);
    const J = fun.sync.jacobian(p).toArray();
    const slope = (v: number): number => 1 - Math.tanh(v) ** 2;
    const wanted = [
      [0, 0, 0, 0, 0, slope(1), 0, 0],
      [0, 0, 0, 0, 0, 0, slope(2), 0],
      [0, 0, 0, 0, 0, 0, 0, slope(3)],
      [1, 1, 0, 0, 1, 0, 0, 0],
      [0, 0, 1, 1, 1, 0, 0, 0],
    ];
    expect(J).toEqual(wanted.map((row) => row.map((value) => expect.closeTo(value, 14) as number)));
    await using pool = await createPool({ ranks: 2 });
    const parallel = await objectiveFunction([near, far], { x: p, pool });
    expect((await parallel.jacobian(p)).data).toEqual(fun.sync.jacobian(p).data);
    const gradient = await parallel.gradient(p);
    expect(gradient.wall.shape).toEqual([3]);
    expect(gradient.coil.shape).toEqual([2, 2]);
    expect(gradient.shift.shape).toEqual([]);
    const wantedGradient = fun.sync.gradient(p);
    for (const name of p.names) expect(gradient[name].data).toEqual(wantedGradient[name].data);
  });

  test("coefficients may be given as the tree or as the flat vector", () => {
    const fun = sequential([near, far], { x: p });
    expect(fun.sync.residual([1, 2, 3, 4, 0.5, 1, 2, 3]).data).toEqual(fun.sync.residual(p).data);
    expect(fun.flatten(p)).toEqual(Float64Array.of(1, 2, 3, 4, 0.5, 1, 2, 3));
  });

  test("an unknown part is refused", () => {
    // @ts-expect-error "roof" is not a part
    expect(() => p.objective(["roof"], () => 1)).toThrow(/"roof", expected names out of coil, shift, wall/);
  });
});

describe("data", () => {
  test("changes without retracing, in the pool and in the loop, and only for this function", async () => {
    let traces = 0;
    const o = objective(
      (c, { A, b }) => {
        traces++;
        return np.dot(A, c).sub(b);
      },
      {
        name: "data",
        data: {
          A: [
            [1, 2],
            [3, 4],
          ],
          b: 1,
        },
      },
    );
    await using pool = await createPool({ ranks: 2 });
    const fun = await objectiveFunction([o], { x: [1, 1], pool });
    const loop = sequential([o], { x: [1, 1] });
    for (const f of [fun, loop]) {
      expect([...(await f.residual([1, 1])).data]).toEqual([2, 6]);
      expect([...(await f.jacobian([1, 1])).data]).toEqual([1, 2, 3, 4]);
      await f.setData("data", {
        A: [
          [5, 6],
          [7, 8],
        ],
      });
      expect([...(await f.residual([1, 1])).data]).toEqual([10, 14]);
      expect([...(await f.jacobian([1, 1])).data]).toEqual([5, 6, 7, 8]);
      await f.setData("data", { b: 0 });
      expect([...(await f.residual([1, 1])).data]).toEqual([11, 15]);
    }
    expect(traces).toBe(2);
    expect([...o.residual([1, 1]).data]).toEqual([2, 6]);
  });

  test("keeps its arrays, shapes and dtypes", async () => {
    const o = objective((c, { A }) => np.dot(A, c), { name: "data", data: { A: [[1, 2]] } });
    const fun = sequential([o], { x: [1, 1] });
    await expect(fun.setData("other", {})).rejects.toThrow(/"other", expected one of data/);
    await expect(fun.setData("data", { B: 1 })).rejects.toThrow(
      /data\.B is no such array, expected one of data\.A/,
    );
    await expect(fun.setData("data", { A: [[1, 2, 3]] })).rejects.toThrow(ShapeError);
    await expect(fun.setData("data", { A: np.array([[1, 2]]).astype("float32") })).rejects.toThrow(
      DTypeError,
    );
    expect([...fun.sync.residual([1, 1]).data]).toEqual([3]);
  });
});

describe("bad input is refused: ", () => {
  const build =
    (list: unknown, x: unknown = [1, 2]) =>
    () =>
      sequential(list as Objective[], { x: x as number[] });
  const bad: readonly [string, () => unknown, new (...args: never[]) => HeddleError, RegExp][] = [
    ["no objectives", build([]), ArgumentError, /objectives is an empty list/],
    [
      "not an objective",
      build([(c: unknown) => c]),
      ArgumentError,
      /objectives\[0\] is function, expected an objective/,
    ],
    ["not a function", () => objective(3 as never), ArgumentError, /function is number/],
    [
      "equal names",
      build([identity({ name: "a" }), identity({ name: "a" })]),
      ArgumentError,
      /"a", which another objective has/,
    ],
    [
      "an unknown option",
      () => identity({ targets: 3 } as ObjectiveOptions),
      ArgumentError,
      /options.targets is given, though there is no such option, expected only name, target/,
    ],
    [
      "target and bounds",
      () => identity({ target: 1, bounds: [0, 1] }),
      ArgumentError,
      /bounds is given together with target/,
    ],
    [
      "a target of the wrong length",
      build([identity({ name: "t", target: [1, 2, 3] })]),
      ShapeError,
      /objective "t": target is \[3\], expected \[2\]/,
    ],
    ["a weight of zero", build([identity({ weight: 0 })]), ArgumentError, /weight is 0, expected positive/],
    ["a negative normalization", () => identity({ normalization: -1 }), ArgumentError, /normalization is -1/],
    ["crossed bounds", build([identity({ bounds: [1, 0] })]), ArgumentError, /lower bound above/],
    ["one bound", () => identity({ bounds: [1] as never }), ArgumentError, /a pair \[lower, upper\]/],
    ["a rank that is no number", () => identity({ rank: -1 }), ArgumentError, /rank is -1/],
    [
      "an unknown reduction",
      () => identity({ reduce: "median" as never }),
      ArgumentError,
      /reduce is median/,
    ],
    ["an empty result", build([objective((c) => c.slice([0, 0]))]), ShapeError, /at least one element/],
    [
      "a result that is no array",
      build([objective(() => "x" as never)]),
      ArgumentError,
      /the result of the function is the string/,
    ],
    [
      "an async function",
      build([objective((async () => Promise.resolve(1)) as never)]),
      ArgumentError,
      /an async function/,
    ],
    [
      "no coefficients",
      build([identity({})], []),
      ArgumentError,
      /a tree without arrays, expected at least one coefficient/,
    ],
    [
      "coefficients that are no arrays",
      build([identity({})], { a: "x" }),
      ArgumentError,
      /x\.a is the string/,
    ],
    ["mismatched shapes inside", build([objective((c) => c.add([1, 2, 3]))]), ShapeError, /do not broadcast/],
    [
      "data that is no array",
      build([objective((c) => c, { data: { k: new Date() } })]),
      ArgumentError,
      /data\.k is an instance of Date/,
    ],
  ];
  test.each(bad)("%s", (_, act, type, message) => {
    expect(act).toThrow(type);
    expect(act).toThrow(message);
  });

  test("coefficients of another length or structure", async () => {
    const fun = sequential([identity({ name: "a" })], { x: [1, 2] });
    expect(() => fun.sync.residual([1, 2, 3])).toThrow(/residual: x is \[3\], expected \[2\]/);
    await expect(fun.jacobian([1])).rejects.toThrow(ShapeError);
    await expect(fun.jvp([1, 2], [1])).rejects.toThrow(/jvp: v is \[1\], expected \[2\]/);
    await expect(fun.vjp([1, 2], [1])).rejects.toThrow(/vjp: w is \[1\], expected \[2\]/);
    await expect(fun.residual({ a: [1, 2] })).rejects.toThrow(ArgumentError);
  });

  test("a rank that the pool does not have, and calls after dispose or close", async () => {
    const pool = await createPool({ ranks: 2, inProcess: true });
    const build = objectiveFunction([identity({ name: "far", rank: 2 })], { x: [1], pool });
    await expect(build).rejects.toThrow(
      /objective "far": rank is 2, expected a rank of the pool, from 0 to 1/,
    );
    const fun = await objectiveFunction([identity({})], { x: [1], pool });
    await fun.dispose();
    await fun.dispose();
    await expect(fun.residual([1])).rejects.toThrow(/disposed of/);
    const other = await objectiveFunction([identity({})], { x: [1], pool });
    await pool.close();
    await expect(other.residual([1])).rejects.toMatchObject({ code: "HEDDLE_POOL_CLOSED" });
  });

  test("an aborted call rejects with the signal's reason, and the next is right", async () => {
    await using pool = await createPool({ ranks: 2 });
    const fun = await objectiveFunction([identity({})], { x: [1], pool });
    const reason = new Error("enough");
    await expect(fun.residual([1], { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect([...(await fun.residual([4])).data]).toEqual([4]);
  });
});
