/**
 * A trace in progress: the graph that operations on traced arrays are recorded into. Traces nest (a derivative inside a
 * derivative, a batch inside a compiled function); a value of an outer trace that meets an inner one becomes an extra
 * input of the inner graph, so that each transformation sees the other's variables as constants.
 */
import type { Aval, Graph, ValueId } from "../ir/graph.js";
import { GraphBuilder } from "../primitives/builder.js";

/** A value of an outer trace that an inner one refers to. */
export interface Capture {
  readonly trace: Trace;
  readonly id: ValueId;
  readonly aval: Aval;
}

const stack: Trace[] = [];

/** One function being traced. */
export class Trace {
  /** The transformation that traces, as users call it. */
  readonly operation: string;
  /** Inner traces have higher levels. */
  readonly level: number;
  readonly builder = new GraphBuilder();
  /** Values of outer traces, in the order in which they became inputs. */
  readonly captures: Capture[] = [];
  readonly #captured = new Map<Trace, Map<ValueId, ValueId>>();
  readonly #scalars = new Map<string, ValueId>();
  #ended = false;

  constructor(operation: string, level: number) {
    this.operation = operation;
    this.level = level;
  }

  /** True once the traced function has returned. */
  get ended(): boolean {
    return this.#ended;
  }

  end(): void {
    this.#ended = true;
  }

  /** The input that stands for a value of an outer trace. */
  capture(capture: Capture): ValueId {
    let known = this.#captured.get(capture.trace);
    if (known === undefined) this.#captured.set(capture.trace, (known = new Map<ValueId, ValueId>()));
    const same = known.get(capture.id);
    if (same !== undefined) return same;
    const id = this.builder.input(capture.aval);
    known.set(capture.id, id);
    this.captures.push(capture);
    return id;
  }

  /** `make()`, once per key: the same scalar or structure is emitted once. */
  once(key: string, make: () => ValueId): ValueId {
    const known = this.#scalars.get(key);
    if (known !== undefined) return known;
    const id = make();
    this.#scalars.set(key, id);
    return id;
  }

  /** The finished graph. */
  finish(outputs: readonly ValueId[]): Graph {
    return this.builder.build(outputs);
  }
}

/** Runs `body` with a new innermost trace. */
export function withTrace<T>(operation: string, body: (trace: Trace) => T): T {
  const trace = new Trace(operation, stack.length);
  stack.push(trace);
  try {
    return body(trace);
  } finally {
    trace.end();
    stack.pop();
  }
}
