/**
 * Ranks on worker threads that the supervisor owns. Steps go through shared words, everything else through each rank's
 * control channel; a caller may await or block. Whoever waits for a rank is told when its thread ends.
 *
 * The calling thread can carry out a rank's part of a step itself, in the same memory and by the same programs: that of
 * the first rank while the others do theirs, or all parts of a step that is too small to be worth a wake.
 */
import { MessageChannel } from "node:worker_threads";
import { at } from "../base/at.js";
import { RankLostError } from "../base/errors.js";
import type { ErrorWire } from "../closure/error-wire.js";
import { freshBuffer } from "../heap/heap.js";
import { Caller } from "./caller.js";
import type { RankControl, RankThread } from "./control.js";
import type { CreateRank } from "./in-process.js";
import { failedOutcome } from "./in-process.js";
import { keepAlive } from "./keep-alive.js";
import { park, spin } from "./park.js";
import type { Reply, Task } from "./reply.js";
import { all, answered, immediate, late, together, within } from "./reply.js";
import type { PlanPart, RankInfo, RankService, RankSetup, Resumable } from "./service.js";
import type { Supervision } from "./supervision.js";
import { holdSupervision } from "./supervision.js";
import type { RankLink, StepMode, StepOptions, StepOutcome, Transport } from "./transport.js";
import { takeTurns } from "./turns.js";
import type { ControlBlock } from "./words.js";
import {
  controlBlock,
  controlBytes,
  controlWord,
  lookAgain,
  openStep,
  pendingRanks,
  planWord,
  poolWord,
  stepStatus,
} from "./words.js";

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

/** How long whoever waits for the next step or for its end watches the words before it blocks, in microseconds. */
const spinTime = 100;

/** How long a rank that is told to give up has for it before it is ended, in milliseconds. */
const grace = 25;

/** How long a notice may be on its way, in milliseconds; it takes microseconds. */
const noticeTime = 1000;

/** How long a rank has to close, in milliseconds. A rank in the middle of a body does not hear that it should. */
const closingTime = 250;

/** One rank, through as many lives as its thread has. */
class RankClient {
  readonly setup: RankSetup;
  readonly block: ControlBlock;
  readonly #options: ThreadOptions;
  readonly #poolWords: Int32Array;
  readonly #supervision: Supervision;
  readonly #number: number;
  #control: Caller<RankControl> | undefined;
  #info: RankInfo | undefined;
  #reason: string | undefined = "it was not started";
  #closing = false;
  /** The task that the thread was in when it ended. */
  lastTask = 0;

  constructor(setup: RankSetup, options: ThreadOptions, poolWords: Int32Array, supervision: Supervision) {
    this.setup = setup;
    this.#options = options;
    this.#poolWords = poolWords;
    this.#supervision = supervision;
    this.block = controlBlock(freshBuffer(setup.heap, setup.control + controlBytes), setup.control);
    this.#number = supervision.enlist((reason) => this.#end(reason));
  }

