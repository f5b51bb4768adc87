/**
 * A rank in its own thread: it answers the control channel, and steps plans when main bumps its command word. After a
 * step it spins for a moment, then blocks for a few milliseconds, then parks with its event loop free. Whoever sends mail
 * on the control channel rings for attention too, so that a rank that blocks reads it at once.
 */
import { threadId } from "node:worker_threads";
import { expose } from "comlink";
import type { ErrorWire } from "../closure/error-wire.js";
import { errorToWire } from "../closure/error-wire.js";
import type { LoopJob } from "../closure/job.js";
import { freshBuffer } from "../heap/heap.js";
import type { RankControl, RankStart } from "../transports/control.js";
import { answer, endpointOf } from "../transports/control.js";
import { driveLoop } from "../transports/loop-work.js";
import { ringMailbox } from "../transports/mailbox.js";
import { park, spin, wakeTime } from "../transports/park.js";
import type { LoopWork, RankInfo, RankSetup, Resumable } from "../transports/service.js";
import { StepAborted } from "../transports/service.js";
import {
  controlBlock,
  controlBytes,
  controlWord,
  leaveStep,
  planWord,
  poolWord,
  stepStatus,
} from "../transports/words.js";
import type * as Loops from "./loop.js";
import { RankMachine } from "./machine.js";
import type { ProcessDevice } from "./process-device.js";
import { becomeRankThread } from "./thread.js";
import { Watch } from "./watch.js";

/** How long a rank blocks its event loop after a step, in milliseconds, before it parks without blocking. */
const blockTime = 4;

/** How long steps may follow each other, in milliseconds, before the event loop has a turn. */
const patience = 20;

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Carries a step to its end, awaiting whatever it waits for. */
async function drive(resumable: Resumable, poolWords: Int32Array): Promise<void> {
  for (;;) {
    const waiting = resumable.step();
    if (waiting === undefined) return;
    if (waiting.on === "device") {
      await waiting.promise;
      continue;
    }
    const { words, value } = waiting;
    const rung = (): boolean => Atomics.load(words, planWord.bell) !== value;
    if (Atomics.load(poolWords, poolWord.watch) !== 0 && spin(rung, wakeTime)) continue;
    await park(words, planWord.bell, value);
  }
}

/** The device of a rank that has a process of its own. When that ends, so does this thread, for the same reason. */
async function ownProcess(setup: RankSetup): Promise<ProcessDevice | undefined> {
  if (setup.process === undefined) return undefined;
  const { ProcessDevice } = await import("./process-device.js");
  const start = { ...setup.process, kind: setup.device, rank: setup.rank };
  return ProcessDevice.start(start, (reason) => {
    throw new Error(reason);
  });
}

/**
 * Starts the rank of this thread, which serves until it is ended. `loadLibrary` is called before the first loop body
 * runs: it makes heddle's exports and codecs known.
 */
export async function serveRank(
  { setup, port, mail }: RankStart,
  loadLibrary: () => Promise<void>,
): Promise<RankInfo> {
  becomeRankThread();
  let loops: typeof Loops | undefined;
  const runLoop = (job: LoopJob, host: Loops.LoopHost): LoopWork => {
    if (loops === undefined) throw new RangeError("a loop began before its library was there");
    return loops.runLoop(job, host);
  };
  const machine = new RankMachine(setup, threadId, runLoop, await ownProcess(setup));
  const { words } = controlBlock(freshBuffer(setup.heap, setup.control + controlBytes), setup.control);
  const poolWords = new Int32Array(
    freshBuffer(setup.heap, setup.pool + 4 * poolWord.count),
    setup.pool,
    poolWord.count,
  );
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
          loops ??= await import("./loop.js");
          return await driveLoop(machine.evaluate(job));
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
  expose(
    control,
    endpointOf(port, () => ringMailbox(mail)),
  );

  const watch = new Watch();
  /** Carries out the step that was commanded, and counts this rank off. */
  const step = async (command: number): Promise<void> => {
    watch.begin();
    const begun = Atomics.load(poolWords, poolWord.pending);
    const plan = Atomics.load(words, controlWord.plan);
    let status: number = stepStatus.done;
    try {
      await drive(machine.begin(plan), poolWords);
    } catch (error) {
      status = error instanceof StepAborted ? stepStatus.aborted : stepStatus.failed;
      if (status === stepStatus.failed) {
        failure = errorToWire(error);
        machine.abandon(plan);
      }
    }
    Atomics.store(words, controlWord.status, status);
    Atomics.store(words, controlWord.outcome, command);
    leaveStep(poolWords, begun);
    watch.end();
  };

  const serve = async (): Promise<void> => {
    let seen = Atomics.load(words, controlWord.outcome);
    let turned = performance.now();
    /** True after a step: the next one is likely to follow soon, and nothing else is going on. */
    let warm = false;
    while (!closed) {
      const attention = Atomics.load(poolWords, poolWord.attention);
      if (Atomics.load(words, controlWord.command) !== seen) {
        seen = Atomics.load(words, controlWord.command);
        await step(seen);
        warm = true;
        continue;
      }
      const asked = (): boolean => Atomics.load(poolWords, poolWord.attention) !== attention;
      const patient = warm && evaluating === 0 && performance.now() - turned < patience;
      const watches = Atomics.load(poolWords, poolWord.watch) !== 0;
      if (patient && watches && spin(asked, watch.time)) {
        // A step, or mail on the control channel, which is only read in a turn of the event loop.
        if (Atomics.load(words, controlWord.command) !== seen) continue;
      } else if (patient) {
        // A thread that blocks wakes sooner than an event loop does; the pause is short, for the loop has its own work.
        Atomics.store(words, controlWord.blocked, 1);
        Atomics.wait(poolWords, poolWord.attention, attention, blockTime);
        Atomics.store(words, controlWord.blocked, 0);
        if (Atomics.load(words, controlWord.command) !== seen) continue;
      }
      warm = false;
      await (asked() ? turn() : park(poolWords, poolWord.attention, attention));
      turned = performance.now();
    }
  };
  void serve();
  return machine.hello();
}
