/**
 * Ranks on worker threads. One Piscina with one thread per rank owns each thread: a rank has its own crash domain, and a
 * thread that ends is replaced. Steps go through shared words, everything else through the control channel. Whoever
 * waits for a rank is told when its thread ends.
 */
import { MessageChannel } from "node:worker_threads";
import type { MessagePort, Worker } from "node:worker_threads";
import type { Remote } from "comlink";
import { wrap } from "comlink";
import { Piscina } from "piscina";
import { at } from "../base/at.js";
import { RankLostError } from "../base/errors.js";
import { freshBuffer } from "../heap/heap.js";
import type { Answer, RankControl } from "./control.js";
import { endpointOf, valueOf } from "./control.js";
import { park, spin } from "./park.js";
import type { RankInfo, RankSetup } from "./service.js";
import type { RankLink, StepOutcome, Transport } from "./transport.js";
import type { ControlBlock } from "./words.js";
import { controlBlock, controlBytes, controlWord, planWord, stepStatus } from "./words.js";

/** What a rank's thread is started with. */
export interface ThreadStart {
  readonly setup: RankSetup;
  readonly port: MessagePort;
}

/** What the threads transport needs besides the ranks' setups. */
export interface ThreadOptions {
  /** The module that ranks run; it exports `start(task: ThreadStart): RankInfo`. */
  readonly entry: URL;
  /** Address of the word that counts ranks still at work in a step. */
  readonly pending: number;
  /** Milliseconds that main spins for a step's end before it parks. */
  readonly spin: number;
  /** Told when a rank's thread ends unasked, with the number of the task that it was in. */
  readonly onLost: (rank: number, reason: string, task: number) => void;
}

const flagsWithValue = /^(?:--import|--require|-r|--loader|--experimental-loader|--conditions|-C)$/;
const flags =
  /^(?:--import|--require|--loader|--experimental-loader|--conditions|--disable-warning)=|^--(?:enable-source-maps|preserve-symlinks|no-warnings|experimental-strip-types|experimental-transform-types)$/;

/**
 * The flags of this process that a rank takes over: those that say how modules are found and loaded. Others are the
 * whole process's already, or stop a worker from starting.
 */
export function workerFlags(execArgv: readonly string[]): string[] {
  return execArgv.filter((flag, i) => {
    const previous = i > 0 ? at(execArgv, i - 1) : "";
    return flags.test(flag) || flagsWithValue.test(flag) || flagsWithValue.test(previous);
  });
}

/** Keeps the process alive while somebody waits; shared words alone do not. */
class KeepAlive {
  #holders = 0;
  #timer: NodeJS.Timeout | undefined;

