// Derivatives for users: JAX's meaning and shapes, random compositions against differences, and what is refused.
import fc from "fast-check";
import type { NDArray } from "heddle";
import {
  ArgumentError,
  DerivativeError,
  DTypeError,
  grad,
  hessian,
  jacfwd,
  jacrev,
  jit,
  jvp,
  linearize,
  makeGraph,
  np,
  ShapeError,
  stopGradient,
  valueAndGrad,
  vjp,
  vmap,
} from "heddle";
import { checkGraph } from "#heddle/primitives/check";
import { describe, expect, it } from "vitest";
import { expectError } from "./expectError.js";

const flat = (x: NDArray): number[] => Array.from(x.data);

function expectClose(actual: NDArray, expected: NDArray | readonly number[], tolerance = 1e-12): void {
  const values = expected instanceof Array ? expected : flat(expected);
  expect(actual.size).toBe(values.length);
  flat(actual).forEach((value, i) => {
    const wanted = values[i] ?? NaN;
    // Infinities and what is no number agree only with their like.
    if (Object.is(value, wanted)) return;
    if (!Number.isFinite(wanted)) expect(value).toBe(wanted);
    const error = Math.abs(value - wanted);
    expect(error <= tolerance * Math.max(1, Math.abs(wanted)), `${value} is not ${wanted}`).toBe(true);
  });
}

describe("jacobians", () => {
  const matrix = np.sin(np.arange(600)).reshape(15, 40);
  const linear = (x: NDArray) => np.dot(matrix, x);
  const smooth = (x: NDArray) => np.dot(matrix, x).tanh();
  const point = np.cos(np.arange(40)).mul(0.1);

  it("of R^40 to R^15 are [15, 40], in both modes", () => {
    expect(jacfwd(smooth)(point).shape).toEqual([15, 40]);
    expect(jacrev(smooth)(point).shape).toEqual([15, 40]);
    expect(flat(jacfwd(linear)(point))).toEqual(flat(matrix));
    expect(flat(jacrev(linear)(point))).toEqual(flat(matrix));
    const slope = np.subtract(1, smooth(point).square()).reshape(15, 1);
    expectClose(jacfwd(smooth)(point), slope.mul(matrix), 1e-15);
    expectClose(jacrev(smooth)(point), slope.mul(matrix), 1e-15);
  });

  it("have the result's shape and then the argument's", () => {
    const f = (x: NDArray) => np.stack([x, x.mul(2)]);
    expect(jacfwd(f)(np.ones([3, 4])).shape).toEqual([2, 3, 4, 3, 4]);
    expect(jacrev((x: NDArray) => x.sum())(np.ones([3, 4])).shape).toEqual([3, 4]);
    expect(jacrev((x: NDArray) => x.mul([1, 2, 3]))(1).shape).toEqual([3]);
    expect(jacrev((x: NDArray) => x.sum().reshape(1))(np.ones(3)).shape).toEqual([1, 3]);
  });

  it("of trees are trees of trees", () => {
    const f = (p: { a: NDArray; b: NDArray }) => ({ y: p.a.mul(p.b), z: p.a.sum() });
    const p = { a: [1, 2], b: 3 };
    for (const rule of [jacfwd, jacrev]) {
      const j = rule(f)(p);
      expect(j.y.a.toArray()).toEqual([
        [3, 0],
        [0, 3],
      ]);
      expect(j.y.b.toArray()).toEqual([1, 2]);
      expect(j.z.a.toArray()).toEqual([1, 1]);
      expect(j.z.b.item()).toBe(0);
    }
  });

  it("of several arguments are lists, and hand aux through", () => {
    const f = (x: NDArray, y: NDArray) => x.mul(y);
    const [dx, dy] = jacfwd(f, { argnums: [0, 1] })([1, 2], [3, 4]);
    expect([np.diag(dx).toArray(), np.diag(dy).toArray()]).toEqual([
      [3, 4],
      [1, 2],
    ]);
    expect(np.diag(jacrev(f, { argnums: -1 })(np.array([1, 2]), np.array([3, 4]))).toArray()).toEqual([1, 2]);
    const [j, aux] = jacfwd((x: NDArray): [NDArray, NDArray] => [x.square(), x.sum()], { hasAux: true })([
      1, 2,
    ]);
    expect([np.diag(j).toArray(), aux.item()]).toEqual([[2, 4], 3]);
  });

  it("compose to symmetric Hessians", () => {
    const f = (x: NDArray) => np.exp(x.slice(0).mul(x.slice(1))).add(x.square().sum());
    const h = hessian(f)([0.5, 1]);
    const e = Math.exp(0.5);
    expectClose(h, [2 + e, 1.5 * e, 1.5 * e, 2 + 0.25 * e]);
    const trees = hessian((p: { a: NDArray; b: NDArray }) => p.a.mul(p.b).sum())({ a: [1, 2], b: [3, 4] });
    expect(trees.a.b.toArray()).toEqual([
      [1, 0],
      [0, 1],
    ]);
    expect(trees.a.a.toArray()).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });
});

