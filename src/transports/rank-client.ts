/**
 * The calling thread's side of one rank, through as many lives as its thread has: its control channel, what its words say,
 * and how whoever waits for it is told when its thread ends.
 */
import { MessageChannel } from "node:worker_threads";
import { RankLostError } from "../base/errors.js";
import { freshBuffer } from "../heap/heap.js";
import { Caller } from "./caller.js";
import type { RankControl, RankThread } from "./control.js";
import type { Reply, Task } from "./reply.js";
import { all, answered, immediate, within } from "./reply.js";
import type { RankInfo, RankSetup } from "./service.js";
import type { Supervision } from "./supervision.js";
import type { ControlBlock } from "./words.js";
import { controlBlock, controlBytes, controlWord, holdNothing, lookAgain, poolWord } from "./words.js";

/** What a rank's client is told of its pool. */
export interface RankClientOptions {
  /** How the rank's thread is made. */
  readonly thread: RankThread;
  readonly poolWords: Int32Array;
  readonly supervision: Supervision;
  /** Told when the thread ends unasked, with the number of the task that it was in. */
  readonly onLost: (rank: number, reason: string, task: number) => void;
}

/** How long a notice may be on its way, in milliseconds; it takes microseconds. */
const noticeTime = 1000;

/** How long a rank has to close, in milliseconds. A rank in the middle of a body does not hear that it should. */
const closingTime = 250;

/** One rank, through as many lives as its thread has. */
export class RankClient {
  readonly setup: RankSetup;
  readonly block: ControlBlock;
  readonly #options: RankClientOptions;
  readonly #poolWords: Int32Array;
  readonly #supervision: Supervision;
  readonly #number: number;
  #control: Caller<RankControl> | undefined;
  #info: RankInfo | undefined;
  #reason: string | undefined = "it was not started";
  #closing = false;
  /** The task that the thread was in when it ended. */
  lastTask = 0;

  constructor(setup: RankSetup, options: RankClientOptions) {
    this.setup = setup;
    this.#options = options;
    this.#poolWords = options.poolWords;
    this.#supervision = options.supervision;
    this.block = controlBlock(freshBuffer(setup.heap, setup.control + controlBytes), setup.control);
    this.#number = this.#supervision.enlist((reason) => this.#end(reason));
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
    holdNothing(this.block.floats);
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

  /** Ends the thread; answers when it has ended. */
  kill(reason: string): Reply<void> {
    return this.#supervision.control.call("kill", [this.#number, reason]);
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
