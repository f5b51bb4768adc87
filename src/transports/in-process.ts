/**
 * Ranks that live in the calling thread and take turns, in a fixed order: no threads, every run alike. Plans and their
 * parts are copied on the way as on any other transport, so that nothing works here only because objects are shared.
 */
import { at } from "../base/at.js";
import { HeddleError } from "../base/errors.js";
import { errorToWire } from "../closure/error-wire.js";
import { freshBuffer } from "../heap/heap.js";
import type { RankService, RankSetup, Resumable, Waiting } from "./service.js";
import { StepAborted } from "./service.js";
import type { RankLink, StepOutcome, Transport } from "./transport.js";
import { controlBlock, controlBytes, controlWord, planWord } from "./words.js";

/** Makes a rank; ranks are built on the floor above. */
export type CreateRank = (setup: RankSetup) => RankService;

interface Turn {
  readonly rank: number;
  readonly service: RankService;
  readonly resumable: Resumable;
  outcome?: StepOutcome;
}

/** A transport of ranks in this thread. */
export function inProcess(setups: readonly RankSetup[], create: CreateRank): Transport {
  const services: RankService[] = [];
  const links: RankLink[] = [];

  const fail = (turn: Turn, plan: number, error: unknown): StepOutcome => {
    if (error instanceof StepAborted) return { kind: "aborted" };
    turn.service.abandon(plan);
    const { heap, control } = at(setups, turn.rank);
    const { words } = controlBlock(freshBuffer(heap, control + controlBytes), control);
    return { kind: "failed", error: errorToWire(error), task: Atomics.exchange(words, controlWord.task, 0) };
  };

  const step = async (plan: number, ranks: readonly number[]): Promise<readonly StepOutcome[]> => {
    const turns = ranks.map((rank): Turn => {
      const service = at(services, rank);
      return { rank, service, resumable: service.begin(plan) };
    });
    for (;;) {
      const waiting: Waiting[] = [];
      for (const turn of turns) {
        if (turn.outcome !== undefined) continue;
        try {
          const wait = turn.resumable.step();
          if (wait === undefined) turn.outcome = { kind: "done" };
          else waiting.push(wait);
        } catch (error) {
          turn.outcome = fail(turn, plan, error);
        }
      }
      if (waiting.length === 0) break;
      const rung = waiting.some(
        (wait) => wait.on === "bell" && Atomics.load(wait.words, planWord.bell) !== wait.value,
      );
      if (rung) continue;
      const promises = waiting.flatMap((wait) => (wait.on === "device" ? [wait.promise] : []));
      if (promises.length === 0)
        throw new HeddleError("HEDDLE_INTERNAL", "in-process ranks wait for each other");
      await Promise.race(promises);
    }
    return turns.map((turn) => turn.outcome ?? { kind: "aborted" });
  };

  return {
    kind: "inProcess",
    lost: new Set(),
    start: async () => {
      for (const setup of setups) {
        const service = create(setup);
        services.push(service);
        links.push({
          info: service.hello(),
          load: async (part) => service.load(structuredClone(part)),
          place: async (plan, workspace) => service.place(plan, workspace),
          unload: async (plan) => service.unload(plan),
          evaluate: async (job) => structuredClone(await service.evaluate(structuredClone(job))),
          cancel: async (loop) => service.cancel(loop),
        });
      }
    },
    link: (rank) => at(links, rank),
    step,
    heal: async () => {},
    close: async () => {
      for (const service of services.splice(0)) await service.close();
    },
  };
}
