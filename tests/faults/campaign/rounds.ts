// Carries out the rounds of the faults campaign: sets the fault up, makes the call by its door, and judges how it ended.
import { parallelFor } from "heddle";
import type { LoopOptions } from "heddle";
import type { LateRound, LoopRound, CrowdRound, ObjectiveRound, PlanRound, Round } from "./draw.js";
import type { Allowed, Verdict } from "./judge.js";
import { judge } from "./judge.js";
import type { Ended } from "./settle.js";
import { bound, pause, settled, settledNow } from "./settle.js";
import type { Limits, World } from "./world.js";
import { objectiveNames } from "./world.js";

/** Milliseconds that calls with work that never ends are given. */
const timeout = 400;

/** How a round ended. */
export interface RoundEnd extends Verdict {
  /** The pool was closed by it. */
  readonly closed: boolean;
}

/** The ranks of a set of bits, at least one. */
function ranksOf(bits: number, ranks: number): number[] {
  const found = Array.from({ length: ranks }, (_, rank) => rank).filter((rank) => ((bits >> rank) & 1) === 1);
  return found.length === 0 ? [0] : found;
}

/** A call by both doors. */
interface Calls {
  readonly what: string;
  readonly later: (limits: Limits) => Promise<unknown>;
  readonly now: (limits: Limits) => unknown;
  readonly bits: readonly number[];
}

/** A signal or a close that strikes a call which is under way. A caller that blocks hears of it before, or never. */
async function interrupted(
  world: World,
  { door, after, fault }: Pick<PlanRound, "door" | "after"> & { readonly fault: string },
  { what, later, now, bits }: Calls,
): Promise<RoundEnd> {
  const closes = fault === "close";
  const reason = new Error("given up by the campaign");
  const controller = new AbortController();
  const limits = closes ? {} : { signal: controller.signal };
  if (door === "blocking") {
    if (closes) world.pool.sync.close();
    else controller.abort(reason);
    const verdict = judge(
      what,
      settledNow(() => now(limits)),
      closes ? { errors: ["PoolClosedError"] } : { reason },
    );
    return { ...verdict, closed: closes };
  }
  let closing: Promise<void> | undefined;
  const strike = (): void => {
    if (closes) closing = world.pool.close();
    else controller.abort(reason);
  };
  const call = settled(what, later(limits));
  if (after === 0) strike();
  else setTimeout(strike, after);
  const verdict = judge(what, await call, closes ? { bits, errors: ["PoolClosedError"] } : { bits, reason });
  if (!closes) return { ...verdict, closed: false };
  // The call may have been quicker.
  while (closing === undefined) await pause(1);
  const closed = await settled(`close during ${what}`, closing);
  const refused = judge("a call of a closed pool", await settled(what, later({})), {
    errors: ["PoolClosedError"],
  });
  return {
    outcome: verdict.outcome,
    complaints: [...verdict.complaints, ...("value" in closed ? [] : ["close threw"]), ...refused.complaints],
    closed: true,
  };
}

async function programRound(
  world: World,
  round: PlanRound | ObjectiveRound,
  calls: Calls,
  tasks: readonly string[],
): Promise<RoundEnd> {
  const { what, later, now, bits } = calls;
  const call = (limits: Limits): Promise<Ended> | Ended =>
    round.door === "awaited" ? settled(what, later(limits)) : settledNow(() => now(limits));
  const complaints: string[] = [];
  for (let step = 0; step < round.steps; step++) {
    complaints.push(...judge(`${what} before`, await call({}), { bits }).complaints);
  }
  if (round.fault === "abort" || round.fault === "close") {
    const end = await interrupted(world, round, calls);
    return { ...end, complaints: [...complaints, ...end.complaints] };
  }
  const ranks = ranksOf(round.ranks, world.ranks);
  if (round.fault !== "none") for (const rank of ranks) world.break(rank, round.fault);
  const errors = { throw: "RankError", exit: "RankLostError", endless: "TimeoutError" } as const;
  const allowed: Allowed =
    round.fault === "none" ? { bits } : { errors: [errors[round.fault]], ranks, tasks };
  const verdict = judge(what, await call(round.fault === "endless" ? { timeout } : {}), allowed);
  return { outcome: verdict.outcome, complaints: [...complaints, ...verdict.complaints], closed: false };
}

async function planRound(world: World, round: PlanRound): Promise<RoundEnd> {
  const { plan } = round;
  const calls: Calls = {
    what: `${plan}, ${round.door}, ${round.fault},`,
    later: (limits) => world.step(plan, limits),
    now: (limits) => world.stepNow(plan, limits),
    bits: await world.expectedStep(plan),
  };
  const { programs } = world.plans[plan].example.plan;
  const tasks = Object.entries(programs).map(([name, { label }]) => label ?? name);
  return programRound(world, round, calls, tasks);
}

