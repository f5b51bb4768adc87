/**
 * Ranks on worker threads that the supervisor owns. Steps go through shared words, everything else through each rank's
 * control channel; a caller may await or block. Whoever waits for a rank is told when its thread ends.
 *
 * The calling thread can carry out a rank's part of a step itself, in the same memory and by the same programs: that of
 * the first rank while the others do theirs, or all parts of a step that is too small to be worth a wake.
 */
import { at } from "../base/at.js";
import type { ErrorWire } from "../closure/error-wire.js";
import { freshBuffer } from "../heap/heap.js";
import type { RankThread } from "./control.js";
import type { CreateRank } from "./in-process.js";
import { failedOutcome } from "./in-process.js";
import { keepAlive } from "./keep-alive.js";
import { park, spin, wakeTime } from "./park.js";
import type { RankClientOptions } from "./rank-client.js";
import { RankClient } from "./rank-client.js";
import type { Reply, Task } from "./reply.js";
import { all, answered, late, together, within } from "./reply.js";
import type { RankSetup } from "./service.js";
import { StandIn } from "./stand-in.js";
import { holdSupervision } from "./supervision.js";
import type { RankLink, StepMode, StepOptions, StepOutcome, Transport } from "./transport.js";
import { takeTurns } from "./turns.js";
import { controlWord, lookAgain, openStep, pendingRanks, planWord, poolWord, stepStatus } from "./words.js";

/** What the threads transport needs besides the ranks' setups. */
export interface ThreadOptions {
  /** How ranks' threads are made. */
  readonly thread: RankThread;
  /** The module that the supervisor's thread runs. */
  readonly supervisor: URL;
  /** Address of the pool's words. */
  readonly pool: number;
  /** Processors that this process may use. */
  readonly processors: number;
  /** Makes a rank in the calling thread, for the parts that it carries out itself. */
  readonly create: CreateRank;
  /** True if the device of a rank works in the shared heap, so that the calling thread may stand in for it. */
  readonly standIn: (rank: number) => boolean;
  /** Told when a rank's thread ends unasked, with the number of the task that it was in. */
  readonly onLost: (rank: number, reason: string, task: number) => void;
}

/** How long a rank that is told to give up has for it before it is ended, in milliseconds. */
const grace = 25;

/** A transport of one worker thread per rank. */
export function threads(setups: readonly RankSetup[], options: ThreadOptions): Transport {
  return new Threads(setups, options);
}

class Threads implements Transport {
  readonly kind = "threads";
  readonly lost = new Set<number>();
  readonly #options: ThreadOptions;
  readonly #memory: WebAssembly.Memory;
  readonly #words: Int32Array;
  readonly #held: ReturnType<typeof holdSupervision>;
  readonly #ranks: readonly RankClient[];
  readonly #standIns: readonly StandIn[];
  readonly #links: readonly RankLink[];
  /** Addresses of plans' words, to wake ranks that wait for one that is gone. */
  readonly #planWords = new Map<number, number>();

  constructor(setups: readonly RankSetup[], options: ThreadOptions) {
    this.#options = options;
    this.#memory = at(setups, 0).heap;
    this.#words = new Int32Array(this.#memory.buffer, options.pool, poolWord.count);
    this.#held = holdSupervision(options.supervisor);
    const own: RankClientOptions = {
      thread: options.thread,
      poolWords: this.#words,
      supervision: this.#held.supervision,
      onLost: (rank, reason, task) => {
        this.lost.add(rank);
        options.onLost(rank, reason, task);
      },
    };
    this.#ranks = setups.map((setup) => new RankClient(setup, own));
    this.#standIns = setups.map((setup) => new StandIn(setup, options.create));
    this.#links = this.#ranks.map((client, rank) => this.#linkOf(client, at(this.#standIns, rank)));
  }

