// Kernels of the WebAssembly backend against the loops that a careful person would write in plain JavaScript, in the same
// run and interleaved. Prints medians and their ratios.
import { at } from "#heddle/base/at";
import { viewOf } from "#heddle/base/dtype";
import { sizeOf } from "#heddle/base/shape";
import { WasmBackend } from "#heddle/backends/wasm/backend";
import type { Graph } from "#heddle/ir/graph";
import { GraphBuilder } from "#heddle/primitives/builder";

/**
 * A loop in plain JavaScript, as people write it: the checked element access that this project's compiler flags ask for
 * would slow it down.
 */
function plainLoop(parameters: string, body: string): (...args: (Float64Array | number)[]) => void {
  // eslint-disable-next-line @typescript-eslint/no-implied-eval -- the text is a constant of this file
  return new Function(parameters, body) as (...args: (Float64Array | number)[]) => void;
}

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

/** Median milliseconds of alternatives, run in turn. */
function medians(alternatives: readonly (() => void)[], rounds: number): number[] {
  const times = alternatives.map((): number[] => []);
  for (let round = -3; round < rounds; round++) {
    alternatives.forEach((run, position) => {
      const start = performance.now();
      run();
      if (round >= 0) at(times, position).push(performance.now() - start);
    });
  }
  return times.map((list) =>
    at(
      list.sort((a, b) => a - b),
      list.length >> 1,
    ),
  );
}

function print(name: string, wasm: number, plain: number, note = ""): void {
  const columns = [
    `wasm ${wasm.toFixed(3)} ms`,
    `plain ${plain.toFixed(3)} ms`,
    `${(plain / wasm).toFixed(2)}x`,
  ];
  console.log(`${name.padEnd(44)} ${columns.map((text) => text.padStart(18)).join("")}  ${note}`);
}

function residualAndJacobian(m: number, n: number, copies: number): void {
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
  const [wasm = 0, js = 0] = medians([() => bound.forEach(({ step }) => step()), plain], 15);
  print(`${copies} × tanh(A·c) − t and Jacobian, A ${m}×${n} f64`, wasm, js);
}

function matmul(size: number): void {
  const b = new GraphBuilder();
  const x = b.input({ dtype: "float64", shape: [size, size] });
  const y = b.input({ dtype: "float64", shape: [size, size] });
  const { step, inputs } = bind(b.build([b.emit("contract", [x, y], { signature: "m k, k n -> m n" })]));
  const [p, q] = [Float64Array.from(at(inputs, 0)), Float64Array.from(at(inputs, 1))];
  const out = new Float64Array(size * size);
  const plain = (): void => plainMatmul(size, p, q, out);
  const [wasm = 0, js = 0] = medians([step, plain], 7);
  const rate = (ms: number): string => ((2 * size ** 3) / ms / 1e6).toFixed(2);
  print(`matmul ${size}² f64`, wasm, js, `${rate(wasm)} and ${rate(js)} GFLOP/s`);
}

function elementwise(size: number): void {
  const b = new GraphBuilder();
  const x = b.input({ dtype: "float64", shape: [size] });
  const product = b.apply("mul", b.apply("sin", x), b.apply("exp", x));
  const { step, inputs } = bind(b.build([b.apply("add", product, b.apply("mul", b.like(x, 2), x))]));
  const data = Float64Array.from(at(inputs, 0));
  const out = new Float64Array(size);
  const plain = (): void => plainElementwise(size, data, out);
  const [wasm = 0, js = 0] = medians([step, plain], 15);
  print(`sin(x)·exp(x) + 2x, ${size} f64`, wasm, js);
}

function sums(m: number, n: number): void {
  for (const axis of [0, 1]) {
    const b = new GraphBuilder();
    const x = b.input({ dtype: "float64", shape: [m, n] });
    const { step, inputs } = bind(b.build([b.sum(x, [axis])]));
    const data = Float64Array.from(at(inputs, 0));
    const out = new Float64Array(axis === 0 ? n : m);
    const plain = (): void => (axis === 0 ? plainColumnSums : plainRowSums)(m, n, data, out);
    const [wasm = 0, js = 0] = medians([step, plain], 15);
    print(`sum over axis ${axis} of ${m}×${n} f64`, wasm, js);
  }
}

/** Prints the table. */
export async function run(): Promise<void> {
  residualAndJacobian(4096, 256, 1);
  residualAndJacobian(4096, 256, 8);
  residualAndJacobian(20, 40, 64);
  matmul(512);
  elementwise(1_000_000);
  sums(1000, 1000);
  await Promise.resolve();
}