function objectiveRound(world: World, round: ObjectiveRound): Promise<RoundEnd> {
  const { method } = round;
  // Methods that block take no signal.
  const fault = round.fault === "abort" && round.door === "blocking" ? "none" : round.fault;
  const calls: Calls = {
    what: `${method}, ${round.door}, ${fault},`,
    later: (limits) => world.method(method, limits),
    now: (limits) => world.methodNow(method, limits),
    bits: world.expectedMethod(method),
  };
  return programRound(world, { ...round, fault }, calls, objectiveNames);
}

async function loopRound(world: World, round: LoopRound): Promise<RoundEnd> {
  const { count, bad, fault, spin, promises, schedule, door, after } = round;
  const what = `a loop, ${door}, ${fault},`;
  const bits = Array.from({ length: count }, (_, i) => i * i + 0.5);
  const uncrossable = new WeakMap<object, unknown>();
  const work = (i: number): unknown => {
    const end = performance.now() + spin / 1000;
    while (performance.now() < end) void 0;
    const value = i * i + 0.5;
    if (i !== bad) return value;
    const dive = (depth: number): number => dive(depth + 1) + 1;
    switch (fault) {
      case "throw":
        throw new RangeError(`bad ${i}`, { cause: "drawn" });
      case "throw a value":
        throw `bad ${i}`; // eslint-disable-line @typescript-eslint/only-throw-error -- this too must arrive
      case "reject":
        return Promise.reject(new RangeError(`bad ${i}`));
      case "overflow":
        return dive(0);
      case "exit":
        return process.exit(5);
      case "kill":
        process.kill(process.pid, "SIGKILL");
        for (;;) if (i < 0) return value; // It takes a moment.
      case "endless":
        for (;;) if (i < 0) return value;
      case "unsettled":
      case "unsettled, abort":
        return new Promise(() => {});
      case "bad result":
        return new WeakMap();
      default:
        return value;
    }
  };
  const body = promises
    ? (i: number): unknown => Promise.resolve(i).then(work)
    : fault === "bad capture"
      ? (i: number): unknown => (uncrossable.has({}) ? i : work(i))
      : (i: number): unknown => work(i);
  const listening = new Error("from the listener");
  const options: LoopOptions = {
    pool: world.pool,
    schedule,
    ...(fault === "endless" || fault === "unsettled" ? { timeout } : {}),
    ...(fault === "bad listener"
      ? {
          onProgress: () => {
            throw listening;
          },
        }
      : {}),
  };
  const calls: Calls = {
    what,
    later: (limits) => parallelFor(count, body, { ...options, ...limits }),
    now: (limits) => parallelFor.sync(count, body, { ...options, ...limits }),
    bits,
  };
  if (fault.startsWith("unsettled")) world.abandon();
  const ending = (): Allowed => {
    switch (fault) {
      case "none":
        return { bits };
      case "exit":
      case "kill":
        return { errors: ["RankLostError"], index: bad, chunks: world.dealsChunks };
      case "endless":
      case "unsettled":
        // On a machine that is busy, ranks with other iterations may be late too.
        return { errors: ["TimeoutError"], ...(world.ranks === 1 ? { index: bad } : {}) };
      case "bad capture":
        return promises ? { bits } : { errors: ["CaptureError"] };
      case "bad listener":
        return { reason: listening };
      default:
        return { errors: ["RankError"], index: bad };
    }
  };
  switch (fault) {
    case "abort":
    case "close":
      return interrupted(world, round, calls);
    case "unsettled, abort": {
      const reason = new Error("given up by the campaign");
      const controller = new AbortController();
      setTimeout(() => controller.abort(reason), after);
      const end = await settled(what, calls.later({ signal: controller.signal }));
      return { ...judge(what, end, { reason }), closed: false };
    }
    default: {
      const end = door === "awaited" ? await settled(what, calls.later({})) : settledNow(() => calls.now({}));
      return { ...judge(what, end, ending()), closed: false };
    }
  }
}

