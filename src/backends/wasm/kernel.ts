/**
 * Prints a kernel as a WebAssembly function whose parameters are the addresses of its buffers and its dynamic extents
 * and strides.
 */
import { at } from "../../base/at.js";
import type { Index, Scalar } from "../../ir/kernel.js";
import type { Kernel, Loop, Program, Statement } from "../lower/program.js";
import {
  buffersOf,
  forEachScalar,
  forEachStatement,
  indicesOf,
  operandsOf,
  valuesOf,
} from "../lower/program.js";
import { reductionForm } from "../lower/reduction.js";
import { Code } from "./code.js";
import { Emitter, isContiguous } from "./emitter.js";
import type { FunctionBody } from "./encoder.js";
import { single, vectorLane } from "./lane.js";
import { pushReduction } from "./reduction.js";
import type { HostFunctions } from "./scalar.js";
import { pushConversion, pushStore, stackType } from "./scalar.js";
import { pushTiled } from "./tile.js";
import type { Bound } from "./scope.js";
import type { Lanes } from "./vector.js";
import { vectorLanes } from "./vector.js";

type Store = Extract<Statement, { kind: "store" }>;
type For = Extract<Statement, { kind: "for" }>;

/** A kernel's function, and what must be passed to it. */
export interface PrintedKernel {
  readonly body: FunctionBody;
  /** Buffers whose addresses are the first parameters. */
  readonly buffers: readonly number[];
  /** Extents and strides that are the other parameters. */
  readonly variables: readonly string[];
}

function indexVariables(index: Index, names: Set<string>): void {
  switch (index.kind) {
    case "const":
    case "scalar":
      return;
    case "var":
      names.add(index.name);
      return;
    case "add":
    case "sub":
    case "mul":
    case "div":
    case "mod":
    case "min":
    case "max":
      indexVariables(index.a, names);
      indexVariables(index.b, names);
  }
}

/** The names in index expressions that no loop defines. */
function parametersOf(body: readonly Statement[]): string[] {
  const names = new Set<string>();
  const bound = new Set<string>();
  const enter = (loop: Loop): void => {
    bound.add(loop.index);
    indexVariables(loop.extent, names);
  };
  forEachStatement(body, (statement) => {
    if (statement.kind === "for" || statement.kind === "argReduce") enter(statement.loop);
    if (statement.kind === "reduce") statement.loops.forEach(enter);
    if (statement.kind === "store" || statement.kind === "accumulate")
      indexVariables(statement.offset, names);
    forEachScalar(valuesOf(statement), (value) => {
      for (const index of indicesOf(value)) indexVariables(index, names);
    });
  });
  return [...names].filter((name) => !bound.has(name)).sort();
}

function countUses(body: readonly Statement[]): Map<Scalar, number> {
  const uses = new Map<Scalar, number>();
  const count = (value: Scalar): void => void uses.set(value, (uses.get(value) ?? 0) + 1);
  const values: Scalar[] = [];
  forEachStatement(body, (statement) => values.push(...valuesOf(statement)));
  values.forEach(count);
  forEachScalar(values, (value) => operandsOf(value).forEach(count));
  return uses;
}

function writesOf(body: readonly Statement[]): Set<number> {
  const writes = new Set<number>();
  forEachStatement(body, (statement) => {
    if (statement.kind === "store" || statement.kind === "accumulate") writes.add(statement.buffer);
  });
  return writes;
}

class Printer {
  readonly #emitter: Emitter;
  readonly #program: Program;

  constructor(emitter: Emitter) {
    this.#emitter = emitter;
    this.#program = emitter.program;
  }

  statements(body: readonly Statement[], outer: readonly Loop[]): void {
    for (const statement of body) this.#statement(statement, outer);
  }

  #statement(statement: Statement, outer: readonly Loop[]): void {
    switch (statement.kind) {
      case "for":
        return this.#for(statement, outer);
      case "reduce":
        return pushReduction(
          this.#emitter,
          statement,
          reductionForm(this.#program.algebra, statement, outer),
        );
      case "argReduce":
        return this.#argReduce(statement);
      case "store":
        return this.#store(statement);
      case "accumulate":
        return this.#accumulate(statement);
    }
  }

  #store(statement: Store): void {
    const { code } = this.#emitter;
    const { dtype } = at(this.#program.buffers, statement.buffer);
    const offset = this.#emitter.pushAddress(statement.buffer, statement.offset, single);
    this.#emitter.push(statement.value);
    pushConversion(code, statement.value.dtype, dtype);
    pushStore(code, dtype, offset);
  }

