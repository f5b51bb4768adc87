/**
 * The law of the column `sharding`: blocks of a result along any axis, computed from the parts of the operands that the
 * rule names, are the whole result when they are put together, bit for bit, by the definition and as compiled.
 */
import { interpret } from "#heddle/backends/reference/interpret";
import { WasmBackend } from "#heddle/backends/wasm/backend";
import { at } from "#heddle/base/at";
import { allocate } from "#heddle/base/dtype";
import { sizeOf } from "#heddle/base/shape";
import type { Graph, OpName, OpParams } from "#heddle/ir/graph";
import { checkGraph } from "#heddle/primitives/check";
import type { HostArray } from "#heddle/primitives/row";
import { notCuttable } from "#heddle/primitives/sharding";
import { outputAval, rowOf } from "#heddle/primitives/table";
import type { AxisRun } from "#heddle/transform/block";
import { blockGraph } from "#heddle/transform/block";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { run as runOn } from "../backends/harness.js";
import { draw, graphOf, uniform } from "./draw.js";
import type { Sample, SampleOperand } from "./samples.js";
import { samples } from "./samples.js";

const backend = new WasmBackend();

type Run = (graph: Graph, inputs: readonly HostArray[]) => HostArray[];
const runners: readonly [string, Run][] = [
  ["reference", interpret],
  ["wasm", (graph, inputs) => runOn(backend, graph, inputs)],
];

/** Positions of an array along an axis. */
function part(x: HostArray, { axis, start, extent }: AxisRun): HostArray {
  const inner = sizeOf(x.shape.slice(axis + 1));
  const shape = x.shape.map((own, i) => (i === axis ? extent : own));
  const data = allocate(x.dtype, sizeOf(shape));
  const [from, to] = [at(x.shape, axis) * inner, extent * inner];
  for (let outer = 0; outer * to < data.length; outer++) {
    const begin = outer * from + start * inner;
    data.set(x.data.subarray(begin, begin + to), outer * to);
  }
  return { dtype: x.dtype, shape, data };
}

/** The blocks between cuts of one output, each from its own graph. */
function expectBlocks(
  graph: Graph,
  inputs: readonly HostArray[],
  axis: number,
  cuts: readonly number[],
  run: Run,
): void {
  const [expected] = run(graph, inputs);
  if (expected === undefined) throw new Error("no result");
  for (let i = 0; i + 1 < cuts.length; i++) {
    const [start, end] = [at(cuts, i), at(cuts, i + 1)];
    if (end === start) continue;
    const block = blockGraph(graph, [{ axis, start, extent: end - start }]);
    checkGraph(block.graph);
    const parts = block.inputs.map((input): HostArray => {
      if (input.kind === "origin") return { dtype: "int32", shape: [], data: Int32Array.of(input.value) };
      const source = at(inputs, input.position);
      return input.part === null ? source : part(source, input.part);
    });
    const [found] = run(block.graph, parts);
    const wanted = part(expected, { axis, start, extent: end - start });
    expect(found?.shape).toEqual(wanted.shape);
    expect(found?.dtype).toBe(wanted.dtype);
    expect(found?.data, `positions ${start} to ${end} along axis ${axis}`).toEqual(wanted.data);
  }
}

const seeds = fc.integer({ min: 0, max: 2 ** 31 - 1 });

/** Cuts of an axis, from its start to its end. */
function cutsOf(extent: number, next: () => number): number[] {
  const inner = Array.from({ length: 3 }, () => Math.floor(next() * (extent + 1)));
  return [0, ...inner.sort((a, b) => a - b), extent];
}

const matrix = (shape: readonly number[], dtype: "float64" | "float32" = "float64"): SampleOperand => ({
  dtype,
  shape,
  low: -2,
  high: 2,
});

/** Larger contractions, whose sums add in lanes or in sequence, and reshapes that move elements between axes. */
const larger: {
  readonly contract: readonly Sample<OpParams["contract"]>[];
  readonly reshape: readonly Sample<OpParams["reshape"]>[];
} = {
  contract: ["m k, n k -> m n", "m k, n k -> n m", "k m, k n -> m n", "m k, k n -> m n"].flatMap(
    (signature) =>
      (["float64", "float32"] as const).map((dtype) => ({
        inputs: signature.startsWith("k")
          ? [matrix([19, 6], dtype), matrix([19, 9], dtype)]
          : [matrix([6, 19], dtype), matrix(signature.includes("n k") ? [9, 19] : [19, 9], dtype)],
        params: { signature },
      })),
  ),
  reshape: [
    { inputs: [matrix([6, 4])], params: { shape: [24] } },
    { inputs: [matrix([24])], params: { shape: [6, 4] } },
    { inputs: [matrix([6, 4])], params: { shape: [8, 3] } },
    { inputs: [matrix([2, 6, 4])], params: { shape: [2, 24] } },
    { inputs: [matrix([1, 6])], params: { shape: [6, 1] } },
  ],
};

describe.each(Object.keys(samples) as OpName[])("%s", (op) => {
  const more: readonly Sample<OpParams[OpName]>[] = op === "contract" || op === "reshape" ? larger[op] : [];
  const list: readonly Sample<OpParams[OpName]>[] = [...samples[op], ...more];

  test.each(runners)("%s: blocks put together are the whole", (_, run) => {
    fc.assert(
      fc.property(seeds, fc.nat(list.length - 1), (seed, choice) => {
        const sample = at(list, choice);
        const next = uniform(seed);
        const graph = graphOf(op, sample.inputs, sample.params as never);
        const { shape } = outputAval(op, sample.inputs, sample.params as never);
        const inputs = sample.inputs.map((operand) => draw(operand, next));
        shape.forEach((extent, axis) => expectBlocks(graph, inputs, axis, cutsOf(extent, next), run));
      }),
      { numRuns: Math.max(12, 2 * list.length) },
    );
  });

  test("reads no more than a block's share of the operands that it cuts", () => {
    for (const sample of list) {
      const output = outputAval(op, sample.inputs, sample.params as never);
      output.shape.forEach((extent, axis) => {
        const sharding = rowOf(op).sharding({
          params: sample.params,
          inputs: sample.inputs,
          output,
          axis,
        });
        if (sharding === notCuttable || extent === 0) return;
        expect(sharding.axes.length).toBe(sample.inputs.length);
        const all = sharding.axes.map((_cut, operand) => sharding.reads(operand, { start: 0, extent }));
        sharding.axes.forEach((cut, operand) => {
          if (cut === "whole") return;
          const { start, extent: read } = at(all, operand);
          expect(start).toBeGreaterThanOrEqual(0);
          expect(start + read).toBeLessThanOrEqual(at(at(sample.inputs, operand).shape, cut));
        });
      });
    }
  });
});