  hold(): void {
    if (this.#holders++ > 0) return;
    this.#timer ??= setInterval(() => {}, 2 ** 30);
    this.#timer.ref();
  }

  release(): void {
    if (--this.#holders === 0) this.#timer?.unref();
  }

  end(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** A pool of one thread, which replaces the thread when it ends. */
function makePool(entry: URL): Piscina<ThreadStart, RankInfo> {
  const pool = new Piscina<ThreadStart, RankInfo>({
    filename: entry.href,
    name: "start",
    minThreads: 1,
    maxThreads: 1,
    atomics: "disabled",
    execArgv: workerFlags(process.execArgv),
  });
  // An uncaught error of an idle thread; its exit follows and is what counts.
  pool.on("error", () => {});
  return pool;
}

/** One rank with its thread, through as many lives as it has. */
class RankThread {
  readonly setup: RankSetup;
  readonly block: ControlBlock;
  readonly #options: ThreadOptions;
  readonly #keepAlive: KeepAlive;
  #pool: Piscina<ThreadStart, RankInfo>;
  /** Told when the thread ends; each is dropped once it has been settled otherwise. */
  readonly #mourners = new Set<(reason: string) => void>();
  #control: Remote<RankControl> | undefined;
  #port: MessagePort | undefined;
  #reason: string | undefined = "it was not started";
  #closing = false;
  info: RankInfo | undefined;
  /** The task that the thread was in when it ended. */
  lastTask = 0;

  constructor(setup: RankSetup, options: ThreadOptions, keepAlive: KeepAlive) {
    this.setup = setup;
    this.#options = options;
    this.#keepAlive = keepAlive;
    this.block = controlBlock(freshBuffer(setup.heap, setup.control + controlBytes), setup.control);
    this.#pool = makePool(options.entry);
  }

  /** Why the thread does not run, or `undefined` if it does. */
  get reason(): string | undefined {
    return this.#reason;
  }

  /** Why the thread ended, or `otherwise`. */
  reasonOr(otherwise: string): string {
    return this.#reason ?? otherwise;
  }

  async start(): Promise<void> {
    if (this.#pool.threads.length === 0) {
      // A thread that ended before it was ready is not replaced by its pool.
      await this.#pool.destroy();
      this.#pool = makePool(this.#options.entry);
    }
    const [worker] = this.#pool.threads;
    if (worker === undefined) throw this.#lostError("its thread could not be started");
    this.#reason = undefined;
    this.#watch(worker);
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    const control = wrap<RankControl>(endpointOf(port1));
    port1.unref();
    this.#control = control;
    const task = { setup: this.setup, port: port2 };
    this.info = await this.#raced(() => this.#pool.run(task, { transferList: [port2] }));
  }

  /** Calls the rank; rejects when its thread ends before it answers. */
  async call<T>(ask: (control: Remote<RankControl>) => Promise<Answer<T>>): Promise<T> {
    return valueOf(
      await this.#raced(() => {
        if (this.#control === undefined) throw this.#lostError("it was not started");
        const asked = ask(this.#control);
        // An idle event loop reads its mail by itself, and one that blocks looks at the word before it does.
        Atomics.add(this.block.words, controlWord.attention, 1);
        if (Atomics.load(this.block.words, controlWord.blocked) !== 0) this.notify();
        return asked;
      }),
    );
  }

  /** Hands a step to the rank. */
  command(plan: number): void {
    const { words } = this.block;
    Atomics.store(words, controlWord.plan, plan);
    Atomics.add(words, controlWord.command, 1);
    Atomics.add(words, controlWord.attention, 1);
    this.notify();
  }

  /** Wakes the rank, whether it blocks or not. */
  notify(): void {
    Atomics.notify(this.block.words, controlWord.attention);
  }

  /** Runs `listener` when the thread ends; answers how to call that off. */
  onEnd(listener: (reason: string) => void): () => void {
    this.#mourners.add(listener);
    return () => this.#mourners.delete(listener);
  }

  async close(): Promise<void> {
    this.#closing = true;
    if (this.#reason === undefined) {
      // A rank that is in the middle of a body does not hear this, and its thread is ended all the same.
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise((resolve) => (timer = setTimeout(resolve, 250)));
      await Promise.race([this.call((control) => control.close()).catch(() => {}), late]);
      clearTimeout(timer);
    }
    await this.#pool.destroy();
    this.#port?.close();
  }

  #lostError(reason: string): RankLostError {
    return new RankLostError({
      operation: `a call to rank ${this.setup.rank}`,
      found: `the rank was lost: ${reason}`,
      rank: this.setup.rank,
    });
  }

  #raced<T>(ask: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#reason !== undefined) {
        reject(this.#lostError(this.#reason));
        return;
      }
      this.#keepAlive.hold();
      const settled = (): void => {
        callOff();
        this.#keepAlive.release();
      };
      const callOff = this.onEnd((reason) => {
        settled();
        reject(this.#lostError(reason));
      });
      ask().then(
        (value) => {
          settled();
          resolve(value);
        },
        (error: unknown) => {
          if (this.#reason !== undefined) return;
          settled();
          reject(error instanceof Error ? error : new Error(String(error)));
        },
      );
    });
  }

  #watch(worker: Worker): void {
    let failure: string | undefined;
    worker.once("error", (error: unknown) => {
      failure = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    });
    worker.once("exit", (code) => {
      this.#reason = failure ?? `its thread ended with exit code ${code}`;
      this.#port?.close();
      this.#control = undefined;
      this.lastTask = Atomics.exchange(this.block.words, controlWord.task, 0);
      if (!this.#closing) this.#options.onLost(this.setup.rank, this.#reason, this.lastTask);
      for (const mourner of [...this.#mourners]) mourner(this.#reason);
      this.#mourners.clear();
    });
  }
}

/** A transport of one worker thread per rank. */
export function threads(setups: readonly RankSetup[], options: ThreadOptions): Transport {
  const keepAlive = new KeepAlive();
  const lost = new Set<number>();
  const ranks = setups.map(
    (setup) =>
      new RankThread(
        setup,
        {
          ...options,
          onLost: (rank, reason, task) => {
            lost.add(rank);
            options.onLost(rank, reason, task);
          },
        },
        keepAlive,
      ),
  );
  /** Addresses of plans' words, to wake ranks that wait for one that is gone. */
  const planWords = new Map<number, number>();
  const pending = new Int32Array(at(setups, 0).heap.buffer, options.pending, 1);

  const abandon = (plan: number): void => {
    const address = planWords.get(plan);
    if (address === undefined) return;
    const words = new Int32Array(
      freshBuffer(at(setups, 0).heap, address + 4 * planWord.first),
      address,
      planWord.first,
    );
    Atomics.store(words, planWord.abort, 1);
    Atomics.add(words, planWord.bell, 1);
    Atomics.notify(words, planWord.bell);
  };

  const links = ranks.map((thread): RankLink => ({
    get info() {
      const { info } = thread;
      if (info === undefined) throw new RangeError("the rank was never started");
      return info;
    },
    load: (part) => {
      planWords.set(part.plan, part.words);
      return thread.call((control) => control.load(part));
    },
    place: (plan, workspace) => thread.call((control) => control.place(plan, workspace)),
    unload: (plan) => {
      planWords.delete(plan);
      return thread.call((control) => control.unload(plan));
    },
    evaluate: (job) => thread.call((control) => control.evaluate(job)),
    cancel: (loop) => thread.call((control) => control.cancel(loop)),
  }));

  const step = async (plan: number, numbers: readonly number[]): Promise<readonly StepOutcome[]> => {
    const all = numbers.map((rank) => at(ranks, rank));
    const called = all.filter((thread) => thread.reason === undefined);
    keepAlive.hold();
    let wake: (() => void) | undefined;
    const callOffs = called.map((thread) =>
      thread.onEnd(() => {
        // The others wait for what will not come, and main for a rank that will not count itself off.
        abandon(plan);
        if (!finished(thread)) Atomics.sub(pending, 0, 1);
        wake?.();
      }),
    );
    try {
      Atomics.store(pending, 0, called.length);
      for (const thread of called) thread.command(plan);
      if (called.length < all.length) abandon(plan);
      if (!spin(() => Atomics.load(pending, 0) === 0, options.spin)) {
        for (;;) {
          const value = Atomics.load(pending, 0);
          if (value === 0 || called.every((thread) => thread.reason !== undefined || finished(thread))) break;
          const ended = new Promise<void>((resolve) => (wake = resolve));
          const rung = park(pending, 0, value);
          if (rung !== undefined) await Promise.race([rung, ended]);
          Atomics.notify(pending, 0);
        }
      }
    } finally {
      for (const callOff of callOffs) callOff();
      keepAlive.release();
    }
    return Promise.all(all.map((thread) => outcomeOf(thread, called.includes(thread))));
  };

  const finished = (thread: RankThread): boolean => {
    const { words } = thread.block;
    return Atomics.load(words, controlWord.outcome) === Atomics.load(words, controlWord.command);
  };

  const outcomeOf = async (thread: RankThread, called: boolean): Promise<StepOutcome> => {
    const { words } = thread.block;
    if (!called || !finished(thread)) {
      return { kind: "lost", task: thread.lastTask, reason: thread.reasonOr("its thread ended") };
    }
    switch (Atomics.load(words, controlWord.status)) {
      case stepStatus.done:
        return { kind: "done" };
      case stepStatus.aborted:
        return { kind: "aborted" };
      default: {
        const task = Atomics.exchange(words, controlWord.task, 0);
        try {
          const error = await thread.call((control) => control.failure());
          if (error !== undefined) return { kind: "failed", error, task };
        } catch {
          // It threw, and then ended before it could say what.
        }
        return { kind: "lost", task, reason: thread.reasonOr("it failed and did not say how") };
      }
    }
  };

  return {
    kind: "threads",
    lost,
    start: async () => {
      const started = await Promise.allSettled(ranks.map((thread) => thread.start()));
      for (const result of started) if (result.status === "rejected") throw result.reason as Error;
    },
    link: (rank) => at(links, rank),
    step,
    heal: async (rank) => {
      const thread = at(ranks, rank);
      Atomics.store(
        thread.block.words,
        controlWord.outcome,
        Atomics.load(thread.block.words, controlWord.command),
      );
      await thread.start();
      lost.delete(rank);
    },
    close: async () => {
      await Promise.all(ranks.map((thread) => thread.close()));
      keepAlive.end();
    },
  };
}