async function lateRound(world: World, round: LateRound): Promise<RoundEnd> {
  const { fault, after, door } = round;
  const ranks = ranksOf(round.ranks, world.ranks);
  const { pool } = world;
  const lostBefore = world.events.length;
  const planted = await settled(
    "planting",
    parallelFor(
      world.ranks,
      (_, { rank }) => {
        if (!ranks.includes(rank)) return 0;
        setTimeout(() => {
          if (fault === "exit") process.exit(9);
          if (fault === "throw") throw new Error("late");
          if (fault === "reject") void Promise.reject(new Error("late"));
          if (fault === "garbage") {
            const port = process.getBuiltinModule("node:worker_threads").parentPort;
            for (const garbage of [null, "garbage", { taskId: -1 }, [1, 2]]) {
              port?.postMessage(garbage);
              // Where the rank is a process; it sends no null.
              process.send?.(garbage ?? "garbage");
            }
          }
        }, after);
        return 0;
      },
      { pool, schedule: "static" },
    ),
  );
  const bits = await world.expectedStep("blocks");
  const allowed: Allowed = fault === "garbage" ? { bits } : { bits, errors: ["RankLostError"], ranks };
  // The fault may be quicker than the answer of the loop that planted it.
  const planting = judge("planting", planted, { ...allowed, bits: new Array<number>(world.ranks).fill(0) });
  const complaints = [...planting.complaints];
  let outcome = "right";
  for (let step = 0; step < round.steps; step++) {
    const end =
      door === "awaited"
        ? await settled("a step", world.step("blocks"))
        : settledNow(() => world.stepNow("blocks"));
    const verdict = judge(`a step, ${door}, late ${fault},`, end, allowed);
    complaints.push(...verdict.complaints);
    if (verdict.outcome !== "right") outcome = verdict.outcome;
    await pause(round.pause);
  }
  // What comes later than the round would befall the next one.
  const until = performance.now() + bound;
  const lost = (rank: number): boolean =>
    world.events.slice(lostBefore).some((event) => event.type === "rankLost" && event.rank === rank);
  if (fault === "garbage") await pause(after + 5);
  // Then nobody knows on which ranks it was planted before they gave the loop up.
  else if (planting.outcome !== "right") await pause(after + 500);
  else {
    while (!ranks.every(lost) && performance.now() < until) await pause(2);
    if (!ranks.every(lost)) complaints.push(`late ${fault}: nobody noticed`);
  }
  return { outcome, complaints, closed: false };
}

async function crowdRound(world: World, { actions }: CrowdRound): Promise<RoundEnd> {
  const { pool } = world;
  const complaints: string[] = [];
  const outcomes = new Set<string>();
  const calls: Promise<void>[] = [];
  const make = (what: string, call: Promise<unknown>, allowed: Allowed): void => {
    calls.push(
      settled(what, call).then((end) => {
        const verdict = judge(`${what} in a crowd`, end, allowed);
        outcomes.add(verdict.outcome);
        complaints.push(...verdict.complaints);
      }),
    );
  };
  const errors = ["RankError", "RankLostError"] as const;
  for (const action of actions) {
    switch (action.kind) {
      case "call": {
        const { call, after } = action;
        switch (call) {
          case "blocks":
          case "ring":
            make(call, world.step(call), { bits: await world.expectedStep(call), errors });
            break;
          case "once": {
            const { plan, arrays } = world.plans.ring.example;
            const outputs = pool.run(plan, arrays).then(({ y }) => y?.data ?? []);
            make("a run", outputs, { bits: await world.expectedStep("ring"), errors });
            break;
          }
          case "loop":
            make(
              "a loop",
              parallelFor(5, (i) => i, { pool }),
              { bits: [0, 1, 2, 3, 4], errors },
            );
            break;
          case "objectives":
            make("a gradient", world.method("gradient"), { bits: world.expectedMethod("gradient"), errors });
            break;
          case "aborted": {
            const controller = new AbortController();
            const reason = new Error("given up by the campaign");
            setTimeout(() => controller.abort(reason), after);
            const bits = await world.expectedStep("blocks");
            make("a step", world.step("blocks", { signal: controller.signal }), { bits, errors, reason });
            break;
          }
        }
        break;
      }
      case "loop": {
        const { count, bad, fault } = action;
        const call = parallelFor(
          count,
          (i) => {
            if (i === bad && fault === "exit") process.exit(1);
            if (i === bad) throw new Error("bad");
            return i * 2;
          },
          { pool },
        );
        make("a bad loop", call, {
          ...(bad < count
            ? { index: bad, chunks: world.dealsChunks }
            : { bits: Array.from({ length: count }, (_, i) => i * 2) }),
          errors,
        });
        break;
      }
      case "break":
        world.break(action.rank, action.fault);
        break;
      case "wait":
        await pause(action.milliseconds);
        break;
      case "settle":
        await Promise.all(calls.splice(0));
        break;
    }
  }
  await Promise.all(calls);
  const worst = [...outcomes].find((outcome) => outcome !== "right") ?? "right";
  return { outcome: outcomes.size > 2 ? "several" : worst, complaints, closed: false };
}

/** Carries out one round. */
export function carryOut(world: World, round: Round): Promise<RoundEnd> {
  switch (round.work) {
    case "plan":
      return planRound(world, round);
    case "objectives":
      return objectiveRound(world, round);
    case "loop":
      return loopRound(world, round);
    case "late":
      return lateRound(world, round);
    case "crowd":
      return crowdRound(world, round);
  }
}
