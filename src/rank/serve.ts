/**
 * A rank in its own thread: it answers the control channel, and steps plans when main bumps its command word. After a
 * step it spins for a moment, then blocks for a few milliseconds, then parks with its event loop free. Whoever sends mail
 * on the control channel rings for attention too, so that a rank that blocks reads it at once.
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

/** How long a rank blocks its event loop after a step, in milliseconds, before it parks without blocking. */
const blocking = 4;

/** How long steps may follow each other, in milliseconds, before the event loop has a turn. */
const patience = 20;

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

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
  /** Loops under way; their bodies may wait for timers and messages. */
  let evaluating = 0;
  let closed = false;

  const control: RankControl = {
    load: (part) => answer(() => machine.load(part)),
    place: (plan, workspace) => answer(() => machine.place(plan, workspace)),
    unload: (plan) => answer(() => machine.unload(plan)),
    evaluate: (job) =>
      answer(async () => {
        evaluating++;
        try {
          await (library ??= loadLibrary());
          return await machine.evaluate(job);
        } finally {
          evaluating--;
        }
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
    let turned = performance.now();
    /** True after a step: the next one is likely to follow soon, and nothing else is going on. */
    let warm = false;
    while (!closed) {
      const attention = Atomics.load(words, controlWord.attention);
      if (Atomics.load(words, controlWord.command) !== seen) {
        seen = Atomics.load(words, controlWord.command);
        await step();
        Atomics.store(words, controlWord.outcome, seen);
        if (Atomics.sub(pending, 0, 1) === 1) Atomics.notify(pending, 0);
        warm = true;
        continue;
      }
      const asked = (): boolean => Atomics.load(words, controlWord.attention) !== attention;
      if (spin(asked, setup.spin)) {
        // A step, or mail on the control channel, which is only read in a turn of the event loop.
        if (Atomics.load(words, controlWord.command) !== seen && performance.now() - turned < patience)
          continue;
      } else if (warm && evaluating === 0 && performance.now() - turned < patience) {
        // A thread that blocks wakes sooner than an event loop does; the pause is short, for the loop has its own work.
        Atomics.store(words, controlWord.blocked, 1);
        Atomics.wait(words, controlWord.attention, attention, blocking);
        Atomics.store(words, controlWord.blocked, 0);
        if (Atomics.load(words, controlWord.command) !== seen) continue;
      }
      warm = false;
      await (asked() ? turn() : park(words, controlWord.attention, attention));
      turned = performance.now();
    }
  };
  void serve();
  return machine.hello();
}
