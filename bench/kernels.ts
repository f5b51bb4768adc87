// Kernels of the WebAssembly backend against the loops that a careful person would write in plain JavaScript, in the same
// run and interleaved.
import { at } from "#heddle/base/at";
import { viewOf } from "#heddle/base/dtype";
import { sizeOf } from "#heddle/base/shape";
import { WasmBackend } from "#heddle/backends/wasm/backend";
import type { Graph } from "#heddle/ir/graph";
import { GraphBuilder } from "#heddle/primitives/builder";
import { interleaved } from "./interleaved.js";
import { plainLoop } from "./plainLoop.js";
import type { Section } from "./rows.js";

const plainJacobian = plainLoop(
  "m, n, A, c, t, r, J",
  `for (let i = 0; i < m; i++) {
    let sum = 0;
    for (let k = 0; k < n; k++) sum += A[i * n + k] * c[k];
    const value = Math.tanh(sum);
    r[i] = value - t[i];
    const factor = 1 - value * value;
    for (let k = 0; k < n; k++) J[i * n + k] = factor * A[i * n + k];
  }`,
);
const plainMatmul = plainLoop(
  "size, p, q, out",
  `out.fill(0);
  for (let i = 0; i < size; i++) {
    for (let k = 0; k < size; k++) {
      const value = p[i * size + k];
      for (let j = 0; j < size; j++) out[i * size + j] += value * q[k * size + j];
    }
  }`,
);
const plainElementwise = plainLoop(
  "size, data, out",
  "for (let i = 0; i < size; i++) out[i] = Math.sin(data[i]) * Math.exp(data[i]) + 2 * data[i];",
);
const plainRowSums = plainLoop(
  "m, n, data, out",
  `for (let i = 0; i < m; i++) {
    let sum = 0;
    for (let j = 0; j < n; j++) sum += data[i * n + j];
    out[i] = sum;
  }`,
);
const plainColumnSums = plainLoop(
  "m, n, data, out",
  `out.fill(0);
  for (let i = 0; i < m; i++) for (let j = 0; j < n; j++) out[j] += data[i * n + j];`,
);

interface Bound {
  readonly step: () => void;
  readonly inputs: Float64Array[];
  readonly outputs: Float64Array[];
}

/** A graph of f64 arrays bound to a memory of its own, its inputs filled. */
function bind(graph: Graph): Bound {
  const executable = new WasmBackend().compile(graph);
  let top = 0;
  const place = (bytes: number): number => {
    const offset = top;
    top = Math.ceil((top + bytes) / 4096) * 4096 + 64;
    return offset;
  };
  const bytes = (id: number): number => sizeOf(at(graph.avals, id).shape) * 8;
  const inputs = graph.inputs.map((id) => ({ offset: place(bytes(id)) }));
  const outputs = graph.outputs.map((id) => ({ offset: place(bytes(id)) }));
  const workspace = place(executable.workspaceBytes);
  const memory = new WebAssembly.Memory({ initial: Math.ceil(top / 65536), maximum: 65536, shared: true });
  const view = (offset: number, id: number): Float64Array =>
    viewOf("float64", memory.buffer, offset, bytes(id) / 8);
  const bound = {
    step: executable.bind(memory, { inputs, outputs, workspace }),
    inputs: graph.inputs.map((id, position) => view(at(inputs, position).offset, id)),
    outputs: graph.outputs.map((id, position) => view(at(outputs, position).offset, id)),
  };
  for (const data of bound.inputs) for (let i = 0; i < data.length; i++) data[i] = Math.sin(i * 1.7) / 4;
  return bound;
}

/** What a kernel takes and the plain loop beside it. */
async function compare(title: string, wasm: () => void, plain: () => void, rounds: number): Promise<Section> {
  const contestants = [
    { name: "plain JavaScript", call: plain },
    { name: "wasm kernel", call: wasm },
  ];
  const medians = await interleaved(contestants, { rounds, calls: 1, warmUp: 1, idle: 0, rest: 0 });
  return {
    title,
    base: "plain JavaScript",
    rows: [...medians].map(([name, value]) => ({ name, value, unit: "ms" })),
  };
}

