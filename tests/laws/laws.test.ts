/**
 * The laws that every row of the table obeys, over every sample and random values: types agree with results, tangents
 * with differences, transposes with adjoints, batches with loops, and simplification with what it simplifies.
 */
import { sizeOf } from "#heddle/base/shape";
import { coerce, isFloating } from "#heddle/base/dtype";
import type { OpName, OpParams } from "#heddle/ir/graph";
import { applyReference, interpret } from "#heddle/backends/reference/interpret";
import type { HostArray } from "#heddle/primitives/row";
import { zeroDerivative } from "#heddle/primitives/row";
import { outputAval, primitives } from "#heddle/primitives/table";
import { jacfwdGraph, jacrevGraph } from "#heddle/transform/jacobian";
import { jvpGraph } from "#heddle/transform/jvp";
import { simplify } from "#heddle/transform/simplify";
import { vjpGraph } from "#heddle/transform/transpose";
import { vmapGraph } from "#heddle/transform/vmap";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { draw, graphOf, uniform } from "./draw.js";
import type { Sample } from "./samples.js";
import { samples } from "./samples.js";

const dotOf = (a: HostArray, b: HostArray): number => {
  expect(a.data.length).toBe(b.data.length);
  return Array.from(a.data).reduce((sum, value, i) => sum + value * (b.data[i] ?? NaN), 0);
};

function expectClose(found: HostArray | undefined, wanted: HostArray | undefined, tolerance: number): void {
  expect(found?.shape).toEqual(wanted?.shape);
  expect(found?.dtype).toBe(wanted?.dtype);
  expect(found?.data.length).toBe(wanted?.data.length);
  wanted?.data.forEach((value, i) => {
    const own = found?.data[i] ?? NaN;
    if (Object.is(own, value) || own === value) return;
    expect(Math.abs(own - value), `element ${i}: ${own}, not ${value}`).toBeLessThanOrEqual(
      tolerance * Math.max(1, Math.abs(value)),
    );
  });
}

function activeOf(op: OpName, sample: Sample<OpParams[OpName]>): boolean[] {
  const output = outputAval(op, sample.inputs, sample.params as never);
  const smooth = isFloating(output.dtype) && primitives[op].jvp !== zeroDerivative;
  return sample.inputs.map(({ dtype }) => smooth && dtype === "float64" && output.dtype === "float64");
}

const seeds = fc.integer({ min: 0, max: 2 ** 31 - 1 });
const runs = { numRuns: 12 };

