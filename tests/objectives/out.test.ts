/**
 * Results that are written in place: who passes one as `out` gives it up; everybody else's results stay what they were.
 */
import {
  createPool,
  leastSquares,
  np,
  objective,
  objectiveFunction,
  sequential,
  StaleArrayError,
} from "heddle";
import type { Linearization, ObjectiveFunction, Pool } from "heddle";
import { afterEach, describe, expect, test } from "vitest";

const open: Pool[] = [];
afterEach(async () => {
  for (const pool of open.splice(0)) await pool.close();
});

const list = [
  objective((c) => np.tanh(np.outer(c, c)), { name: "outer" }),
  objective((c) => c.sum(), { name: "sum" }),
];
const points = [1, 2, 3, 4].map((k) => Float64Array.of(0.1 * k, -0.2 * k, 0.3));

async function onPool(options: object = { ranks: 2 }): Promise<ObjectiveFunction> {
  const pool = await createPool(options);
  open.push(pool);
  return objectiveFunction(list, { x: [0, 0, 0], pool });
}

const loop = sequential(list, { x: [0, 0, 0] });

function expectAt({ residual, jacobian }: Linearization, x: Float64Array | undefined): void {
  const wanted = loop.sync.linearize(x ?? []);
  expect(residual.data).toEqual(wanted.residual.data);
  expect(jacobian.data).toEqual(wanted.jacobian.data);
}

describe.each([
  ["a pool", onPool],
  ["an in-process pool", () => onPool({ ranks: 3, inProcess: true })],
  ["the calling thread", () => Promise.resolve(sequential(list, { x: [0, 0, 0] }) as ObjectiveFunction)],
])("with out, on %s,", (_, make) => {
  test("the result is right and what was passed is stale", async () => {
    const fun = await make();
    let live = await fun.linearize(points[0] ?? []);
    for (const x of points) {
      const before = live;
      live = await fun.linearize(x, { out: before });
      expectAt(live, x);
      for (const stale of [before.residual, before.jacobian]) {
        expect(() => stale.data).toThrow(StaleArrayError);
        expect(() => stale.add(1)).toThrow(/given away as `out`/);
        expect(() => stale.toArray()).toThrow(StaleArrayError);
      }
    }
  });

  test("later calls without it leave a result that was written in place alone", async () => {
    const fun = await make();
    const first = await fun.linearize(points[0] ?? [], { out: await fun.linearize(points[1] ?? []) });
    const second = await fun.linearize(points[1] ?? []);
    expectAt(first, points[0]);
    expectAt(second, points[1]);
    const third = await fun.linearize(points[2] ?? [], { out: second });
    expectAt(first, points[0]);
    expectAt(third, points[2]);
  });

  test("calls that wait for each other keep their own results", async () => {
    const fun = await make();
    const [a, b] = [await fun.linearize(points[0] ?? []), await fun.linearize(points[0] ?? [])];
    const results = await Promise.all([
      fun.linearize(points[0] ?? [], { out: a }),
      fun.linearize(points[1] ?? []),
      fun.linearize(points[2] ?? [], { out: b }),
      fun.linearize(points[3] ?? []),
    ]);
    results.forEach((result, i) => expectAt(result, points[i]));
  });

  test("a result outlives its function", async () => {
    const fun = await make();
    const result = await fun.linearize(points[0] ?? [], { out: await fun.linearize(points[1] ?? []) });
    await fun.dispose();
    const other = await make();
    await other.linearize(points[3] ?? []);
    expectAt(result, points[0]);
  });
});

test("a result outlives its pool", async () => {
  const fun = await onPool();
  const result = await fun.linearize(points[0] ?? [], { out: await fun.linearize(points[1] ?? []) });
  await open[0]?.close();
  const other = await onPool();
  await other.linearize(points[3] ?? []);
  expectAt(result, points[0]);
});

test("a stale result, one of another shape and one from elsewhere are refused before anything is given up", async () => {
  const fun = await onPool();
  const first = await fun.jacobian(points[0] ?? []);
  const second = await fun.jacobian(points[0] ?? [], { out: first });
  await expect(fun.jacobian(points[0] ?? [], { out: first })).rejects.toThrow(StaleArrayError);
  await expect(fun.jacobian(points[0] ?? [], { out: np.zeros([10, 3]) })).rejects.toThrow(
    /an earlier result of jacobian/,
  );
  const other = sequential([list[1] ?? objective((c) => c)], { x: [0, 0, 0] });
  await expect(other.jacobian(points[0] ?? [], { out: second })).rejects.toThrow(/of shape \[1,3\]/);
  await expect(fun.jacobian([1], { out: second })).rejects.toThrow(/x is \[1\]/);
  expect(second.data).toEqual(loop.sync.jacobian(points[0] ?? []).data);
});

test("a Jacobian captured by a traced function keeps its elements", async () => {
  const fun = await onPool();
  const J = await fun.jacobian(points[0] ?? [], { out: await fun.jacobian(points[0] ?? []) });
  const dense = J.data.slice();
  const project = objective((c) => np.dot(J, c));
  const before = project.jacobian([0, 0, 0]).data;
  await fun.jacobian(points[1] ?? [], { out: J });
  expect(before).toEqual(dense);
  expect(project.jacobian([1, 1, 1]).data).toEqual(dense);
});

test("an optimizer's Jacobian belongs to its solution, also when the callback evaluates the same function", async () => {
  const fun = await onPool();
  const callback = async (): Promise<void> => {
    await fun.jacobian(points[3] ?? []);
  };
  const fit = await leastSquares(fun, points[0] ?? [], { maxNfev: 7, callback });
  expect(fit.jac).toEqual(loop.sync.jacobian(fit.x).data);
  expect(fit.nit).toBeGreaterThan(1);
});
