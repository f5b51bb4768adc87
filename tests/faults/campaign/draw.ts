// Draws the cases of the faults campaign: which ranks, which calls, what befalls them and when. A case follows from its
// seed alone, so that a seed is all that a failure has to print.
import * as fc from "fast-check";

/** Where the ranks of a case live. */
export type TransportName =
  "in-process" | "in-process, deferred" | "threads" | "threads, deferred" | "processes";

/** How a caller waits. */
export type Door = "awaited" | "blocking";

/** What can befall compiled programs. */
const programFaults = ["none", "throw", "exit", "endless", "abort", "close"] as const;
export type ProgramFault = (typeof programFaults)[number];

/** What can befall a loop's bodies and its caller. */
const loopFaults = [
  "none",
  "throw",
  "throw a value",
  "reject",
  "overflow",
  "exit",
  "kill",
  "endless",
  "unsettled",
  "unsettled, abort",
  "bad result",
  "bad capture",
  "bad listener",
  "abort",
  "close",
] as const;
export type LoopFault = (typeof loopFaults)[number];

/** What a rank does by itself, some time after a body has left it behind. */
const lateFaults = ["exit", "throw", "reject", "garbage"] as const;
export type LateFault = (typeof lateFaults)[number];

/** A step of a plan. */
export interface PlanRound {
  readonly work: "plan";
  readonly door: Door;
  readonly plan: "blocks" | "ring" | "scratch";
  readonly fault: ProgramFault;
  /** One bit per rank that the fault befalls. */
  readonly ranks: number;
  /** Steps that go well before. */
  readonly steps: number;
  /** Milliseconds from the call to an abort or a close; 0 is at once. */
  readonly after: number;
}

export const methods = ["residual", "jacobian", "linearize", "cost", "gradient", "jvp", "vjp"] as const;
export type MethodName = (typeof methods)[number];

/** A call of an objective function. */
export interface ObjectiveRound extends Omit<PlanRound, "work" | "plan"> {
  readonly work: "objectives";
  readonly method: MethodName;
}

/** A loop. */
export interface LoopRound {
  readonly work: "loop";
  readonly door: Door;
  readonly count: number;
  readonly schedule: "static" | "dynamic" | "guided" | "auto";
  /** Bodies promise their results. */
  readonly promises: boolean;
  readonly fault: LoopFault;
  /** The iteration that the fault befalls. */
  readonly bad: number;
  /** Microseconds that an iteration takes. */
  readonly spin: number;
  readonly after: number;
}

/** Ranks that break when nobody looks, and steps meanwhile. */
export interface LateRound {
  readonly work: "late";
  readonly door: Door;
  readonly fault: LateFault;
  readonly ranks: number;
  /** Milliseconds from the body that plants it to the fault. */
  readonly after: number;
  readonly steps: number;
  /** Milliseconds between the steps. */
  readonly pause: number;
}

const crowdCalls = ["blocks", "ring", "once", "loop", "objectives", "aborted"] as const;

/** Many calls at once, and ranks that break under them. */
export interface CrowdRound {
  readonly work: "crowd";
  readonly door: "awaited";
  readonly actions: readonly (
    | { readonly kind: "call"; readonly call: (typeof crowdCalls)[number]; readonly after: number }
    | {
        readonly kind: "loop";
        readonly count: number;
        readonly bad: number;
        readonly fault: "throw" | "exit";
      }
    | { readonly kind: "break"; readonly rank: number; readonly fault: "throw" | "exit" }
    | { readonly kind: "wait"; readonly milliseconds: number }
    | { readonly kind: "settle" }
  )[];
}

export type Round = PlanRound | ObjectiveRound | LoopRound | LateRound | CrowdRound;

/** A pool and what happens to it, one thing after the other. */
export interface FaultCase {
  readonly transport: TransportName;
  readonly ranks: number;
  /** Programs can be made to fail, so ranks carry all of them out; otherwise callers take over what they like. */
  readonly breakable: boolean;
  readonly rounds: readonly Round[];
}

const door = fc.constantFrom<Door>("awaited", "blocking");
const after = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 6 }));
const rankBits = fc.integer({ min: 1, max: 7 });

const program = {
  door,
  fault: fc.constantFrom(...programFaults),
  ranks: rankBits,
  steps: fc.nat(9),
  after,
};

const planRound: fc.Arbitrary<Round> = fc.record({
  work: fc.constant("plan"),
  plan: fc.constantFrom("blocks", "ring", "scratch"),
  ...program,
});

const objectiveRound: fc.Arbitrary<Round> = fc.record({
  work: fc.constant("objectives"),
  method: fc.constantFrom(...methods),
  ...program,
});

const loopRound: fc.Arbitrary<Round> = fc
  .record({
    count: fc.integer({ min: 1, max: 40 }),
    door,
    schedule: fc.constantFrom("static", "dynamic", "guided", "auto"),
    promises: fc.boolean(),
    fault: fc.constantFrom(...loopFaults),
    bad: fc.nat(39),
    spin: fc.constantFrom(0, 0, 50, 500),
    after,
  })
  .map((round) => ({ work: "loop", ...round, bad: round.bad % round.count }));

