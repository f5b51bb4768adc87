/**
 * Evaluates objectives that the heap cannot hold at once: wave after wave, each written into the heap, computed, and
 * copied out to ordinary arrays.
 */
import type { Storage } from "../base/dtype.js";
import { MemoryError } from "../base/errors.js";
import { sizeOf } from "../base/shape.js";
import { coreOf } from "../executor/cores.js";
import type { Routine } from "../executor/doors.js";
import { through } from "../executor/doors.js";
import type { Pool } from "../executor/pool.js";
import type { ResidentPlan } from "../executor/resident.js";
import type { EvaluateOptions } from "./engine.js";
import type { Entry } from "./entry.js";
import type { Grid } from "./grid.js";
import { resultsOf } from "./arguments.js";
import type { Method } from "./programs.js";
import type { Vectors, Wave } from "./waves.js";
import { placeBox, wavesOf } from "./waves.js";

/** How much of what is free in the heap a wave takes; programs need memory for their temporaries, too. */
const share = 0.7;

/** Joined results by the name of their region. */
export type Results = ReadonlyMap<string, Float64Array>;

export class Streamer {
  readonly #pool: Pool;
  readonly #entries: readonly Entry[];
  readonly #grids: readonly Grid[];
  readonly #dimX: number;
  /** Waves by method. */
  readonly #waves = new Map<Method, readonly Wave[]>();
  #budget: number | undefined;
  /** The plan of the latest wave, in the heap. */
  #resident: { readonly key: string; readonly plan: ResidentPlan } | undefined;

  constructor(pool: Pool, entries: readonly Entry[], grids: readonly Grid[], dimX: number) {
    this.#pool = pool;
    this.#entries = entries;
    this.#grids = grids;
    this.#dimX = dimX;
  }

  /** The methods that were evaluated so, and in how many waves. */
  get methods(): { readonly method: Method; readonly waves: number }[] {
    return [...this.#waves].map(([method, waves]) => ({ method, waves: waves.length }));
  }

  #wavesOf(method: Method): readonly Wave[] {
    const { heap, settings } = coreOf(this.#pool);
    this.#budget ??= share * heap.freeBytes;
    const known = this.#waves.get(method);
    if (known !== undefined) return known;
    const waves = wavesOf(
      {
        method,
        entries: this.#entries,
        grids: this.#grids,
        ranks: settings.devices.length,
        dimX: this.#dimX,
      },
      this.#budget,
    );
    this.#waves.set(method, waves);
    coreOf(this.#pool).emit({ type: "streamed", method, waves: waves.length, heap: heap.limit });
    return waves;
  }

  /**
   * Evaluates a method. `makeRoom` gives back what else of the function is in the heap; it answers false if there is
   * nothing. Throws `MemoryError` if not even one chunk fits.
   */
  *evaluate(
    method: Method,
    vectors: Vectors,
    options: Pick<EvaluateOptions, "signal" | "timeout">,
    makeRoom: () => Routine<boolean>,
  ): Routine<Results> {
    const start = performance.now();
    for (;;) {
      try {
        return yield* this.#pass(method, vectors, options, start);
      } catch (error) {
        if (!(error instanceof MemoryError)) throw error;
        yield* this.release();
        if (yield* makeRoom()) this.#budget = undefined;
        else {
          const waves = this.#waves.get(method)?.length ?? 0;
          this.#budget = (this.#budget ?? 0) / 2;
          this.#waves.clear();
          // Smaller waves do not help where every chunk has one of its own.
          if (this.#wavesOf(method).length === waves && this.#budget < 65_536) throw error;
          continue;
        }
        this.#waves.clear();
      }
    }
  }

  *#pass(
    method: Method,
    vectors: Vectors,
    { signal, timeout }: Pick<EvaluateOptions, "signal" | "timeout">,
    start: number,
  ): Routine<Results> {
    const shapes = new Map(
      resultsOf(method, this.#entries, this.#dimX).map(({ name, shape }) => [name, shape] as const),
    );
    const results = new Map(
      [...shapes].map(([name, shape]) => [name, new Float64Array(sizeOf(shape))] as const),
    );
    for (const wave of this.#wavesOf(method)) {
      signal?.throwIfAborted();
      const plan = yield* this.#planOf(method, wave);
      const inputs = Object.fromEntries(wave.inputs.map(({ region, data }) => [region, data(vectors)]));
      const collect = (region: (name: string) => Storage): void => {
        for (const { from, region: name, window } of wave.outputs) {
          const target = results.get(name);
          if (target !== undefined) placeBox(target, shapes.get(name) ?? [], window, region(from));
        }
      };
      const left = timeout === undefined ? undefined : Math.max(1, timeout - (performance.now() - start));
      const step = {
        ...(signal === undefined ? {} : { signal }),
        ...(left === undefined ? {} : { timeout: left }),
      };
      yield* through({
        awaited: () => plan.run(inputs, collect, step),
        blocked: () => plan.sync.run(inputs, collect, step),
      });
    }
    return results;
  }

  *#planOf(method: Method, wave: Wave): Routine<ResidentPlan> {
    if (this.#resident?.key === wave.key) return this.#resident.plan;
    yield* this.release();
    const label = `${method}, in waves`;
    const plan = yield* through({
      awaited: () => this.#pool.load(wave.plan, { label }),
      blocked: () => this.#pool.sync.load(wave.plan, { label }),
    });
    this.#resident = { key: wave.key, plan };
    return plan;
  }

  /** Gives the memory of the latest wave back. */
  *release(): Routine<void> {
    const resident = this.#resident;
    this.#resident = undefined;
    if (resident === undefined) return;
    const { plan } = resident;
    yield* through({ awaited: () => plan.dispose(), blocked: () => plan.sync.dispose() });
  }
}
