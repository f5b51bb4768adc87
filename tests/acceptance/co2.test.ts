/**
 * Carbon dioxide at Mauna Loa since 1958: an exponential trend and two harmonics of the year, from two starts that are
 * far apart, against a residual sum of squares that SciPy reached and standard errors worked out here.
 */
import { np } from "heddle";
import type { NDArray } from "heddle";
import { curveFit } from "#heddle/optimize/curveFit";
import type { CurveFitResult } from "#heddle/optimize/curveFit";
import { expect, it } from "vitest";
import { co2Record } from "./co2Data.js";

const { t, co2 } = co2Record();
const tau = 2 * Math.PI;

interface Trend {
  a: number;
  b: number;
  c: number;
  s1: number;
  c1: number;
  s2: number;
  c2: number;
}

const starts: Readonly<Record<string, Trend>> = {
  "a good guess": { a: 250, b: 90, c: 0.01, s1: 0, c1: 0, s2: 0, c2: 0 },
  "a poor one": { a: 0, b: 300, c: 0.001, s1: 5, c1: -5, s2: 5, c2: -5 },
};

const model = (ts: number[], p: Trend): number[] =>
  ts.map(
    (x) =>
      p.a +
      p.b * Math.exp(p.c * x) +
      p.s1 * Math.sin(tau * x) +
      p.c1 * Math.cos(tau * x) +
      p.s2 * Math.sin(2 * tau * x) +
      p.c2 * Math.cos(2 * tau * x),
  );

const derivatives = (
  ts: number[],
  { b, c }: Trend,
): Trend extends infer T ? { [K in keyof T]: number[] } : never => ({
  a: ts.map(() => 1),
  b: ts.map((x) => Math.exp(c * x)),
  c: ts.map((x) => b * x * Math.exp(c * x)),
  s1: ts.map((x) => Math.sin(tau * x)),
  c1: ts.map((x) => Math.cos(tau * x)),
  s2: ts.map((x) => Math.sin(2 * tau * x)),
  c2: ts.map((x) => Math.cos(2 * tau * x)),
});

/** `A⁻¹` by Gauss and Jordan with pivoting: nothing in common with what is under test. */
function inverse(A: readonly (readonly number[])[]): number[][] {
  const n = A.length;
  const work = A.map((row, i) => [...row, ...row.map((_, j) => (i === j ? 1 : 0))]);
  const get = (i: number, j: number): number => work[i]?.[j] ?? NaN;
  for (let k = 0; k < n; k++) {
    let pivot = k;
    for (let i = k; i < n; i++) if (Math.abs(get(i, k)) > Math.abs(get(pivot, k))) pivot = i;
    const chosen = work[pivot] ?? [];
    work[pivot] = work[k] ?? [];
    const scale = chosen[k] ?? NaN;
    const reduced = chosen.map((value) => value / scale);
    work[k] = reduced;
    for (let i = 0; i < n; i++) {
      const factor = get(i, k);
      if (i !== k) work[i] = (work[i] ?? []).map((value, j) => value - factor * (reduced[j] ?? NaN));
    }
  }
  return work.map((row) => row.slice(n));
}

it("has the record as it was published", () => {
  expect(t).toHaveLength(741);
  expect(t[0]).toBeCloseTo(1958 + 2 / 12 - 1980, 12);
  expect(co2[0]).toBe(315.7);
});

const program = (
  x: NDArray,
  { a, b, c, s1, c1, s2, c2 }: Readonly<Record<keyof Trend, NDArray>>,
): NDArray => {
  const [year, half] = [x.mul(tau), x.mul(2 * tau)];
  return a
    .add(b.mul(np.exp(c.mul(x))))
    .add(s1.mul(np.sin(year)))
    .add(c1.mul(np.cos(year)))
    .add(s2.mul(np.sin(half)))
    .add(c2.mul(np.cos(half)));
};

const formula = `a + b * exp(c * x) + s1 * sin(2 * pi * x) + c1 * cos(2 * pi * x)
  + s2 * sin(4 * pi * x) + c2 * cos(4 * pi * x)`;

const ways: Readonly<Record<string, (p0: Trend) => Promise<CurveFitResult<Trend>>>> = {
  "an array program": (p0) => curveFit(program, t, co2, { p0 }),
  "a formula": (p0) => curveFit(formula, t, co2, { p0 }),
  "plain functions": (p0) => curveFit(model, t, co2, { p0, jac: derivatives }),
};

const runs = Object.keys(ways).flatMap((way) => Object.keys(starts).map((start) => [way, start] as const));

it.each(runs)("fits as %s from %s", async (way, start) => {
  const p0 = starts[start] ?? { a: NaN, b: NaN, c: NaN, s1: NaN, c1: NaN, s2: NaN, c2: NaN };
  const fit = await (ways[way]?.(p0) ?? Promise.reject(new Error(way)));
  expect(fit.success).toBe(true);
  expect(fit.warnings).toEqual([]);
  expect(fit.names).toEqual(["a", "b", "c", "c1", "c2", "s1", "s2"]);
  expect(2 * fit.cost).toBeCloseTo(409.03032, 4);
  expect(model(t, fit.popt).reduce((sum, value, i) => sum + (value - (co2[i] ?? NaN)) ** 2, 0)).toBeCloseTo(
    409.03032,
    4,
  );

  const columns = derivatives(t, fit.popt);
  const names = Object.keys(columns).sort() as (keyof Trend)[];
  const normal = names.map((p) =>
    names.map((q) => columns[p].reduce((sum, value, i) => sum + value * (columns[q][i] ?? NaN), 0)),
  );
  const covariance = inverse(normal);
  const variance = 409.03032 / (t.length - names.length);
  names.forEach((name, j) => {
    expect(fit.stderr[name] / Math.sqrt((covariance[j]?.[j] ?? NaN) * variance)).toBeCloseTo(1, 6);
    expect(fit.stderr[name]).toBe(Math.sqrt(fit.pcov[j]?.[j] ?? NaN));
    names.forEach((__, k) =>
      expect((fit.pcov[j]?.[k] ?? NaN) / ((covariance[j]?.[k] ?? NaN) * variance)).toBeCloseTo(1, 5),
    );
  });
});
