/**
 * The calling thread's side of the supervisor. All pools of a thread share one supervisor; it starts with the first of
 * them and ends with the last.
 */
import { MessageChannel, SHARE_ENV, Worker } from "node:worker_threads";
import { HeddleError } from "../base/errors.js";
import { Caller } from "./caller.js";
import type { RankEnded, SupervisorControl } from "./control.js";
import { Mailbox } from "./mailbox.js";
import type { Reply } from "./reply.js";

/** How long a supervisor may leave a ping unanswered, in milliseconds. */
const patience = 10_000;

function isEnded(notice: unknown): notice is RankEnded {
  return typeof notice === "object" && notice !== null && "ended" in notice;
}

export class Supervision {
  readonly mailbox: Mailbox;
  readonly control: Caller<SupervisorControl>;
  readonly #worker: Worker;
  /** Told when the thread of a rank ends, by the number that the supervisor knows it by. */
  readonly #ranks = new Map<number, (reason: string) => void>();
  #nextRank = 1;
  #lost = false;
  #ping: { readonly reply: Reply<void>; readonly since: number } | undefined;

  constructor(entry: URL) {
    this.mailbox = new Mailbox(() => this.#checkAlive());
    const { port1, port2 } = new MessageChannel();
    this.control = new Caller<SupervisorControl>(port1, this.mailbox, (notice) => {
      if (isEnded(notice)) this.#ranks.get(notice.ended)?.(notice.reason);
    });
    this.#worker = new Worker(entry, {
      workerData: { port: port2, mail: this.mailbox.word },
      transferList: [port2],
      // Ranks see the environment as it is when they start.
      env: SHARE_ENV,
      execArgv: [],
    });
    this.#worker.unref();
    this.#worker.once("error", (error: unknown) => this.#lose(String(error)));
    this.#worker.once("exit", () => this.#lose("its thread ended"));
  }

  /** A number for a new rank; `onEnd` is told whenever its thread ends. */
  enlist(onEnd: (reason: string) => void): number {
    const number = this.#nextRank++;
    this.#ranks.set(number, onEnd);
    return number;
  }

  dismiss(number: number): void {
    this.#ranks.delete(number);
  }

  /** Ends the thread. */
  async end(): Promise<void> {
    this.control.end(() => lostError("it was ended"));
    await this.#worker.terminate();
  }

  /** Called now and then while this thread blocks: nobody else would see the supervisor end. */
  #checkAlive(): void {
    this.mailbox.empty();
    if (this.#lost) return;
    const ping = this.#ping;
    if (ping?.reply.wait(0) === undefined) {
      this.#ping = { reply: this.control.call("ping", []), since: performance.now() };
    } else if (performance.now() - ping.since > patience) this.#lose("it does not answer");
  }

  #lose(reason: string): void {
    this.#lost = true;
    if (current?.supervision === this) current = undefined;
    this.control.end(() => lostError(reason));
    for (const onEnd of [...this.#ranks.values()]) onEnd(`the supervisor was lost: ${reason}`);
    this.#ranks.clear();
  }
}

function lostError(reason: string): HeddleError {
  return new HeddleError("HEDDLE_INTERNAL", {
    operation: "the supervisor thread",
    found: `lost: ${reason}`,
    remedy: "close the pool and make another",
  });
}

let current: { readonly supervision: Supervision; holders: number } | undefined;

/** The supervisor of this thread's pools, started if need be. Each holder releases it once. */
export function holdSupervision(entry: URL): {
  readonly supervision: Supervision;
  release(): Promise<void>;
} {
  current ??= { supervision: new Supervision(entry), holders: 0 };
  const held = current;
  held.holders++;
  return {
    supervision: held.supervision,
    release: async () => {
      if (--held.holders > 0) return;
      if (current === held) current = undefined;
      await held.supervision.end();
    },
  };
}
