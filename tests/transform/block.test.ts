/**
 * Blocks of whole programs: Jacobians and residuals cut by rows or columns have the bits of the uncut program, blocks of
 * one size share one graph, and what a block reads of its inputs is a window.
 */
import { np } from "heddle";
import type { NDArray } from "heddle";
import { interpret } from "#heddle/backends/reference/interpret";
import { WasmBackend } from "#heddle/backends/wasm/backend";
import { at } from "#heddle/base/at";
import { allocate } from "#heddle/base/dtype";
import { sizeOf } from "#heddle/base/shape";
import type { Graph } from "#heddle/ir/graph";
import { hashGraph } from "#heddle/ir/hash";
import { checkGraph } from "#heddle/primitives/check";
import type { HostArray } from "#heddle/primitives/row";
import type { AxisRun, Block } from "#heddle/transform/block";
import { blockGraph, grainOf } from "#heddle/transform/block";
import { workOf } from "#heddle/transform/work";
import { traceFunction } from "#heddle/arrays/trace-function";
import { programOf, residualFunction } from "#heddle/objectives/programs";
import { describe, expect, test } from "vitest";
import { run as runOn } from "../backends/harness.js";

const backend = new WasmBackend();

interface Program {
  readonly graph: Graph;
  readonly inputs: readonly HostArray[];
}

const wave = (size: number, shift: number): Float64Array =>
  Float64Array.from({ length: size }, (_, i) => Math.sin(1.7 * i + shift));

/** Residual and Jacobian of a function of one vector. */
function linearizeOf(f: (c: NDArray) => NDArray, dimX: number, mode?: "fwd" | "rev"): Program {
  const body = ([c]: readonly NDArray[]): NDArray[] => {
    if (c === undefined) throw new Error("no coefficients");
    const value = f(c);
    return [value.reshape([value.size])];
  };
  const { graph } = traceFunction("test", body, [{ dtype: "float64", shape: [dimX] }]);
  const program = programOf(residualFunction(graph, 1, mode), "linearize");
  const x: HostArray = { dtype: "float64", shape: [dimX], data: wave(dimX, 0.3) };
  return {
    graph: program.graph,
    inputs: [x, ...program.constants.map(({ aval, data }) => ({ ...aval, data: data.now }))],
  };
}

function part(x: HostArray, { axis, start, extent }: AxisRun): HostArray {
  const inner = sizeOf(x.shape.slice(axis + 1));
  const data = allocate(x.dtype, (x.data.length / at(x.shape, axis)) * extent);
  const [from, to] = [at(x.shape, axis) * inner, extent * inner];
  for (let outer = 0; outer * to < data.length; outer++) {
    const begin = outer * from + start * inner;
    data.set(x.data.subarray(begin, begin + to), outer * to);
  }
  return { dtype: x.dtype, shape: x.shape.map((own, i) => (i === axis ? extent : own)), data };
}

function inputsOf(block: Block, inputs: readonly HostArray[]): HostArray[] {
  return block.inputs.map((input): HostArray => {
    if (input.kind === "origin") return { dtype: "int32", shape: [], data: Int32Array.of(input.value) };
    const source = at(inputs, input.position);
    return input.part === null ? source : part(source, input.part);
  });
}

/** Blocks of `size` positions, with what each must be. */
function blocksOf(program: Program, axis: 0 | 1, size: number): Block[] {
  const { graph } = program;
  const total = at(at(graph.avals, at(graph.outputs, 1)).shape, axis);
  const blocks: Block[] = [];
  for (let start = 0; start < total; start += size) {
    const run = { axis, start, extent: Math.min(size, total - start) };
    const block = blockGraph(
      graph,
      graph.outputs.map((_, output) => (axis === 0 || output > 0 ? run : null)),
    );
    checkGraph(block.graph);
    for (const runner of [interpret, (g: Graph, x: readonly HostArray[]) => runOn(backend, g, x)]) {
      const whole = runner(graph, program.inputs);
      const wanted = (axis === 0 ? whole : whole.slice(1)).map((value) => part(value, run));
      const found = runner(block.graph, inputsOf(block, program.inputs));
      expect(found.map(({ shape }) => shape)).toEqual(wanted.map(({ shape }) => shape));
      found.forEach(({ data }, output) => expect(data).toEqual(at(wanted, output).data));
    }
    blocks.push(block);
  }
  return blocks;
}