  #for(statement: For, outer: readonly Loop[]): void {
    const { loop, body } = statement;
    const inner = [...outer, loop];
    if (pushTiled(this.#emitter, statement, outer)) return;
    const extent = this.#emitter.bound(loop.extent);
    const writes = writesOf(body);
    const plain = (from: Bound, to: Bound): void =>
      this.#emitter.loop(loop.index, from, to, 1, writes, () => this.statements(body, inner));
    const stores = body.filter((part): part is Store => part.kind === "store");
    const lanes = stores.length === body.length ? this.#lanesAlong(stores, loop.index, writes) : null;
    if (lanes === null) return plain({ constant: 0 }, extent);
    this.#vectorLoop(loop, stores, lanes, extent, writes, plain);
  }

  /** How many elements the stores can write at once along an index. */
  #lanesAlong(stores: readonly Store[], index: string, writes: ReadonlySet<number>): Lanes | null {
    const { algebra, buffers } = this.#program;
    const varies = (value: Scalar): boolean => this.#emitter.dependencies(value).has(index);
    const lanes = vectorLanes(
      stores.map((store) => store.value),
      varies,
      (load) => !writes.has(load.buffer) && isContiguous(this.#program, load, index),
    );
    if (lanes === null) return null;
    for (const { buffer, offset, value } of stores) {
      const { dtype } = at(buffers, buffer);
      const probe = { kind: "load", dtype, buffer, offset } as const;
      if (dtype !== value.dtype || dtype === "bool") return null;
      if (dtype === "float64" ? lanes !== 2 : lanes !== 4) return null;
      if (!isContiguous(this.#program, probe, index) || algebra.normalize(offset).key.includes("scalar"))
        return null;
    }
    return lanes;
  }

  #vectorLoop(
    loop: Loop,
    stores: readonly Store[],
    lanes: Lanes,
    extent: Bound,
    writes: ReadonlySet<number>,
    plain: (from: Bound, to: Bound) => void,
  ): void {
    const emitter = this.#emitter;
    const run = (from: Bound, to: Bound, vectors: number): void =>
      emitter.loop(loop.index, from, to, vectors * lanes, writes, () => {
        for (let vector = 0; vector < vectors; vector++) {
          const lane = vectorLane(loop.index, lanes, new Map([[loop.index, vector * lanes]]));
          for (const { buffer, offset, value } of stores) {
            const fixed = emitter.pushAddress(buffer, offset, lane);
            emitter.pushVector(value, lane);
            emitter.code.memory("v128.store", 3, fixed);
          }
        }
      });
    const pairs = emitter.roundDown(extent, 2 * lanes);
    const whole = emitter.roundDown(extent, lanes);
    run({ constant: 0 }, pairs, 2);
    run(pairs, whole, 1);
    plain(whole, extent);
  }

  #argReduce(statement: Extract<Statement, { kind: "argReduce" }>): void {
    const emitter = this.#emitter;
    const { code } = emitter;
    const { dtype } = statement.value;
    const type = stackType[dtype];
    const [best, position, candidate, count] = [
      code.local(type),
      code.local("i32"),
      code.local(type),
      code.local("i32"),
    ];
    code.i32(0);
    code.tee(position);
    code.set(count);
    const extent = emitter.bound(statement.loop.extent);
    emitter.loop(statement.loop.index, { constant: 0 }, extent, 1, new Set(), () => {
      emitter.push(statement.value);
      code.set(candidate);
      // The first element, a greater one, or the first NaN.
      code.get(count);
      code.op("i32.eqz");
      code.get(candidate);
      code.get(best);
      const order = statement.select === "max" ? "gt" : "lt";
      if (type === "i32") code.op(dtype === "int32" ? `i32.${order}_s` : `i32.${order}_u`);
      else {
        code.op(`${type}.${order}`);
        code.get(candidate);
        code.get(candidate);
        code.op(`${type}.ne`);
        code.get(best);
        code.get(best);
        code.op(`${type}.eq`, "i32.and", "i32.or");
      }
      code.op("i32.or");
      code.branch(null, () => {
        code.get(candidate);
        code.set(best);
        code.get(count);
        code.set(position);
      });
      code.get(count);
      code.i32(1);
      code.op("i32.add");
      code.set(count);
    });
    emitter.define(statement.local, "int32", position);
  }

  #accumulate(statement: Extract<Statement, { kind: "accumulate" }>): void {
    const emitter = this.#emitter;
    const { code } = emitter;
    const { dtype } = at(this.#program.buffers, statement.buffer);
    emitter.conditionally(statement.when, () => {
      const fixed = emitter.pushAddress(statement.buffer, statement.offset, single);
      const address = code.local("i32");
      code.tee(address);
      code.get(address);
      emitter.code.memory(
        dtype === "float64" ? "f64.load" : dtype === "float32" ? "f32.load" : "i32.load",
        2,
        fixed,
      );
      emitter.push(statement.value);
      code.op(dtype === "float64" ? "f64.add" : dtype === "float32" ? "f32.add" : "i32.add");
      pushStore(code, dtype, fixed);
    });
  }
}

/** Prints one kernel under a name. */
export function printKernel(
  program: Program,
  kernel: Kernel,
  host: HostFunctions,
  name: string,
): PrintedKernel {
  const buffers = [...buffersOf(kernel.body)].sort((a, b) => a - b);
  const variables = parametersOf(kernel.body);
  const code = new Code([...buffers, ...variables].map(() => "i32"));
  const emitter = new Emitter(code, program, host, {
    addresses: new Map(buffers.map((buffer, position) => [buffer, position])),
    variables: new Map(variables.map((variable, position) => [variable, buffers.length + position])),
    uses: countUses(kernel.body),
  });
  new Printer(emitter).statements(kernel.body, []);
  return { body: code.finish(name), buffers, variables };
}
