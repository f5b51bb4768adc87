/**
 * The supervisor: one small thread that owns the ranks' threads. It never computes and never blocks, so it sees a rank
 * end also while main blocks; it writes that down in shared words, wakes whoever waits for the rank, and tells main why.
 * One Piscina with one thread per rank owns each thread: a rank has its own crash domain, and a thread that ends is
 * replaced.
 */
import type { MessagePort, Worker } from "node:worker_threads";
import { expose } from "comlink";
import { Piscina } from "piscina";
import { RankLostError } from "../base/errors.js";
import { freshBuffer } from "../heap/heap.js";
import type { RankEnded, RankStart, RankThread, SupervisorControl } from "./control.js";
import { answer, endpointOf, processEnded } from "./control.js";
import { ringMailbox } from "./mailbox.js";
import type { RankInfo, RankSetup } from "./service.js";
import { controlBlock, controlBytes, controlWord, lookAgain, planWord, poolWord } from "./words.js";

/** What the supervisor's thread is started with. */
export interface SupervisorStart {
  readonly port: MessagePort;
  /** One word, bumped after each message to main. */
  readonly mail: Int32Array;
}

/**
 * Megabytes of new objects on a rank whose memory is bounded. An engine that finds its heap full allows some megabytes more
 * until the thread ends; where as much were to grow old at once, it would end the process instead.
 */
const young = 12;

/** A pool of one thread, which replaces the thread when it ends. */
function makePool({ entry, execArgv, scriptHeap }: RankThread): Piscina<RankStart, RankInfo> {
  const pool = new Piscina<RankStart, RankInfo>({
    filename: entry,
    name: "start",
    minThreads: 1,
    maxThreads: 1,
    atomics: "disabled",
    execArgv: [...execArgv],
    ...(scriptHeap === undefined
      ? {}
      : {
          resourceLimits: {
            maxOldGenerationSizeMb: Math.ceil(scriptHeap / 2 ** 20),
            maxYoungGenerationSizeMb: young,
          },
        }),
  });
  // An uncaught error of an idle thread; its exit follows and is what counts.
  pool.on("error", () => {});
  return pool;
}

/** Writes down that a rank's thread has ended, and wakes whoever waits for it. */
function tellWords({ heap, control, pool }: RankSetup): void {
  const { words } = controlBlock(freshBuffer(heap, control + controlBytes), control);
  const poolWords = new Int32Array(heap.buffer, pool, poolWord.count);
  const inStep = Atomics.load(words, controlWord.command) !== Atomics.load(words, controlWord.outcome);
  Atomics.store(words, controlWord.ended, 1);
  const plan = Atomics.load(poolWords, poolWord.planWords);
  if (inStep && plan !== 0) {
    // The other ranks of the step wait for what will not come.
    const planWords = new Int32Array(freshBuffer(heap, plan + 4 * planWord.first), plan, planWord.first);
    Atomics.store(planWords, planWord.abort, 1);
    Atomics.add(planWords, planWord.bell, 1);
    Atomics.notify(planWords, planWord.bell);
  }
  lookAgain(poolWords);
}

/** One rank with its thread, through as many lives as it has. */
class SupervisedRank {
  readonly #thread: RankThread;
  readonly #onEnd: (reason: string, setup: RankSetup) => void;
  #pool: Piscina<RankStart, RankInfo>;
  #ended: ((reason: string) => void) | undefined;
  #killed: string | undefined;
  #closing = false;

  constructor(thread: RankThread, onEnd: (reason: string, setup: RankSetup) => void) {
    this.#thread = thread;
    this.#onEnd = onEnd;
    this.#pool = makePool(thread);
  }

  async start(start: RankStart): Promise<RankInfo> {
    if (this.#pool.threads.length === 0) {
      // A thread that ended before it was ready is not replaced by its pool.
      await this.#pool.destroy();
      this.#pool = makePool(this.#thread);
    }
    const [worker] = this.#pool.threads;
    const lost = (reason: string): RankLostError =>
      new RankLostError({
        operation: `starting rank ${start.setup.rank}`,
        found: `the rank was lost: ${reason}`,
        rank: start.setup.rank,
      });
    if (worker === undefined) throw lost("its thread could not be started");
    this.#killed = undefined;
    return new Promise<RankInfo>((resolve, reject) => {
      this.#ended = (reason) => reject(lost(reason));
      this.#watch(worker, start.setup);
      this.#pool.run(start, { transferList: [start.port] }).then(resolve, (error: unknown) => {
        // Where the thread has ended, its exit says why.
        if (this.#ended !== undefined) reject(error instanceof Error ? error : new Error(String(error)));
      });
    });
  }

  async kill(reason: string): Promise<void> {
    this.#killed = reason;
    await this.#pool.threads[0]?.terminate();
  }

  async end(): Promise<void> {
    this.#closing = true;
    await this.#pool.destroy();
  }

  #watch(worker: Worker, setup: RankSetup): void {
    let failure: string | undefined;
    worker.once("error", (error: unknown) => {
      // A rank whose process has ended says so by an error of its own.
      if (error instanceof Error && error.message.startsWith(processEnded)) failure = error.message;
      else failure = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    });
    worker.once("exit", (code) => {
      const reason = this.#killed ?? failure ?? `its thread ended with exit code ${code}`;
      const ended = this.#ended;
      this.#ended = undefined;
      ended?.(reason);
      if (!this.#closing) this.#onEnd(reason, setup);
    });
  }
}

/** Serves as the supervisor of this thread, until the thread is ended. */
export function supervise({ port, mail }: SupervisorStart): void {
  const ranks = new Map<number, SupervisedRank>();
  const ring = (): void => ringMailbox(mail);
  const control: SupervisorControl = {
    start: (number, start, thread) =>
      answer(() => {
        let rank = ranks.get(number);
        if (rank === undefined) {
          rank = new SupervisedRank(thread, (reason, setup) => {
            // The words first: main starts the rank anew when it has read the notice, and clears them.
            tellWords(setup);
            const notice: RankEnded = { ended: number, reason };
            port.postMessage(notice);
            ring();
          });
          ranks.set(number, rank);
        }
        return rank.start(start);
      }),
    kill: (number, reason) => answer(() => ranks.get(number)?.kill(reason)),
    end: (number) =>
      answer(async () => {
        const rank = ranks.get(number);
        ranks.delete(number);
        await rank?.end();
      }),
    ping: () => answer(() => {}),
  };
  expose(control, endpointOf(port, ring));
}
