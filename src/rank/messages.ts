/**
 * Calls between a rank and its own process, both ways: numbered requests and answers over the channel that Node gives a
 * child, in order. Bytes are copied.
 */
import { HeddleError } from "../base/errors.js";
import type { ErrorWire } from "../closure/error-wire.js";
import { errorFromWire, errorToWire } from "../closure/error-wire.js";

interface Request {
  readonly request: number;
  readonly method: string;
  readonly argument: unknown;
}
interface Answer {
  readonly answer: number;
  readonly value?: unknown;
  readonly error?: ErrorWire;
}

/** True for what the other end means for this one: a body may send what it likes on the same channel. */
function isMessage(message: unknown): message is Request | Answer {
  if (typeof message !== "object" || message === null) return false;
  const { request, method, answer } = message as Record<string, unknown>; // Any object.
  return typeof answer === "number" || (typeof request === "number" && typeof method === "string");
}

/** What handles requests, by method. */
export type Handlers = Readonly<Record<string, (argument: never) => unknown>>;

/** One end of the channel. */
export class Messages {
  readonly #send: (message: Request | Answer) => void;
  readonly #handlers: Handlers;
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: unknown): void }>();
  #next = 1;

  constructor(send: (message: unknown) => void, handlers: Handlers) {
    this.#send = send;
    this.#handlers = handlers;
  }

  /** Asks the other end; what a method takes and gives is agreed between `process-device.ts` and `child.ts`. */
  ask<T>(method: string, argument?: unknown): Promise<T> {
    const request = this.#next++;
    const answered = new Promise<unknown>((resolve, reject) => {
      this.#waiting.set(request, { resolve, reject });
    });
    this.#send({ request, method, argument });
    return answered as Promise<T>; // By that agreement.
  }

  /** Tells the other end; nobody hears how it went. */
  tell(method: string, argument?: unknown): void {
    this.#send({ request: 0, method, argument });
  }

  /** Takes a message of the other end, and leaves alone what is none. */
  receive(message: unknown): void {
    if (!isMessage(message)) return;
    if ("answer" in message) {
      const waiting = this.#waiting.get(message.answer);
      this.#waiting.delete(message.answer);
      if (message.error === undefined) waiting?.resolve(message.value);
      else waiting?.reject(errorFromWire(message.error));
      return;
    }
    const { request, method, argument } = message;
    try {
      const handler = Object.hasOwn(this.#handlers, method) ? this.#handlers[method] : undefined;
      if (handler === undefined) throw new HeddleError("HEDDLE_INTERNAL", `no handler of ${method}`);
      const result = handler(argument as never); // Each handler checks nothing: both ends are heddle's.
      if (!(result instanceof Promise)) this.#answer(request, { value: result });
      else {
        result.then(
          (value: unknown) => this.#answer(request, { value }),
          (error: unknown) => this.#answer(request, { error: errorToWire(error) }),
        );
      }
    } catch (error) {
      this.#answer(request, { error: errorToWire(error) });
    }
  }

  #answer(request: number, outcome: { readonly value?: unknown; readonly error?: ErrorWire }): void {
    if (request !== 0) this.#send({ answer: request, ...outcome });
  }
}