describe.each(Object.keys(samples) as OpName[])("%s", (op) => {
  const list: readonly Sample<OpParams[OpName]>[] = samples[op];

  test("has samples", () => {
    expect(list.length).toBeGreaterThan(0);
  });

  test("shape rule: the result has the type that the rule says", () => {
    fc.assert(
      fc.property(seeds, fc.nat(list.length - 1), (seed, choice) => {
        const sample = list[choice] ?? { inputs: [], params: {} as never };
        const next = uniform(seed);
        const inputs = sample.inputs.map((operand) => draw(operand, next));
        const result = applyReference(op, inputs, sample.params as never);
        const aval = outputAval(op, inputs, sample.params as never);
        expect(result.shape).toEqual(aval.shape);
        expect(result.dtype).toBe(aval.dtype);
        expect(result.data.length).toBe(sizeOf(aval.shape));
        for (const value of result.data) expect(coerce(aval.dtype, value)).toBe(value);
      }),
      runs,
    );
  });

  test("jvp: tangents agree with central differences; transpose: adjoint of the jvp", () => {
    fc.assert(
      fc.property(seeds, fc.nat(list.length - 1), (seed, choice) => {
        const sample = list[choice] ?? { inputs: [], params: {} as never };
        const active = activeOf(op, sample);
        if (!active.includes(true)) return;
        const next = uniform(seed);
        const graph = graphOf(op, sample.inputs, sample.params as never);
        const inputs = sample.inputs.map((operand) => draw(operand, next));
        const directions = sample.inputs.map((operand) => draw({ ...operand, low: -1, high: 1 }, next));
        const used = directions.filter((_, i) => active[i]);
        const [value, tangent] = interpret(jvpGraph(graph, active), [...inputs, ...used]);

        const step = 1e-6;
        const moved = (sign: number): HostArray | undefined =>
          interpret(
            graph,
            inputs.map((x, i) => {
              const direction = directions[i];
              if (active[i] !== true || direction === undefined) return x;
              return {
                ...x,
                data: Float64Array.from(x.data, (v, k) => v + sign * step * (direction.data[k] ?? 0)),
              };
            }),
          )[0];
        const [ahead, behind] = [moved(1), moved(-1)];
        if (tangent === undefined || value === undefined || ahead === undefined) throw new Error("no result");
        const difference = Float64Array.from(
          ahead.data,
          (v, i) => (v - (behind?.data[i] ?? NaN)) / (2 * step),
        );
        expectClose(tangent, { ...tangent, data: difference }, 2e-7);

        const cotangent = draw({ dtype: "float64", shape: value.shape, low: -1, high: 1 }, next);
        const pulled = interpret(vjpGraph(graph, active), [...inputs, cotangent]).slice(1);
        expect(pulled.length).toBe(used.length);
        const right = pulled.reduce((sum, part, i) => sum + dotOf(part, used[i] ?? part), 0);
        expect(Math.abs(dotOf(tangent, cotangent) - right)).toBeLessThan(1e-9 * (1 + Math.abs(right)));
      }),
      runs,
    );
  });

  test("batch: equals loop and stack, for every mask", () => {
    fc.assert(
      fc.property(seeds, fc.nat(list.length - 1), fc.nat(7), (seed, choice, bits) => {
        const sample = list[choice] ?? { inputs: [], params: {} as never };
        const marks = sample.inputs.map((_, i) => ((bits >> (i % 3)) & 1) === 1);
        if (!marks.includes(true)) return;
        const next = uniform(seed);
        const size = 3;
        const graph = graphOf(op, sample.inputs, sample.params as never);
        const inputs = sample.inputs.map((operand, i) =>
          draw(operand, next, marks[i] === true ? [size] : []),
        );
        const [stacked] = interpret(vmapGraph(graph, marks, size), inputs);
        if (stacked === undefined) throw new Error("no result");
        expect(stacked.shape[0]).toBe(size);
        for (let k = 0; k < size; k++) {
          const own = inputs.map((x, i) => {
            if (marks[i] !== true) return x;
            const length = x.data.length / size;
            return {
              dtype: x.dtype,
              shape: x.shape.slice(1),
              data: x.data.slice(k * length, (k + 1) * length),
            };
          });
          const [single] = interpret(graph, own);
          const length = stacked.data.length / size;
          const data = stacked.data.slice(k * length, (k + 1) * length);
          expectClose({ dtype: stacked.dtype, shape: stacked.shape.slice(1), data }, single, 1e-12);
        }
      }),
      runs,
    );
  });

  test("simplify: derivative graphs keep their values; forward and reverse Jacobians agree", () => {
    fc.assert(
      fc.property(seeds, fc.nat(list.length - 1), (seed, choice) => {
        const sample = list[choice] ?? { inputs: [], params: {} as never };
        const active = activeOf(op, sample);
        if (!active.includes(true)) return;
        const next = uniform(seed);
        const graph = graphOf(op, sample.inputs, sample.params as never);
        const inputs = sample.inputs.map((operand) => draw(operand, next));
        const forward = jacfwdGraph(graph, active);
        const reverse = jacrevGraph(graph, active);
        const wanted = interpret(forward, inputs);
        interpret(reverse, inputs).forEach((block, i) => expectClose(block, wanted[i], 1e-9));
        interpret(simplify(forward), inputs).forEach((block, i) => expectClose(block, wanted[i], 1e-12));
        interpret(simplify(reverse), inputs).forEach((block, i) => expectClose(block, wanted[i], 1e-9));
      }),
      runs,
    );
  });
});
