/**
 * Ranks that live in the calling thread and take turns, in a fixed order: no threads, every run alike. Plans and their
 * parts are copied on the way as on any other transport, so that nothing works here only because objects are shared.
 */
import { at } from "../base/at.js";
import { errorToWire } from "../closure/error-wire.js";
import { freshBuffer } from "../heap/heap.js";
import { loopReply } from "./loop-work.js";
import type { Reply } from "./reply.js";
import { answered, finished, immediate } from "./reply.js";
import type { RankService, RankSetup } from "./service.js";
import { StepAborted } from "./service.js";
import type { RankLink, StepOutcome, Transport } from "./transport.js";
import { laterError, takeTurns } from "./turns.js";
import { controlBlock, controlBytes, controlWord } from "./words.js";

/** Makes a rank; ranks are built on the floor above. */
export type CreateRank = (setup: RankSetup) => RankService;

/** How a part ended that threw. Its failure is made known to the other ranks. */
export function failedOutcome(
  service: RankService,
  setup: RankSetup,
  plan: number,
  error: unknown,
): StepOutcome {
  if (error instanceof StepAborted) return { kind: "aborted" };
  service.abandon(plan);
  const { heap, control } = setup;
  const { words } = controlBlock(freshBuffer(heap, control + controlBytes), control);
  return { kind: "failed", error: errorToWire(error), task: Atomics.exchange(words, controlWord.task, 0) };
}

/** A reply of a call that may take its time; a thread that blocks cannot wait for its own device. */
function immediateOr<T>(call: () => T | Promise<T>): Reply<T> {
  const called = immediate(call);
  return {
    get promise() {
      return called.promise.then((value) => value);
    },
    wait: (until) => {
      const value = called.wait(until);
      if (value instanceof Promise) throw laterError();
      return value;
    },
  };
}

/** A reply of something that a device may take its time for. */
function settling(settled: void | Promise<void>): Reply<void> {
  return {
    get promise() {
      return Promise.resolve(settled);
    },
    // A thread that blocks cannot wait for its own device; what was begun ends in its own time.
    wait: () => undefined,
  };
}

/** A transport of ranks in this thread. */
export function inProcess(setups: readonly RankSetup[], create: CreateRank): Transport {
  const services: RankService[] = [];
  const links: RankLink[] = [];

  return {
    kind: "inProcess",
    lost: new Set(),
    start: () => {
      for (const setup of setups) {
        const service = create(setup);
        services.push(service);
        links.push({
          info: service.hello(),
          load: (part) => immediateOr(() => service.load(structuredClone(part))),
          place: (plan, workspace) => immediate(() => service.place(plan, workspace)),
          unload: (plan) => immediate(() => service.unload(plan)),
          evaluate: (job) => {
            const own = structuredClone(job);
            return loopReply(() => service.evaluate(own));
          },
          cancel: (loop) => immediate(() => service.cancel(loop)),
        });
      }
      return finished(undefined);
    },
    link: (rank) => at(links, rank),
    modes: () => [],
    *step(plan, ranks) {
      const outcomes = ranks.map((): StepOutcome => ({ kind: "aborted" }));
      yield* takeTurns(
        ranks.map((rank, i) => {
          const service = at(services, rank);
          return {
            resumable: service.begin(plan),
            end: (failure) => {
              outcomes[i] =
                failure === undefined
                  ? { kind: "done" }
                  : failedOutcome(service, at(setups, rank), plan, failure.error);
            },
          };
        }),
      );
      return outcomes;
    },
    heal: () => finished(undefined),
    kill: () => immediate(() => undefined),
    *close() {
      for (const service of services.splice(0)) yield* answered(settling(service.close()));
    },
  };
}
