/**
 * The typed control channels: what main may ask of a rank and of the supervisor, through Comlink over a message port,
 * for what is rare and small. Answers carry errors as data, because what is thrown through Comlink loses its class,
 * cause and properties.
 */
import type { MessagePort, Transferable } from "node:worker_threads";
import type { Endpoint } from "comlink";
import type { ErrorWire } from "../closure/error-wire.js";
import { errorFromWire, errorToWire } from "../closure/error-wire.js";
import type { LoopJob, LoopReply } from "../closure/job.js";
import type { Loaded, PlanPart, RankInfo, RankSetup } from "./service.js";

/** A result, or the error that took its place. */
export type Answer<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: ErrorWire };

/** What main may ask of a rank. */
export interface RankControl {
  load(part: PlanPart): Promise<Answer<Loaded>>;
  place(plan: number, workspace: number): Promise<Answer<void>>;
  unload(plan: number): Promise<Answer<void>>;
  evaluate(job: LoopJob): Promise<Answer<LoopReply>>;
  cancel(loop: number): Promise<Answer<void>>;
  /** The error of the step that failed last. */
  failure(): Promise<Answer<ErrorWire | undefined>>;
  close(): Promise<Answer<void>>;
}

/** What a rank's thread is started with. */
export interface RankStart {
  readonly setup: RankSetup;
  readonly port: MessagePort;
  /** One word, bumped after each message to main. */
  readonly mail: Int32Array;
}

/** How the supervisor makes a rank's thread. */
export interface RankThread {
  /** The module that the thread runs; it exports `start(task: RankStart): RankInfo`. */
  readonly entry: string;
  readonly execArgv: readonly string[];
  /** Bytes of JavaScript objects that it may keep. */
  readonly scriptHeap?: number;
}

/** How the error begins with which a rank's thread ends because its process did. */
export const processEnded = "its process ended";

/** What main may ask of the supervisor. Ranks have numbers that no other rank of the process has. */
export interface SupervisorControl {
  /** Starts a rank's thread, or starts it anew. */
  start(rank: number, start: RankStart, thread: RankThread): Promise<Answer<RankInfo>>;
  /** Ends the thread of a rank that does not answer; `reason` is what those who wait for it are told. */
  kill(rank: number, reason: string): Promise<Answer<void>>;
  /** Ends a rank for good. */
  end(rank: number): Promise<Answer<void>>;
  /** Shows that the supervisor is there. */
  ping(): Promise<Answer<void>>;
}

/** What the supervisor tells main unasked. */
export interface RankEnded {
  readonly ended: number;
  readonly reason: string;
}

/** Runs `task`; its error becomes part of the answer. */
export async function answer<T>(task: () => T | Promise<T>): Promise<Answer<T>> {
  try {
    return { ok: true, value: await task() };
  } catch (error) {
    return { ok: false, error: errorToWire(error) };
  }
}

/** The value of an answer; throws its error, put together again. */
export function valueOf<T>(result: Answer<T>): T {
  if (result.ok) return result.value;
  throw errorFromWire(result.error) as Error; // Whatever was thrown on the other side.
}

/** What Comlink listens with; it reads nothing of an event but its data. */
type Listener =
  ((event: { readonly data: unknown }) => void) | { handleEvent(event: { readonly data: unknown }): void };

/** A Node message port as the endpoint that Comlink expects; `posted` is called after each message. */
export function endpointOf(port: MessagePort, posted: () => void): Endpoint {
  const listeners = new Map<Listener, (data: unknown) => void>();
  const endpoint = {
    postMessage: (message: unknown, transfer?: readonly Transferable[]) => {
      port.postMessage(message, transfer);
      posted();
    },
    addEventListener: (_type: string, listener: Listener) => {
      const deliver = (data: unknown): void => {
        if (typeof listener === "function") listener({ data });
        else listener.handleEvent({ data });
      };
      listeners.set(listener, deliver);
      port.on("message", deliver);
    },
    removeEventListener: (_type: string, listener: Listener) => {
      const deliver = listeners.get(listener);
      if (deliver !== undefined) port.off("message", deliver);
      listeners.delete(listener);
    },
    start: () => port.start(),
  };
  return endpoint; // Declared with the browser's event types, which this project does not load.
}
