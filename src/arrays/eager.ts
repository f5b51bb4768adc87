/**
 * Operations on concrete arrays, one at a time. Elements are moved by loops here; arithmetic on more than a few elements,
 * and every reduction and product, runs in WebAssembly kernels that serve all shapes.
 */
import { at } from "../base/at.js";
import type { Storage } from "../base/dtype.js";
import { itemSize } from "../base/dtype.js";
import { sizeOf } from "../base/shape.js";
import { applyReference } from "../backends/reference/interpret.js";
import { DynamicKernels } from "../backends/wasm/dynamic.js";
import type { Aval, OpName, OpParams } from "../ir/graph.js";
import type { HostArray } from "../primitives/row.js";
import { outputAval, rowOf } from "../primitives/table.js";
import { arena, Scratch, viewAt } from "./arena.js";
import { move } from "./move.js";
import type { NDArray } from "./ndarray.js";
import { fillValue, filled, fromElements, fromOwn, elementsNow, elementsOf } from "./ndarray.js";

/** Below so many elements, a loop over them costs less than the way into a kernel and back. Both have the same bits. */
const fewElements = 128;

const kernels = new DynamicKernels();
const scratch = new Scratch("an operation");
const workspace = new Scratch("an operation's temporaries");

/** Arithmetic on corresponding elements. */
function isElementwise(op: OpName, params: OpParams[OpName]): boolean {
  if (op === "diag" || rowOf(op).lowering.kind !== "element") return false;
  return op === "convert" || Object.keys(params).length === 0;
}

function hostOf(x: NDArray): HostArray {
  return { dtype: x.dtype, shape: x.shape, data: elementsNow(x) };
}

/** A constant as the scalar that it is, which a kernel broadcasts. */
function scalarOf(x: NDArray, value: number): HostArray {
  return applyReference("fill", [], { value, dtype: x.dtype, shape: [] });
}

const align = (bytes: number): number => Math.ceil(bytes / 64) * 64;
const bytesOf = ({ dtype, shape }: Aval): number => align(sizeOf(shape) * itemSize(dtype));

function runKernel<K extends OpName>(
  op: K,
  params: OpParams[K],
  inputs: readonly HostArray[],
  output: Aval,
): Storage {
  const total = inputs.reduce((sum, input) => sum + bytesOf(input), bytesOf(output));
  let offset = scratch.reserve(total);
  const place = ({ dtype, shape }: Aval) => {
    const placed = { dtype, shape, offset };
    offset += bytesOf(placed);
    return placed;
  };
  const places = inputs.map((input) => {
    const placed = place(input);
    viewAt(placed, placed.offset).set(input.data);
    return placed;
  });
  const target = place(output);
  kernels.apply(arena().memory, workspace, op, params, places, target);
  const result = viewAt(target, target.offset).slice();
  scratch.done();
  workspace.done();
  return result;
}

/** Applies one primitive to concrete arrays. Throws `ShapeError` or `DTypeError`. */
export function applyEagerly<K extends OpName>(
  op: K,
  inputs: readonly NDArray[],
  params: OpParams[K],
): NDArray {
  const output = outputAval(op, inputs, params);
  const wrap = (data: Storage): NDArray => fromOwn(output.dtype, output.shape, data);
  if (isElementwise(op, params)) {
    const compact = inputs.map((x) => {
      const value = fillValue(x);
      return value === undefined ? hostOf(x) : scalarOf(x, value);
    });
    // An operation on constants is a constant.
    if (inputs.every((x) => fillValue(x) !== undefined)) {
      return filled(output.dtype, output.shape, at(applyReference(op, compact, params).data, 0));
    }
    if (op !== "stopGradient" && sizeOf(output.shape) >= fewElements) {
      return wrap(runKernel(op, params, compact, output));
    }
  }
  // Elements never change: arrays of several shapes can have the same.
  const shared = op === "reshape" ? elementsOf(at(inputs, 0)) : null;
  if (shared !== null) return fromElements(output.dtype, output.shape, shared);
  const hosts = inputs.map(hostOf);
  const { kind } = rowOf(op).lowering;
  // Reductions always run in a kernel, since the order of a sum is part of its result.
  if (kind === "reduce" && hosts.every(({ data }) => data.length > 0)) {
    return wrap(runKernel(op, params, hosts, output));
  }
  const data = move(op, params, hosts, output) ?? applyReference(op, hosts, params).data;
  // Where nothing is to be done, the result may be an operand's memory.
  const aliased = hosts.some((host) => host.data.buffer === data.buffer);
  return wrap(aliased ? data.slice() : data);
}
