// What a user has misspelled or given too late is refused, and named.
import {
  ArgumentError,
  createPool,
  curveFit,
  leastSquares,
  MemoryError,
  np,
  objective,
  objectiveFunction,
  PoolClosedError,
  sequential,
} from "heddle";
import { describe, expect, it } from "vitest";

const sines = objective((c) => np.sin(c), { name: "sines" });
const residual = (x: Float64Array): Float64Array => x;

/** Options as a program without types gives them. */
const untyped = (options: object): never => options as never;

describe("an option that does not exist", () => {
  it.each<[string, () => unknown, RegExp]>([
    [
      "of a fit",
      () => leastSquares(residual, [1], untyped({ timeout: 5 })),
      /leastSquares: options\.timeout/,
    ],
    [
      "of a blocking fit",
      () => leastSquares.sync(residual, [1], untyped({ maxIterations: 5 })),
      /maxIterations/,
    ],
    ["of another problem", () => leastSquares([sines], [1], untyped({ jac: "2-point" })), /options\.jac/],
    ["of a curve", () => curveFit("a*x", [1, 2], [1, 2], untyped({ p0: { a: 1 }, foo: 1 })), /options\.foo/],
    ["of a sequential function", () => sequential([sines], untyped({ x: [1], pol: 1 })), /options\.pol/],
    ["of a function", () => objectiveFunction([sines], untyped({ x: [1], ranks: 2 })), /options\.ranks/],
    [
      "of a call",
      () => sequential([sines], { x: [1] }).jacobian([1], untyped({ foo: 1 })),
      /jacobian: options\.foo/,
    ],
    [
      "of a method without out",
      () => sequential([sines], { x: [1] }).cost([1], untyped({ out: 1 })),
      /cost: options\.out/,
    ],
    [
      "of a blocking call",
      () => sequential([sines], { x: [1] }).sync.residual([1], untyped({ signal: 1 })),
      /options\.signal/,
    ],
  ])("%s is refused", async (_, call, message) => {
    const failing = (async (): Promise<unknown> => call())();
    await expect(failing).rejects.toThrow(ArgumentError);
    await expect(failing).rejects.toThrow(message);
  });
});

it("a pool that is closed takes no function", async () => {
  const pool = await createPool({ ranks: 1, inProcess: true });
  await pool.close();
  await expect(objectiveFunction([sines], { x: [1], pool })).rejects.toThrow(PoolClosedError);
  expect(() => objectiveFunction.sync([sines], { x: [1], pool })).toThrow(
    /objectiveFunction\.sync: the pool is closed/,
  );
});

it("arrays that no memory can hold are refused by a typed error", () => {
  expect(() => np.zeros(1e12).data).toThrow(MemoryError);
});
