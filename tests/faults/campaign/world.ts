// A pool of the faults campaign with everything that is called on it, and the bits that each call must give. What befalls
// the pool is elsewhere; here is what must hold afterwards.
import { np, objective, objectiveFunction, parallelFor, sequential } from "heddle";
import type { ObjectiveFunction, Pool as PublicPool, PoolEvent, PoolOptions, ResidentPlan } from "heddle";
import { adoptCore, coreOf } from "#heddle/executor/cores";
import { openPool } from "#heddle/executor/open";
import { Pool } from "#heddle/executor/pool";
import { granule } from "#heddle/heap/allocator";
import { Heap } from "#heddle/heap/heap";
import { fault } from "#heddle/rank/faults";
import type { Case } from "../../contracts/plans.js";
import { blocks, ring, scratch } from "../../contracts/plans.js";
import type { Door, FaultCase, MethodName, PlanRound } from "./draw.js";
import { methods } from "./draw.js";
import type { Ended } from "./settle.js";
import { describeEnd, pause, settled, settledNow } from "./settle.js";

type Bits = readonly number[];

const x = Float64Array.of(0.3, -0.2, 0.7);
const tangent = Float64Array.of(1, 2, -1);
const cotangent = Float64Array.from({ length: 13 }, (_, i) => i - 5);

/** One objective for every rank that a case can have. */
export const objectiveNames = ["outer", "wave", "square"] as const;

function objectivesOn(ranks: number) {
  return [
    objective((c) => np.tanh(np.outer(c, c)), { name: "outer", rank: 0 }),
    objective((c) => np.sin(c).sub(0.25), { name: "wave", rank: 1 % ranks }),
    objective((c) => c.mul(c).sum(), { name: "square", rank: 2 % ranks }),
  ];
}

type Fun = ObjectiveFunction<Float64Array>;

/** A method's result as one list. */
function bitsOf(result: unknown): Bits {
  if (typeof result === "number") return [result];
  const { data, residual, jacobian } = result as {
    data?: ArrayLike<number>;
    residual?: { data: ArrayLike<number> };
    jacobian?: { data: ArrayLike<number> };
  };
  return [data, residual?.data, jacobian?.data].flatMap((part) => Array.from(part ?? []));
}

async function callMethod(fun: Fun, method: MethodName, options: object): Promise<Bits> {
  if (method === "jvp") return bitsOf(await fun.jvp(x, tangent, options));
  if (method === "vjp") return bitsOf(await fun.vjp(x, cotangent, options));
  return bitsOf(await fun[method](x, options));
}

function callMethodNow({ sync }: Pick<Fun, "sync">, method: MethodName, options: object): Bits {
  if (method === "jvp") return bitsOf(sync.jvp(x, tangent, options));
  if (method === "vjp") return bitsOf(sync.vjp(x, cotangent, options));
  return bitsOf(sync[method](x, options));
}

/** A call's options. */
export interface Limits {
  readonly signal?: AbortSignal;
  readonly timeout?: number;
}

/** A result in the memory of the ranks. */
interface Kept {
  readonly residual: { readonly data: ArrayLike<number> };
  readonly jacobian: { readonly data: ArrayLike<number> };
}

interface Loaded {
  readonly example: Case;
  readonly resident: ResidentPlan;
}

/** What every call of every case must give; computed on one rank in the calling thread, or in plain JavaScript. */
export class Expected {
  readonly #plans = new Map<string, Bits>();
  readonly #methods: ReadonlyMap<MethodName, Bits>;

  constructor() {
    const loop = sequential(objectivesOn(1), { x });
    this.#methods = new Map(methods.map((method) => [method, callMethodNow(loop, method, {})]));
  }

  method(method: MethodName): Bits {
    return this.#methods.get(method) ?? [];
  }

  /** The output `y` of a plan. */
  async plan(example: Case, ranks: number): Promise<Bits> {
    const key = `${example.name} ${ranks}`;
    const known = this.#plans.get(key);
    if (known !== undefined) return known;
    const pool = new Pool();
    adoptCore(pool, await openPool({ ranks, inProcess: true }, { heap: new Heap() }));
    const bits = [...((await pool.run(example.plan, example.arrays))["y"]?.data ?? [])];
    await pool.close();
    this.#plans.set(key, bits);
    return bits;
  }
}