const lateRound: fc.Arbitrary<Round> = fc.record({
  work: fc.constant("late"),
  door,
  fault: fc.constantFrom(...lateFaults),
  ranks: rankBits,
  after,
  steps: fc.integer({ min: 1, max: 6 }),
  pause: fc.nat(3),
});

const brokenBy = fc.constantFrom<"throw" | "exit">("throw", "exit");

const crowdRound: fc.Arbitrary<Round> = fc.record({
  work: fc.constant("crowd"),
  door: fc.constant("awaited"),
  actions: fc.array(
    fc.oneof(
      {
        weight: 8,
        arbitrary: fc.record({
          kind: fc.constant("call"),
          call: fc.constantFrom(...crowdCalls),
          after: fc.nat(3),
        }),
      },
      {
        weight: 3,
        arbitrary: fc.record({
          kind: fc.constant("loop"),
          count: fc.integer({ min: 1, max: 40 }),
          bad: fc.nat(60),
          fault: brokenBy,
        }),
      },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant("break"), rank: fc.nat(2), fault: brokenBy }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant("wait"), milliseconds: fc.nat(8) }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant("settle") }) },
    ),
    { minLength: 4, maxLength: 20 },
  ),
});

const faultCase: fc.Arbitrary<FaultCase> = fc.record({
  transport: fc.oneof(
    { weight: 1, arbitrary: fc.constant<TransportName>("in-process") },
    { weight: 1, arbitrary: fc.constant<TransportName>("in-process, deferred") },
    { weight: 5, arbitrary: fc.constant<TransportName>("threads") },
    { weight: 2, arbitrary: fc.constant<TransportName>("threads, deferred") },
    { weight: 2, arbitrary: fc.constant<TransportName>("processes") },
  ),
  ranks: fc.integer({ min: 1, max: 3 }),
  breakable: fc.oneof(
    { weight: 3, arbitrary: fc.constant(true) },
    { weight: 1, arbitrary: fc.constant(false) },
  ),
  rounds: fc.array(
    fc.oneof(
      { weight: 4, arbitrary: planRound },
      { weight: 3, arbitrary: objectiveRound },
      { weight: 6, arbitrary: loopRound },
      { weight: 2, arbitrary: lateRound },
      { weight: 1, arbitrary: crowdRound },
    ),
    { minLength: 1, maxLength: 4 },
  ),
});

/** True for ranks in the calling thread, where what would end a rank would end the tests. */
export function isInProcess({ transport }: FaultCase): boolean {
  return transport.startsWith("in-process");
}

/** What is left of a round where ranks live in the calling thread, or cannot be broken. */
function possible(round: Round, one: FaultCase): Round | undefined {
  const inside = isInProcess(one);
  // Ranks that answer later, in the very thread that would block.
  const awaits = one.transport === "in-process, deferred" && round.work !== "loop";
  const fitted: Round = awaits ? { ...round, door: "awaited" } : round;
  switch (fitted.work) {
    case "plan":
    case "objectives": {
      const broken = ["throw", "exit", "endless"].includes(fitted.fault);
      if (broken && !one.breakable) return { ...fitted, fault: "none" };
      return broken && inside ? { ...fitted, fault: "throw" } : fitted;
    }
    case "loop": {
      const promises = fitted.promises && fitted.door === "awaited";
      const ends = ["exit", "kill", "endless"].includes(fitted.fault) && inside;
      const waits = fitted.fault.startsWith("unsettled") || fitted.fault === "reject";
      if (ends) return { ...fitted, promises, fault: "throw" };
      // Where ranks are threads, it would kill everything.
      if (fitted.fault === "kill" && one.transport !== "processes")
        return { ...fitted, promises, fault: "exit" };
      return waits && !promises
        ? { ...fitted, promises: false, fault: fitted.fault === "reject" ? "throw" : "none" }
        : { ...fitted, promises };
    }
    case "late":
      return inside ? undefined : fitted;
    case "crowd":
      return {
        ...fitted,
        actions: fitted.actions.map((action) =>
          (action.kind === "break" || action.kind === "loop") && inside
            ? { ...action, fault: "throw" }
            : action,
        ),
      };
  }
}

/** The case of a seed. */
export function faultCaseOf(seed: number): FaultCase {
  // Small numbers are no likelier to find anything here; and neighbouring seeds would begin alike.
  const spread = Math.imul(seed + 1, 0x9e3779b1);
  const [drawn] = fc.sample(fc.noBias(faultCase), { seed: spread, numRuns: 1 });
  if (drawn === undefined) throw new Error("fast-check draws what it is asked for");
  return {
    ...drawn,
    rounds: drawn.rounds.flatMap((round) => possible(round, drawn) ?? []),
  };
}