const A = np.array(wave(24 * 10, 0)).reshape(24, 10);
const B = np.array(wave(6 * 10, 1)).reshape(6, 10);
const index = np.array([3, 1, 0, 2, 3, 5, 4, 4, 1, 0, 2, 5]).astype("int32");

const cases: readonly [string, (c: NDArray) => NDArray, number, ("fwd" | "rev")?][] = [
  ["tanh of a product", (c) => np.tanh(np.dot(A, c)), 10],
  ["the same in reverse", (c) => np.tanh(np.dot(A, c)), 10, "rev"],
  ["a pointwise function, whose Jacobian is diagonal", (c) => np.sin(c).mul(c), 12],
  [
    "differences of neighbours",
    (c) =>
      np
        .tanh(np.dot(A, c))
        .slice([1])
        .sub(np.tanh(np.dot(A, c)).slice([0, -1])),
    10,
  ],
  ["a softmax", (c) => np.exp(np.dot(A, c)).div(np.exp(np.dot(A, c)).sum()), 10],
  ["a matrix that is flattened", (c) => np.sin(np.outer(np.dot(B, c), c)), 10],
  ["two layers", (c) => np.tanh(np.dot(A, np.tanh(np.dot(B.T, np.tanh(np.dot(B, c)))))), 10],
  ["parts joined and turned round", (c) => np.concatenate([np.dot(A, c), c, np.flip(np.sin(c))]), 10],
  ["gathered and padded", (c) => np.pad(np.take(np.dot(B, c), index), [2, 3]).mul(2), 10],
  ["a sum over everything", (c) => np.sum(np.tanh(np.dot(A, c))), 10],
  ["a square Gram matrix", (c) => np.matmul(A.mul(c), A.T).slice([0, 6]), 10],
];

describe.each(cases)("%s", (_, f, dimX, mode) => {
  const program = linearizeOf(f, dimX, mode);
  test.each([1, 3, 6, 7, 24])("rows, %i at a time", (size) => void blocksOf(program, 0, size));
  test.each([1, 4, 7])("columns, %i at a time", (size) => void blocksOf(program, 1, size));
});

const hashesOf = (blocks: readonly Block[]): Set<string> =>
  new Set(blocks.map(({ graph }) => hashGraph(graph)));

test("blocks of one size share one graph", () => {
  const shared = (name: string, size: number): number => {
    const [, f, dimX, mode] = cases.find(([own]) => own === name) ?? at(cases, 0);
    return hashesOf(blocksOf(linearizeOf(f, dimX, mode), 0, size)).size;
  };
  expect(shared("tanh of a product", 6)).toBe(1);
  expect(shared("the same in reverse", 6)).toBe(1);
  expect(shared("a pointwise function, whose Jacobian is diagonal", 4)).toBe(1);
  expect(shared("a softmax", 6)).toBe(1);
  expect(shared("a matrix that is flattened", 10)).toBe(1);
  // The last one is shorter.
  expect(shared("differences of neighbours", 4)).toBe(2);
});

test("a block reads windows along the first axis and does its share of the work", () => {
  const program = linearizeOf(at(cases, 0)[1], 10);
  const block = at(blocksOf(program, 0, 6), 1);
  expect(block.inputs).toEqual([
    { kind: "input", position: 0, part: null },
    { kind: "input", position: 1, part: { axis: 0, start: 6, extent: 6 } },
  ]);
  expect(workOf(block.graph) / workOf(program.graph)).toBeLessThan(0.27);
});

test("the grain of a flattened matrix is its row", () => {
  const { graph } = linearizeOf((c) => np.sin(np.outer(np.dot(B, c), c)), 10);
  expect(grainOf(graph, at(graph.outputs, 0), 0)).toBe(10);
  const plain = linearizeOf(at(cases, 0)[1], 10).graph;
  expect(grainOf(plain, at(plain.outputs, 0), 0)).toBe(1);
});