describe("gradients", () => {
  it("of trees, several arguments, and with aux", () => {
    const f = (p: { w: NDArray; b: NDArray }, x: NDArray) => np.dot(p.w, x).add(p.b).sum();
    const gradient = grad(f)({ w: [[1, 2]], b: [3] }, np.array([5, 7]));
    expect([gradient.w.toArray(), gradient.b.toArray()]).toEqual([[[5, 7]], [1]]);
    const [, dx] = grad(f, { argnums: [0, 1] })({ w: [[1, 2]], b: [3] }, [5, 7]);
    expect(dx.toArray()).toEqual([1, 2]);
    const pair = (x: NDArray): [NDArray, { twice: NDArray }] => [x.square().sum(), { twice: x.mul(2) }];
    const [[value, aux], slope] = valueAndGrad(pair, { hasAux: true })([1, 2]);
    expect([value.item(), aux.twice.toArray(), slope.toArray()]).toEqual([5, [2, 4], [2, 4]]);
    const [only, beside] = grad(pair, { hasAux: true })([1, 2]);
    expect([only.toArray(), beside.twice.toArray()]).toEqual([
      [2, 4],
      [2, 4],
    ]);
  });

  it("keep f32, and treat other arguments as they are", () => {
    expect(grad((x) => x.mul(x))(np.array(3, "float32")).dtype).toBe("float32");
    const power = (x: NDArray, n: number) => {
      let result: NDArray = x;
      for (let i = 1; i < n; i++) result = result.mul(x);
      return result;
    };
    expect(grad(power)(2, 3).item()).toBe(12);
  });

  it("at the points that need care", () => {
    expect(grad((x) => np.power(x, 2))(0).item()).toBe(0);
    expect(grad((x) => np.power(x, 3))(0).item()).toBe(0);
    expect(grad((x) => np.prod(x))([2, 0, 3]).toArray()).toEqual([0, 6, 0]);
    expect(
      grad((x) => np.where(x.greater(0), np.log(np.where(x.greater(0), x, 1)), 0).sum())([-1, 2]).toArray(),
    ).toEqual([0, 0.5]);
    expect(grad((x) => np.maximum(x, 0).sum())([-1, 0, 1]).toArray()).toEqual([0, 0.5, 1]);
    expect(grad((x) => np.max(x))([1, 3, 3]).toArray()).toEqual([0, 0.5, 0.5]);
    expect(grad((x) => np.abs(x))(0).item()).toBe(0);
    expect(grad((x) => np.log2(x))(8).item()).toBeCloseTo(1 / (8 * Math.LN2), 15);
    expect(grad((x) => np.logaddexp(x, 3))(3).item()).toBe(0.5);
    expect(grad((x) => stopGradient(x).mul(x))(3).item()).toBe(3);
    expect(grad((x) => np.sinc(x))(0).item()).toBe(0);
    expect(grad((_x: NDArray) => np.array(1))(3).item()).toBe(0);
  });

  it("are refused where there are none", () => {
    expectError(
      () => grad((x) => x)([1, 2]),
      DerivativeError,
      "HEDDLE_DERIVATIVE",
      "grad",
      "f64[2]",
      "scalar",
      ".sum()",
      "jacrev",
    );
    expectError(
      () => grad((x) => x)(np.array(1, "int32")),
      DerivativeError,
      "HEDDLE_DERIVATIVE",
      "i32[]",
      "astype",
    );
    expectError(
      () => grad((x) => x.greater(0) as NDArray)(1),
      DerivativeError,
      "HEDDLE_DERIVATIVE",
      "bool[]",
    );
    expectError(
      () => grad((x) => [x, x] as unknown as NDArray)(1),
      DerivativeError,
      "HEDDLE_DERIVATIVE",
      "2 leaves",
      "hasAux",
    );
    expectError(() => jacfwd((x) => x.greater(0))([1]), DerivativeError, "HEDDLE_DERIVATIVE", "bool");
    expectError(
      () => grad((x: NDArray) => x, { argnums: 1 })(np.array(1)),
      ArgumentError,
      "HEDDLE_ARGUMENT",
      "argnums",
      "1",
    );
    expectError(
      () => grad((x: NDArray) => x, { argnums: [0, 0] })(1),
      ArgumentError,
      "HEDDLE_ARGUMENT",
      "argnums",
    );
    expectError(() => grad(() => np.array(1))(), ArgumentError, "HEDDLE_ARGUMENT", "called with arguments");
    expectError(
      () => grad((x: NDArray) => [x, x, x] as unknown as [NDArray, NDArray], { hasAux: true })(1),
      ArgumentError,
      "HEDDLE_ARGUMENT",
      "[value, aux]",
    );
  });
});