  get info(): RankInfo {
    if (this.#info === undefined) throw new RangeError("the rank was never started");
    return this.#info;
  }

  /** True if the thread runs. What the words say is known before its reason is. */
  get alive(): boolean {
    return this.#reason === undefined && Atomics.load(this.block.words, controlWord.ended) === 0;
  }

  /** Why the thread does not run. */
  get reason(): string {
    this.#hear();
    return this.#reason ?? "its thread ended";
  }

  /** Waits for the notice that follows when the words say that the thread has ended. */
  #hear(): void {
    if (this.#reason !== undefined || this.alive) return;
    this.#supervision.mailbox.block(() => this.#reason !== undefined, performance.now() + noticeTime);
  }

  /** True once the rank is done with what it was last commanded. */
  get finished(): boolean {
    const { words } = this.block;
    return Atomics.load(words, controlWord.outcome) === Atomics.load(words, controlWord.command);
  }

  *start(): Task<void> {
    const { words } = this.block;
    Atomics.store(words, controlWord.ended, 0);
    Atomics.store(words, controlWord.outcome, Atomics.load(words, controlWord.command));
    const { port1, port2 } = new MessageChannel();
    const { mailbox, control } = this.#supervision;
    this.#reason = undefined;
    this.#control = new Caller<RankControl>(port1, mailbox);
    const start = { setup: this.setup, port: port2, mail: mailbox.word };
    try {
      this.#info = yield* answered(
        control.call("start", [this.#number, start, this.#options.thread], [port2]),
      );
    } catch (error) {
      this.#end(error instanceof Error ? error.message.replace(/^.*?was lost: /, "") : String(error));
      throw error;
    }
  }

  /** Calls the rank. */
  ask<T>(ask: (control: Caller<RankControl>) => Reply<T>): Reply<T> {
    this.#hear();
    const control = this.#control;
    if (control === undefined) {
      return immediate((): T => {
        throw this.#lostError();
      });
    }
    const reply = ask(control);
    // An idle event loop reads its mail by itself, and one that blocks looks at the word before it does.
    Atomics.add(this.#poolWords, poolWord.attention, 1);
    if (Atomics.load(this.block.words, controlWord.blocked) !== 0) {
      Atomics.notify(this.#poolWords, poolWord.attention);
    }
    return reply;
  }

  /** Hands a step to the rank, which hears of it with the next bump of the pool's attention. */
  command(plan: number): void {
    const { words } = this.block;
    Atomics.store(words, controlWord.plan, plan);
    Atomics.add(words, controlWord.command, 1);
  }

  kill(reason: string): void {
    this.#supervision.control.call("kill", [this.#number, reason]);
  }

  *close(): Task<void> {
    this.#closing = true;
    if (this.alive) {
      const closed = this.ask((control) => control.call("close", []));
      yield* answered(all([within(closed, performance.now() + closingTime)]));
    }
    yield* answered(all([this.#supervision.control.call("end", [this.#number])]));
    this.#supervision.dismiss(this.#number);
    this.#end("it was closed");
  }

  #lostError(): RankLostError {
    return new RankLostError({
      operation: `a call to rank ${this.setup.rank}`,
      found: `the rank was lost: ${this.#reason ?? "its thread ended"}`,
      rank: this.setup.rank,
    });
  }

  #end(reason: string): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.lastTask = Atomics.exchange(this.block.words, controlWord.task, 0);
    // Where the supervisor itself was lost, nobody else says so.
    Atomics.store(this.block.words, controlWord.ended, 1);
    lookAgain(this.#poolWords);
    this.#control?.end(() => this.#lostError());
    this.#control = undefined;
    if (!this.#closing) this.#options.onLost(this.setup.rank, reason, this.lastTask);
  }
}

/** What the calling thread needs to carry out a rank's part itself. */
class StandIn {
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
      this.service.load(known.part);
      this.service.place(plan, known.workspace);
      this.#ready.add(plan);
    }
    return this.service.begin(plan);
  }
}

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
    const own: ThreadOptions = {
      ...options,
      onLost: (rank, reason, task) => {
        this.lost.add(rank);
        options.onLost(rank, reason, task);
      },
    };
    this.#ranks = setups.map((setup) => new RankClient(setup, own, this.#words, this.#held.supervision));
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
    const spinning = called.length < this.#options.processors ? spinTime : 0;
    Atomics.store(words, poolWord.planWords, this.#planWords.get(plan) ?? 0);
    if (called.length > 0) {
      Atomics.store(words, poolWord.spin, spinning);
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
          for (const client of called) if (!client.finished) client.kill(reason);
          yield* answered(ended);
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

  kill(rank: number, reason: string): void {
    at(this.#ranks, rank).kill(reason);
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
        if (spin(rung, spinning / 1000)) return;
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
          if (spin(counted, spinning / 1000)) return;
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
        if (spin(counted, spinning / 1000)) return;
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