function residualAndJacobian(m: number, n: number, copies: number): Promise<Section> {
  const b = new GraphBuilder();
  const A = b.input({ dtype: "float64", shape: [m, n] });
  const c = b.input({ dtype: "float64", shape: [n] });
  const t = b.input({ dtype: "float64", shape: [m] });
  const h = b.apply("tanh", b.emit("contract", [A, c], { signature: "m k, k -> m" }));
  const slope = b.apply("sub", b.like(h, 1), b.apply("mul", h, h));
  const jacobian = b.apply("mul", b.broadcast(slope, [m, n], [0]), A);
  const graph = b.build([b.apply("sub", h, t), jacobian]);
  // Each objective has arrays of its own, so that the matrices come from memory and not from a cache.
  const bound = Array.from({ length: copies }, () => bind(graph));
  const own = bound.map(({ inputs, outputs }) => ({
    inputs: inputs.map((data) => Float64Array.from(data)),
    outputs: outputs.map((data) => new Float64Array(data.length)),
  }));
  const plain = (): void => {
    for (const { inputs, outputs } of own) plainJacobian(m, n, ...inputs, ...outputs);
  };
  const wasm = (): void => bound.forEach(({ step }) => step());
  return compare(`${copies} × tanh(A·c) − t and Jacobian, A ${m}×${n} f64`, wasm, plain, 15);
}

function matmul(size: number): Promise<Section> {
  const b = new GraphBuilder();
  const x = b.input({ dtype: "float64", shape: [size, size] });
  const y = b.input({ dtype: "float64", shape: [size, size] });
  const { step, inputs } = bind(b.build([b.emit("contract", [x, y], { signature: "m k, k n -> m n" })]));
  const [p, q] = [Float64Array.from(at(inputs, 0)), Float64Array.from(at(inputs, 1))];
  const out = new Float64Array(size * size);
  const gigaflop = (2 * size ** 3) / 1e9;
  return compare(
    `matmul ${size}² f64, ${gigaflop.toFixed(2)} GFLOP`,
    step,
    () => plainMatmul(size, p, q, out),
    7,
  );
}

function elementwise(size: number): Promise<Section> {
  const b = new GraphBuilder();
  const x = b.input({ dtype: "float64", shape: [size] });
  const product = b.apply("mul", b.apply("sin", x), b.apply("exp", x));
  const { step, inputs } = bind(b.build([b.apply("add", product, b.apply("mul", b.like(x, 2), x))]));
  const data = Float64Array.from(at(inputs, 0));
  const out = new Float64Array(size);
  return compare(`sin(x)·exp(x) + 2x, ${size} f64`, step, () => plainElementwise(size, data, out), 15);
}

function sum(m: number, n: number, axis: 0 | 1): Promise<Section> {
  const b = new GraphBuilder();
  const x = b.input({ dtype: "float64", shape: [m, n] });
  const { step, inputs } = bind(b.build([b.sum(x, [axis])]));
  const data = Float64Array.from(at(inputs, 0));
  const out = new Float64Array(axis === 0 ? n : m);
  const plain = (): void => (axis === 0 ? plainColumnSums : plainRowSums)(m, n, data, out);
  return compare(`sum over axis ${axis} of ${m}×${n} f64`, step, plain, 15);
}

/** Kernels and plain loops. */
export async function run(): Promise<Section[]> {
  return [
    await residualAndJacobian(4096, 256, 1),
    await residualAndJacobian(4096, 256, 8),
    await residualAndJacobian(20, 40, 64),
    await matmul(512),
    await elementwise(1_000_000),
    await sum(1000, 1000, 0),
    await sum(1000, 1000, 1),
  ];
}
