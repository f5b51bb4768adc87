/**
 * Where every operation on arrays passes through: concrete operands are computed at once, traced ones are recorded in
 * the innermost trace that any of them belongs to.
 */
import { GraphError, LeakedTraceError } from "../base/errors.js";
import { Elements } from "../base/elements.js";
import type { Graph, NoParams, OpName, OpParams, ValueId } from "../ir/graph.js";
import { formatAval } from "../ir/graph.js";
import type { PlainOp } from "../primitives/emitter.js";
import { applyEagerly } from "./eager.js";
import type { NDArray, Structure } from "./ndarray.js";
import { fromElements, fromStructure, fromTrace, payloadOf } from "./ndarray.js";
import type { Trace } from "./trace.js";

const none: NoParams = {};

const isNullary = (op: OpName): op is Structure["op"] => op === "fill" || op === "iota" || op === "eye";

/** Refuses a value of a trace that has ended. */
function requireRunning(operation: string, argument: string, x: NDArray, trace: Trace): void {
  if (!trace.ended) return;
  throw new LeakedTraceError({
    operation,
    argument,
    found: `a traced ${formatAval(x)} that left a function after ${trace.operation} had traced it`,
    expected: "a value of the function that is running",
    remedy: "return such values from the function instead of storing them outside",
  });
}

/** The innermost trace that any of the arrays belongs to. Throws `LeakedTraceError` if one has ended. */
function innermostTrace(operation: string, arrays: readonly NDArray[]): Trace | null {
  let innermost: Trace | null = null;
  arrays.forEach((x, position) => {
    const payload = payloadOf(x);
    if (payload.kind !== "traced") return;
    const { trace } = payload.value;
    requireRunning(operation, `operand ${position}`, x, trace);
    if (innermost === null || trace.level > innermost.level) innermost = trace;
  });
  return innermost;
}

/** The array as a value of `trace`: its own, a captured one of an outer trace, or a constant. */
export function lift(trace: Trace, x: NDArray): ValueId {
  const payload = payloadOf(x);
  switch (payload.kind) {
    case "traced": {
      const { value } = payload;
      if (value.trace === trace) return value.id;
      requireRunning(trace.operation, "a result or operand", x, value.trace);
      return trace.capture({ ...value, aval: value.trace.builder.aval(value.id) });
    }
    case "structure": {
      const { op, params } = payload.structure;
      const sign = op === "fill" && Object.is(params.value, -0) ? "-" : "";
      const key = `${op}${sign}${op === "fill" ? params.value : ""}${JSON.stringify(params)}`;
      return trace.once(key, () => trace.builder.emit<OpName>(op, [], params));
    }
    case "data":
      return trace.builder.constant(x, payload.elements);
    case "leased":
      // A constant never changes; leased memory does.
      return trace.builder.constant(x, new Elements(payload.lease.data.slice()));
  }
}

/** Applies a primitive to arrays. Throws `ShapeError`, `DTypeError` or `LeakedTraceError`. */
export function bind<K extends OpName>(op: K, inputs: readonly NDArray[], params: OpParams[K]): NDArray {
  // A nullary primitive's parameters are those of its own name.
  if (isNullary(op)) return fromStructure({ op, params } as unknown as Structure);
  const trace = innermostTrace(op, inputs);
  if (trace === null) return applyEagerly(op, inputs, params);
  const ids = inputs.map((x) => lift(trace, x));
  return fromTrace(trace, trace.builder.emit(op, ids, params));
}

/** Applies a primitive without parameters. */
export function apply(op: PlainOp, ...inputs: readonly NDArray[]): NDArray {
  return bind(op, inputs, none);
}

/** Runs a graph on arrays, concrete or traced: each equation where its operands belong. */
export function evaluate(graph: Graph, inputs: readonly NDArray[]): NDArray[] {
  const values = new Map<ValueId, NDArray>();
  const valueOf = (id: ValueId): NDArray => {
    const value = values.get(id);
    if (value !== undefined) return value;
    throw new GraphError({
      operation: "evaluate",
      argument: `value ${id}`,
      found: "used before it is defined",
    });
  };
  graph.inputs.forEach((id, position) => {
    const value = inputs[position];
    if (value !== undefined) values.set(id, value);
  });
  for (const { id, data } of graph.constants) {
    const aval = graph.avals[id];
    if (aval !== undefined) values.set(id, fromElements(aval.dtype, aval.shape, data));
  }
  for (const equation of graph.equations) {
    const operands = equation.inputs.map(valueOf);
    const result = bind<OpName>(equation.op, operands, equation.params);
    for (const id of equation.outputs) values.set(id, result);
  }
  return graph.outputs.map(valueOf);
}