export class World {
  readonly pool: PublicPool;
  readonly heap: Heap;
  readonly ranks: number;
  readonly events: PoolEvent[];
  readonly plans: Readonly<Record<PlanRound["plan"], Loaded>>;
  /** Iterations are dealt to the ranks' own processes in chunks, of which errors name the first. */
  readonly dealsChunks: boolean;
  readonly #faults: readonly Int32Array[];
  readonly #fun: Fun;
  readonly #expected: Expected;
  readonly #blocks: boolean;
  readonly #kept: Kept;
  /** Bytes that bodies of this thread keep which never settle: the words of their loops. */
  #abandonedBytes = 0;

  private constructor(parts: {
    pool: PublicPool;
    heap: Heap;
    ranks: number;
    events: PoolEvent[];
    plans: Readonly<Record<PlanRound["plan"], Loaded>>;
    faults: readonly Int32Array[];
    fun: Fun;
    expected: Expected;
    blocks: boolean;
    dealsChunks: boolean;
    kept: Kept;
  }) {
    this.pool = parts.pool;
    this.heap = parts.heap;
    this.ranks = parts.ranks;
    this.events = parts.events;
    this.plans = parts.plans;
    this.#faults = parts.faults;
    this.#fun = parts.fun;
    this.#expected = parts.expected;
    this.#blocks = parts.blocks;
    this.dealsChunks = parts.dealsChunks;
    this.#kept = parts.kept;
  }

  /** Opens the pool of a case, on a heap of its own, and loads everything. */
  static async open(one: FaultCase, expected: Expected): Promise<World> {
    const { transport, ranks, breakable } = one;
    const heap = new Heap();
    const faults = Array.from({ length: ranks }, () => new Int32Array(new SharedArrayBuffer(4)));
    const events: PoolEvent[] = [];
    const options: PoolOptions = {
      ranks,
      inProcess: transport.startsWith("in-process"),
      device: transport.endsWith("deferred") ? "deferred" : "wasm",
      isolation: transport === "processes" ? "process" : "thread",
      onEvent: (event) => events.push(event),
    };
    const pool = new Pool();
    adoptCore(pool, await openPool(options, breakable ? { heap, faults } : { heap }));
    const load = async (example: Case): Promise<Loaded> => {
      const { plan, arrays } = example;
      const constants = Object.fromEntries(
        Object.entries(arrays).filter(([name]) => plan.regions[name]?.role === "constant"),
      );
      return { example, resident: await pool.load(plan, { constants, label: example.name }) };
    };
    const plans = {
      blocks: await load(blocks(ranks)),
      ring: await load(ring(ranks)),
      scratch: await load(scratch(ranks)),
    };
    const fun = await objectiveFunction(objectivesOn(ranks), { x, pool });
    // A result that lies in the ranks' memory; it must survive whatever befalls them.
    const kept = await fun.linearize(x, { out: await fun.linearize(x) });
    // The library that bodies may use is loaded before the first, which would count as their time.
    await parallelFor(ranks, (i) => i, { pool, schedule: "static" });
    const blocksCaller = transport !== "in-process, deferred";
    return new World({
      pool,
      heap,
      ranks,
      events,
      plans,
      faults,
      fun,
      expected,
      blocks: blocksCaller,
      dealsChunks: transport === "processes",
      kept,
    });
  }