describe("linear maps", () => {
  const f = (x: NDArray, y: NDArray) => ({ u: np.sin(x).mul(y), v: y.sum() });
  const [x, y] = [np.array([0.5, 1]), np.array([2, 3])];
  const [dx, dy] = [np.array([1, -1]), np.array([0.5, 0.25])];

  it("agree with each other and the Jacobian", () => {
    const [value, tangent] = jvp(f, [x, y], [dx, dy]);
    expectClose(value.u, np.sin(x).mul(y));
    expectClose(tangent.u, np.cos(x).mul(y).mul(dx).add(np.sin(x).mul(dy)));
    expect(tangent.v.item()).toBe(0.75);
    const [again, along] = linearize(f, x, y);
    expect(flat(again.u)).toEqual(flat(value.u));
    expectClose(along(dx, dy).u, tangent.u, 1e-15);
    const [, pull] = vjp(f, x, y);
    const w = { u: np.array([1, 2]), v: np.array(3) };
    const [wx, wy] = pull(w);
    const forward = tangent.u.dot(w.u).item() + 3 * tangent.v.item();
    expect(wx.dot(dx).add(wy.dot(dy)).item()).toBeCloseTo(forward, 12);
  });

  it("refuse tangents and cotangents that do not look like the values", () => {
    expectError(
      () => jvp(f, [x, y], [dx, [1]]),
      ShapeError,
      "HEDDLE_SHAPE",
      "jvp",
      "tangent 1",
      "[1]",
      "[2]",
    );
    expectError(
      () => jvp((v: NDArray) => v, [x], [np.ones(2, "float32")]),
      DTypeError,
      "HEDDLE_DTYPE",
      "float32",
      "float64",
    );
    expectError(
      () => jvp((v: NDArray) => v, [x], [] as unknown as [NDArray]),
      ArgumentError,
      "HEDDLE_ARGUMENT",
      "0 of them",
    );
    const [, pull] = vjp(f, x, y);
    expectError(
      () => pull(np.ones(2) as never),
      ArgumentError,
      "HEDDLE_ARGUMENT",
      "cotangent",
      "{u: *, v: *}",
    );
    expectError(() => pull({ u: [1, 2, 3], v: 1 }), ShapeError, "HEDDLE_SHAPE", "[3]", "[2]");
    expect(jvp((v: NDArray) => v.mul(2), [np.ones(1, "float32")], [[3]])[1]).toMatchObject({
      dtype: "float32",
    });
  });
});

type Step = (x: NDArray) => NDArray;

