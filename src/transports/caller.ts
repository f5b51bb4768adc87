/**
 * The calling side of a control channel. It speaks Comlink's messages to what the other side exposes, and hears the
 * answers in two ways: as events of the port, or, while the thread blocks, by emptying the port by hand whenever the
 * shared mail word is bumped. Every call settles: when the other side ends, what it had not answered is refused.
 */
import type { MessagePort, Transferable } from "node:worker_threads";
import { receiveMessageOnPort } from "node:worker_threads";
import type { Answer } from "./control.js";
import { valueOf } from "./control.js";
import { keepAlive } from "./keep-alive.js";
import type { Mailbox } from "./mailbox.js";
import type { Reply } from "./reply.js";
import { late } from "./reply.js";

type Settlement<T> = { readonly value: T } | { readonly error: unknown };

/** A call that may be answered. */
class Call<T> implements Reply<T> {
  readonly #mailbox: Mailbox;
  #settlement: Settlement<T> | undefined;
  #promise: Promise<T> | undefined;
  #resolve: ((settlement: Settlement<T>) => void) | undefined;

  constructor(mailbox: Mailbox) {
    this.#mailbox = mailbox;
  }

  get promise(): Promise<T> {
    this.#promise ??= this.#settled();
    return this.#promise;
  }

  wait(until = Infinity): T | typeof late {
    if (!this.#mailbox.block(() => this.#settlement !== undefined, until)) return late;
    return this.#open();
  }

  settle(settlement: Settlement<T>): void {
    this.#settlement ??= settlement;
    this.#resolve?.(this.#settlement);
  }

  async #settled(): Promise<T> {
    if (this.#settlement === undefined) {
      const release = keepAlive();
      await new Promise<Settlement<T>>((resolve) => (this.#resolve = resolve));
      release();
    }
    return this.#open();
  }

  #open(): T {
    const settlement = this.#settlement;
    if (settlement === undefined) throw new RangeError("a call was opened before it was settled");
    if ("error" in settlement) throw settlement.error;
    return settlement.value;
  }
}

/** What Comlink answers a call with. */
interface WireAnswer {
  readonly id: string;
  /** A plain value, or something that Comlink had to treat: an error that was thrown past the answer. */
  readonly type: "RAW" | "HANDLER";
  readonly value: unknown;
}

function isAnswer(message: unknown): message is WireAnswer {
  return typeof message === "object" && message !== null && "id" in message && "type" in message;
}

/** The methods of an exposed object that answer with `Answer`. */
type Method<C, K extends keyof C> = C[K] extends (...args: infer A) => Promise<Answer<infer T>>
  ? { readonly args: A; readonly value: T }
  : never;

/** Calls what another thread exposes on a port. */
export class Caller<C> {
  readonly #port: MessagePort;
  readonly #mailbox: Mailbox;
  readonly #calls = new Map<string, Call<unknown>>();
  readonly #onNotice: (notice: unknown) => void;
  #nextId = 1;
  #refusal: (() => Error) | undefined;

  /** `onNotice` is told of every message that answers no call. */
  constructor(port: MessagePort, mailbox: Mailbox, onNotice: (notice: unknown) => void = () => {}) {
    this.#port = port;
    this.#mailbox = mailbox;
    this.#onNotice = onNotice;
    port.on("message", (message: unknown) => this.#receive(message));
    port.unref();
    mailbox.add(this);
  }

  /** Calls a method; its answer, or the error that took its place, comes with the reply. */
  call<K extends keyof C & string>(
    method: K,
    args: Method<C, K>["args"],
    transfer: readonly Transferable[] = [],
  ): Reply<Method<C, K>["value"]> {
    const call = new Call<Method<C, K>["value"]>(this.#mailbox);
    if (this.#refusal !== undefined) {
      call.settle({ error: this.#refusal() });
      return call;
    }
    const id = String(this.#nextId++);
    const argumentList = (args as readonly unknown[]).map((value) => ({ type: "RAW", value })); // A tuple.
    this.#port.postMessage({ id, type: "APPLY", path: [method], argumentList }, [...transfer]);
    this.#calls.set(id, call); // It is settled with what the method answers.
    return call;
  }

  /** Takes all messages that have come, without waiting for the event loop to bring them. */
  empty(): void {
    for (;;) {
      const received = receiveMessageOnPort(this.#port) as { readonly message: unknown } | undefined;
      if (received === undefined) return;
      this.#receive(received.message);
    }
  }

  /** Refuses what was not answered, and every later call, with the error that `refusal` makes. */
  end(refusal: () => Error): void {
    if (this.#refusal !== undefined) return;
    this.empty();
    this.#refusal = refusal;
    this.#mailbox.remove(this);
    for (const call of this.#calls.values()) call.settle({ error: refusal() });
    this.#calls.clear();
    this.#port.close();
  }

  #receive(message: unknown): void {
    const call = isAnswer(message) ? this.#calls.get(message.id) : undefined;
    if (!isAnswer(message) || call === undefined) {
      this.#onNotice(message);
      return;
    }
    this.#calls.delete(message.id);
    try {
      if (message.type !== "RAW") throw new RangeError("the other side could not send its answer");
      call.settle({ value: valueOf(message.value as Answer<unknown>) }); // By the contract of `Method`.
    } catch (error) {
      call.settle({ error });
    }
  }
}