  #inputs({ example }: Loaded): Record<string, Float64Array> {
    return Object.fromEntries(
      Object.entries(example.arrays).filter(([name]) => example.plan.regions[name]?.role === "input"),
    ) as Record<string, Float64Array>; // All regions of these plans are of float64.
  }

  step(plan: PlanRound["plan"], limits: Limits = {}): Promise<Bits> {
    const loaded = this.plans[plan];
    return loaded.resident.run(this.#inputs(loaded), (region) => [...region("y")], limits);
  }

  stepNow(plan: PlanRound["plan"], limits: Limits = {}): Bits {
    const loaded = this.plans[plan];
    return loaded.resident.sync.run(this.#inputs(loaded), (region) => [...region("y")], limits);
  }

  method(method: MethodName, limits: Limits = {}): Promise<Bits> {
    return callMethod(this.#fun, method, limits);
  }

  methodNow(method: MethodName, limits: Limits = {}): Bits {
    return callMethodNow(this.#fun, method, limits);
  }

  /** What a step of a plan must give. */
  expectedStep(plan: PlanRound["plan"]): Promise<Bits> {
    return this.#expected.plan(this.plans[plan].example, this.ranks);
  }

  expectedMethod(method: MethodName): Bits {
    return this.#expected.method(method);
  }

  /** Makes the next program of a rank fail. */
  break(rank: number, kind: keyof typeof fault): void {
    const words = this.#faults[rank];
    if (words !== undefined) Atomics.store(words, 0, fault[kind]);
  }

  /** Takes back what has not struck yet. */
  unbreak(): void {
    this.#faults.forEach((_, rank) => this.break(rank, "none"));
  }

  /** What is wrong with the pool, if anything: every kind of call must give its bits, by both doors. */
  async complaints(): Promise<string[]> {
    this.unbreak();
    const found: string[] = [];
    const check = (what: string, end: Ended, bits: Bits): void => {
      if ("value" in end && sameBits(end.value, bits)) return;
      found.push(`afterwards ${what} gave ${"value" in end ? "wrong bits" : describeEnd(end)}`);
    };
    const squares = Array.from({ length: 9 }, (_, i) => i * i);
    for (const door of this.#doors()) {
      const call = async (what: string, later: () => Promise<unknown>, now: () => unknown, bits: Bits) => {
        check(`${what}, ${door},`, door === "awaited" ? await settled(what, later()) : settledNow(now), bits);
      };
      for (const plan of ["blocks", "ring", "scratch"] as const) {
        const bits = await this.expectedStep(plan);
        await call(
          plan,
          () => this.step(plan),
          () => this.stepNow(plan),
          bits,
        );
      }
      await call(
        "a Jacobian",
        () => this.method("jacobian"),
        () => this.methodNow("jacobian"),
        this.expectedMethod("jacobian"),
      );
      const { pool } = this;
      await call(
        "a loop",
        () => parallelFor(9, (i) => i * i, { pool }),
        () => parallelFor.sync(9, (i) => i * i, { pool }),
        squares,
      );
    }
    const kept = [...Array.from(this.#kept.residual.data), ...Array.from(this.#kept.jacobian.data)];
    if (!sameBits(kept, this.expectedMethod("linearize"))) found.push("an earlier result has changed");
    // Listeners are told in a turn of their own.
    await pause(0);
    const count = (type: PoolEvent["type"]): number =>
      this.events.filter((event) => event.type === type).length;
    if (count("rankLost") !== count("rankHealed")) {
      found.push(`${count("rankLost")} ranks were lost, ${count("rankHealed")} healed`);
    }
    return found;
  }

  #doors(): readonly Door[] {
    return this.#blocks ? ["awaited", "blocking"] : ["awaited"];
  }

  /** A loop has a body that never settles. */
  abandon(): void {
    if (coreOf(this.pool).transport.kind === "inProcess") this.#abandonedBytes += granule;
  }

  /** Closes the pool; what is left in its heap is a complaint. */
  async close(): Promise<string[]> {
    const end = await settled("close", this.pool.close());
    if ("thrown" in end) return [`close threw ${describeEnd(end)}`];
    // A body in this thread that was given up keeps the words of its loop until it settles.
    const tooMuch = (): boolean => this.heap.report().usedBytes > this.#abandonedBytes;
    for (let turn = 0; turn < 100 && tooMuch(); turn++) await pause(10);
    const { usedBytes, blocks: left } = this.heap.report();
    return !tooMuch() ? [] : [`${left} blocks of ${usedBytes} bytes are left in the heap`];
  }
}

/** Equal element for element, as bits. */
export function sameBits(found: unknown, wanted: Bits): boolean {
  const list = Array.from(found as ArrayLike<number>);
  return list.length === wanted.length && list.every((value, i) => Object.is(value, wanted[i]));
}
