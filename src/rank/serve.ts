/**
 * A rank in its own thread: it answers the control channel, and steps plans when main bumps its command word. Between
 * steps it spins for a moment and then parks; its event loop stays free, so that it always hears the control channel.
 */
import { threadId } from "node:worker_threads";
import { expose } from "comlink";
import type { ErrorWire } from "../closure/error-wire.js";
import { errorToWire } from "../closure/error-wire.js";
import { freshBuffer } from "../heap/heap.js";
import type { RankControl } from "../transports/control.js";
import { answer, endpointOf } from "../transports/control.js";
import { park, spin } from "../transports/park.js";
import type { RankInfo, Resumable } from "../transports/service.js";
import { StepAborted } from "../transports/service.js";
import type { ThreadStart } from "../transports/threads.js";
import { controlBlock, controlBytes, controlWord, planWord, stepStatus } from "../transports/words.js";
import { RankMachine } from "./machine.js";
import { becomeRankThread } from "./thread.js";

/** Carries a step to its end, awaiting whatever it waits for. */
async function drive(resumable: Resumable, spinning: number): Promise<void> {
  for (;;) {
    const waiting = resumable.step();
    if (waiting === undefined) return;
    if (waiting.on === "device") {
      await waiting.promise;
      continue;
    }
    const { words, value } = waiting;
    if (spin(() => Atomics.load(words, planWord.bell) !== value, spinning)) continue;
    await park(words, planWord.bell, value);
  }
}

/**
 * Starts the rank of this thread, which serves until it is ended. `loadLibrary` is called before the first loop body
 * runs: it makes heddle's exports and codecs known.
 */
export function serveRank({ setup, port }: ThreadStart, loadLibrary: () => Promise<void>): RankInfo {
  becomeRankThread();
  const machine = new RankMachine(setup, threadId);
  const { words } = controlBlock(freshBuffer(setup.heap, setup.control + controlBytes), setup.control);
  const pending = new Int32Array(freshBuffer(setup.heap, setup.pending + 4), setup.pending, 1);
  let failure: ErrorWire | undefined;
  let library: Promise<void> | undefined;
  let closed = false;

  const control: RankControl = {
    load: (part) => answer(() => machine.load(part)),
    place: (plan, workspace) => answer(() => machine.place(plan, workspace)),
    unload: (plan) => answer(() => machine.unload(plan)),
    evaluate: (job) =>
      answer(async () => {
        await (library ??= loadLibrary());
        return machine.evaluate(job);
      }),
    cancel: (loop) => answer(() => machine.cancel(loop)),
    failure: () => answer(() => failure),
    close: () =>
      answer(() => {
        closed = true;
        return machine.close();
      }),
  };
  expose(control, endpointOf(port));

  const step = async (): Promise<void> => {
    const plan = Atomics.load(words, controlWord.plan);
    let status: number = stepStatus.done;
    try {
      await drive(machine.begin(plan), setup.spin);
    } catch (error) {
      status = error instanceof StepAborted ? stepStatus.aborted : stepStatus.failed;
      if (status === stepStatus.failed) {
        failure = errorToWire(error);
        machine.abandon(plan);
      }
    }
    Atomics.store(words, controlWord.status, status);
  };

  const serve = async (): Promise<void> => {
    let seen = Atomics.load(words, controlWord.outcome);
    const called = (): boolean => Atomics.load(words, controlWord.command) !== seen;
    while (!closed) {
      if (!spin(called, setup.spin)) await park(words, controlWord.command, seen);
      if (!called()) continue;
      seen = Atomics.load(words, controlWord.command);
      await step();
      Atomics.store(words, controlWord.outcome, seen);
      if (Atomics.sub(pending, 0, 1) === 1) Atomics.notify(pending, 0);
    }
  };
  void serve();
  return machine.hello();
}