describe("random compositions", () => {
  const rotate = np.array([
    [0.6, -0.8, 0.1],
    [0.8, 0.6, -0.2],
    [0.1, 0.3, 0.9],
  ]);
  const steps: Record<string, Step> = {
    tanh: (x) => x.tanh(),
    sin: (x) => np.sin(x.mul(1.5)),
    square: (x) => x.mul(x).sub(0.5),
    matrix: (x) => np.dot(rotate, x),
    ratio: (x) => x.div(np.square(x).sum().add(1)),
    softplus: (x) => np.log1p(np.exp(x)),
    roll: (x) => np.roll(x, 1).mul(x),
    slice: (x) => np.concatenate([x.slice([1]), x.slice([0, 1])]).add(x.slice([null, null, -1])),
    gather: (x) => x.take([2, 0, 0]).add(x),
    where: (x) => np.where(x.greater(0.1), x.mul(3), np.exp(x)),
    mean: (x) => x.sub(x.mean()).add(x.std({ ddof: 1 }).add(0.1)),
    outer: (x) => np.outer(x, x).sum(0).mul(0.3),
    pad: (x) => np.pad(x, 1, { mode: "reflect" }).slice([1, -1]).mul(x.at(0).set(0.25)),
    einsum: (x) => np.einsum("i,ij,j->i", x, rotate, x),
    hypot: (x) => np.hypot(x, 1.25),
    prod: (x) => x.mul(x.add(2).prod()),
    atan: (x) => np.arctan2(x, np.add(2, x.square())),
  };
  const composition = fc
    .array(fc.constantFrom(...Object.keys(steps)), { minLength: 1, maxLength: 5 })
    .map((names) => ({
      name: names.join(" "),
      f: (x: NDArray) =>
        names.reduce<NDArray>((value, name) => (steps[name] ?? ((v) => v))(value), x).mul(0.5),
    }));
  const points = fc.array(
    // Away from the steps' kinks, at 0 and 0.1, where differences say nothing.
    fc.integer({ min: -50, max: 49 }).map((i) => i / 50 + 0.0103),
    { minLength: 3, maxLength: 3 },
  );

  it("agree with central differences, in both modes, compiled and not", () => {
    fc.assert(
      fc.property(composition, points, ({ name, f }, point) => {
        const h = 1e-5;
        const columns = point.map((_, i) => {
          const moved = (by: number) => f(np.array(point.map((value, j) => (i === j ? value + by : value))));
          return moved(h)
            .sub(moved(-h))
            .div(2 * h);
        });
        const wanted = np.stack(columns, 1);
        const forward = jacfwd(f)(point);
        fc.pre(
          flat(forward).every((value) => Math.abs(value) < 100) &&
            flat(wanted).every((value) => Math.abs(value) < 100),
        );
        checkGraph(makeGraph(jacrev(f))(point).graph);
        expect(forward.shape, name).toEqual([3, 3]);
        expectClose(jacrev(f)(point), forward, 1e-9);
        expectClose(jit(jacfwd(f))(point), forward, 1e-9);
        expectClose(forward, wanted, 2e-4);
      }),
      { numRuns: 60 },
    );
  });

  it("agree with the loop when batched, along every axis", () => {
    fc.assert(
      fc.property(composition, fc.array(points, { minLength: 1, maxLength: 4 }), ({ f }, rows) => {
        const loop = np.stack(rows.map((row) => f(np.array(row))));
        expectClose(vmap(f)(rows), loop, 1e-12);
        expectClose(vmap(f, { inAxes: 1, outAxes: -1 })(np.array(rows).T), loop.T, 1e-12);
        const gradient = (x: NDArray) => grad((y: NDArray) => f(y).sum())(x);
        expectClose(vmap(gradient)(rows), np.stack(rows.map((row) => gradient(np.array(row)))), 1e-9);
      }),
      { numRuns: 40 },
    );
  });
});

describe("vmap", () => {
  it("takes axes per argument and per leaf", () => {
    const f = (p: { a: NDArray; b: NDArray }, c: NDArray) => ({ y: p.a.mul(p.b).add(c), z: c });
    const result = vmap(f, { inAxes: [{ a: 0, b: null }, null], outAxes: { y: 0, z: null } })(
      { a: [1, 2, 3], b: 10 },
      np.array(1),
    );
    expect([result.y.toArray(), result.z.item()]).toEqual([[11, 21, 31], 1]);
  });

  it("refuses axes that do not fit", () => {
    const add = (x: NDArray, y: NDArray) => x.add(y);
    expectError(() => vmap(add)([1, 2], [1]), ShapeError, "HEDDLE_SHAPE", "leaf 1", "extent 1", "2");
    expectError(() => vmap(add)(1, [1]), ShapeError, "HEDDLE_SHAPE", "a scalar", "inAxes");
    expectError(
      () => vmap(add, { inAxes: [0] })([1], [1]),
      ArgumentError,
      "HEDDLE_ARGUMENT",
      "1 entries for 2",
    );
    expectError(
      () => vmap(add, { inAxes: [null, null] })(np.array(1), np.array(1)),
      ArgumentError,
      "HEDDLE_ARGUMENT",
      "null for every",
    );
    expectError(
      () => vmap(add, { outAxes: null })([1], [1]),
      ArgumentError,
      "HEDDLE_ARGUMENT",
      "outAxes",
      "depends",
    );
    expectError(
      () => vmap(add, { inAxes: [{ a: 0 }, 0] })([1], [1]),
      ArgumentError,
      "HEDDLE_ARGUMENT",
      "inAxes[0]",
      "*",
    );
    expectError(() => vmap(add, { inAxes: 1 })([1], [1]), ArgumentError, "HEDDLE_ARGUMENT", "axis", "1");
  });
});
