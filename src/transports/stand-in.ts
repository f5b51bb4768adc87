/**
 * What the calling thread needs to carry out a rank's part of a step itself: the same part, bound to the same places, in a
 * rank of its own that is made when it is first needed.
 */
import type { CreateRank } from "./in-process.js";
import type { PlanPart, RankService, RankSetup, Resumable } from "./service.js";

export class StandIn {
  readonly setup: RankSetup;
  readonly #create: CreateRank;
  readonly #parts = new Map<number, { readonly part: PlanPart; workspace?: number }>();
  readonly #ready = new Set<number>();
  #service: RankService | undefined;

  constructor(setup: RankSetup, create: CreateRank) {
    this.setup = setup;
    this.#create = create;
  }

  /** The rank, made when it is first needed. */
  get service(): RankService {
    this.#service ??= this.#create(this.setup);
    return this.#service;
  }

  load(part: PlanPart): void {
    this.#parts.set(part.plan, { part });
    this.#ready.delete(part.plan);
  }

  place(plan: number, workspace: number): void {
    const known = this.#parts.get(plan);
    if (known !== undefined) known.workspace = workspace;
  }

  unload(plan: number): void {
    this.#parts.delete(plan);
    if (this.#ready.delete(plan)) this.#service?.unload(plan);
  }

  begin(plan: number): Resumable {
    const known = this.#parts.get(plan);
    if (!this.#ready.has(plan) && known?.workspace !== undefined) {
      // A device that the calling thread stands in for shares the heap, and compiles at once.
      void this.service.load(known.part);
      this.service.place(plan, known.workspace);
      this.#ready.add(plan);
    }
    return this.service.begin(plan);
  }
}