  *start(): Task<void> {
    // All at once: each is sent its start before the first is waited for.
    yield* together(this.#ranks.map((client) => client.start()));
  }

  link(rank: number): RankLink {
    return at(this.#links, rank);
  }

  modes(ranks: readonly number[]): readonly StepMode[] {
    const { standIn } = this.#options;
    const [first] = ranks;
    if (first === undefined || !standIn(first)) return [];
    return ranks.every(standIn) ? ["joined", "inline"] : ["joined"];
  }

  *step(
    plan: number,
    numbers: readonly number[],
    { mode, until, reason }: StepOptions,
  ): Task<readonly StepOutcome[]> {
    const members = numbers.map((rank) => at(this.#ranks, rank));
    const owned = mode === "inline" ? members.length : mode === "joined" ? 1 : 0;
    const rest = members.slice(owned);
    const called = rest.filter((client) => client.alive);
    const outcomes = members.map((): StepOutcome => ({ kind: "aborted" }));
    const words = this.#words;
    const free = called.length < this.#options.processors;
    const spinning = free ? wakeTime : 0;
    Atomics.store(words, poolWord.planWords, this.#planWords.get(plan) ?? 0);
    if (called.length > 0) {
      // A rank that watched where every processor is taken would take the caller's.
      Atomics.store(words, poolWord.watch, free ? 1 : 0);
      openStep(words, called.length);
      for (const client of called) client.command(plan);
      Atomics.add(words, poolWord.attention, 1);
      Atomics.notify(words, poolWord.attention);
      // Who ended before the step was opened has bumped the word of the step before.
      if (called.some((client) => !client.alive)) lookAgain(words);
    }
    if (called.length < rest.length) this.#abandon(plan);
    const overrun = (): void => {
      this.#abandon(plan);
    };
    if (owned > 0) {
      const own = numbers.slice(0, owned).map((rank, i) => {
        const standIn = at(this.#standIns, rank);
        return {
          resumable: standIn.begin(plan),
          end: (failure?: { readonly error: unknown }) => {
            outcomes[i] =
              failure === undefined
                ? { kind: "done" }
                : failedOutcome(standIn.service, standIn.setup, plan, failure.error);
          },
        };
      });
      yield* takeTurns(own, (words, value) => this.#rung(words, value, spinning), until, overrun);
    }
    if (called.length > 0) {
      const ended = this.#stepEnd(called, spinning);
      if ((yield* answered(within(ended, until))) === late) {
        overrun();
        if ((yield* answered(within(ended, performance.now() + grace))) === late) {
          const kills = called.filter((client) => !client.finished).map((client) => client.kill(reason));
          yield* answered(ended);
          // A rank that was done after all ends nevertheless: not in the middle of the next call.
          yield* answered(all(kills));
        }
      }
    }
    for (let i = owned; i < members.length; i++) {
      const client = at(members, i);
      outcomes[i] = yield* outcomeOf(client, called.includes(client));
    }
    return outcomes;
  }

  *heal(rank: number): Task<void> {
    yield* at(this.#ranks, rank).start();
    this.lost.delete(rank);
  }

  kill(rank: number, reason: string): Reply<void> {
    return at(this.#ranks, rank).kill(reason);
  }

  *close(): Task<void> {
    yield* together(this.#ranks.map((client) => client.close()));
    const released = this.#held.release();
    yield* answered({
      get promise() {
        return released;
      },
      // The thread ends by itself once this one goes on.
      wait: () => undefined,
    });
  }

  #linkOf(client: RankClient, standIn: StandIn): RankLink {
    return {
      get info() {
        return client.info;
      },
      load: (part) => {
        this.#planWords.set(part.plan, part.words);
        standIn.load(part);
        return client.ask((control) => control.call("load", [part]));
      },
      place: (plan, workspace) => {
        standIn.place(plan, workspace);
        return client.ask((control) => control.call("place", [plan, workspace]));
      },
      unload: (plan) => {
        this.#planWords.delete(plan);
        standIn.unload(plan);
        return client.ask((control) => control.call("unload", [plan]));
      },
      evaluate: (job) => client.ask((control) => control.call("evaluate", [job])),
      cancel: (loop) => client.ask((control) => control.call("cancel", [loop])),
    };
  }

  /** Tells everybody who takes part in a step to give it up. */
  #abandon(plan: number): void {
    const address = this.#planWords.get(plan);
    if (address === undefined) return;
    const words = new Int32Array(
      freshBuffer(this.#memory, address + 4 * planWord.first),
      address,
      planWord.first,
    );
    Atomics.store(words, planWord.abort, 1);
    Atomics.add(words, planWord.bell, 1);
    Atomics.notify(words, planWord.bell);
  }

  /** The bell of a plan, rung since it was `value`. */
  #rung(words: Int32Array, value: number, spinning: number): Reply<void> {
    const rung = (): boolean => Atomics.load(words, planWord.bell) !== value;
    return {
      get promise() {
        return Promise.resolve(park(words, planWord.bell, value)).then(() => undefined);
      },
      wait: (until = Infinity) => {
        if (spin(rung, spinning)) return;
        return this.#held.supervision.mailbox.blockOn(words, planWord.bell, rung, until) ? undefined : late;
      },
    };
  }

  /** The end of a step on ranks: each is done with it, or has ended. */
  #stepEnd(called: readonly RankClient[], spinning: number): Reply<void> {
    const words = this.#words;
    const counted = (): boolean => pendingRanks(Atomics.load(words, poolWord.pending)) === 0;
    const ready = (): boolean => counted() || called.every((client) => client.finished || !client.alive);
    return {
      get promise() {
        return (async (): Promise<void> => {
          if (spin(counted, spinning)) return;
          const release = keepAlive();
          for (;;) {
            const value = Atomics.load(words, poolWord.pending);
            if (ready()) break;
            await park(words, poolWord.pending, value);
          }
          release();
        })();
      },
      wait: (until = Infinity) => {
        if (spin(counted, spinning)) return;
        const { mailbox } = this.#held.supervision;
        return mailbox.blockOn(words, poolWord.pending, ready, until) ? undefined : late;
      },
    };
  }
}

/** How a rank's part of a step ended that was called, or would have been. */
function* outcomeOf(client: RankClient, called: boolean): Task<StepOutcome> {
  const { words } = client.block;
  if (!called || !client.finished) {
    return { kind: "lost", reason: client.reason, task: client.lastTask };
  }
  switch (Atomics.load(words, controlWord.status)) {
    case stepStatus.done:
      return { kind: "done" };
    case stepStatus.aborted:
      return { kind: "aborted" };
    default: {
      const task = Atomics.exchange(words, controlWord.task, 0);
      let error: ErrorWire | undefined;
      try {
        error = yield* answered(client.ask((control) => control.call("failure", [])));
      } catch {
        // It threw, and then ended before it could say what.
      }
      return error === undefined
        ? { kind: "lost", task, reason: client.reason }
        : { kind: "failed", error, task };
    }
  }
}
