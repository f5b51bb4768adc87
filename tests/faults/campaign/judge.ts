// Says whether a call of the faults campaign ended as it may: with the right bits, or with the one error that names what
// befell it.
import { CaptureError, PoolClosedError, RankError, RankLostError, TimeoutError } from "heddle";
import type { Ended } from "./settle.js";
import { describeEnd } from "./settle.js";
import { sameBits } from "./world.js";

const errorClasses = { RankError, RankLostError, TimeoutError, PoolClosedError, CaptureError } as const;
export type ErrorName = keyof typeof errorClasses;

/** How a call may end. */
export interface Allowed {
  /** The right result; absent if the call must fail. */
  readonly bits?: readonly number[];
  readonly errors?: readonly ErrorName[];
  /** The very value that may be thrown: a signal's reason, a listener's error. */
  readonly reason?: unknown;
  /** Ranks that an error may name. */
  readonly ranks?: readonly number[];
  /** The iteration that it names. */
  readonly index?: number;
  /** It names the first iteration of the chunk that was lost with a process, and `index` is one of them. */
  readonly chunks?: boolean;
  /** What it may say that the rank was working on. */
  readonly tasks?: readonly string[];
}

/** How one call ended, in a word, and what is wrong with that. */
export interface Verdict {
  readonly outcome: string;
  readonly complaints: readonly string[];
}

/** Judges an end. */
export function judge(what: string, end: Ended, allowed: Allowed): Verdict {
  const wrong = (outcome: string): Verdict => ({
    outcome,
    complaints: [`${what} ended with ${describeEnd(end)}, expected ${describeAllowed(allowed)}`],
  });
  const fine = (outcome: string): Verdict => ({ outcome, complaints: [] });
  if ("value" in end) {
    if (allowed.bits === undefined) return wrong("a value");
    return sameBits(end.value, allowed.bits) ? fine("right") : wrong("wrong bits");
  }
  const { thrown } = end;
  if (allowed.reason !== undefined && thrown === allowed.reason) return fine("its reason");
  const name = (allowed.errors ?? []).find((known) => thrown instanceof errorClasses[known]);
  if (name === undefined) return wrong(thrown instanceof Error ? thrown.name : "a thrown value");
  // The fields of the errors of ranks; the others have none of them.
  const { rank, index, task } = thrown as { rank?: number; index?: number; task?: string };
  const names =
    rank === undefined ||
    ((allowed.ranks === undefined || allowed.ranks.includes(rank)) &&
      (allowed.index === undefined ||
        allowed.index === index ||
        (allowed.chunks === true &&
          name === "RankLostError" &&
          index !== undefined &&
          index < allowed.index)) &&
      (allowed.tasks === undefined || (task !== undefined && allowed.tasks.includes(task))));
  return names ? fine(name) : wrong(`${name} with wrong names`);
}

function describeAllowed({ bits, errors = [], reason, ranks, index, tasks }: Allowed): string {
  const ends = [
    ...(bits === undefined ? [] : ["its bits"]),
    ...(reason === undefined ? [] : ["the given reason"]),
    ...errors,
  ];
  const names = Object.entries({ rank: ranks, index, task: tasks })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name} ${[value].flat().join(" or ")}`);
  return [ends.join(" or "), ...names].join(", ");
}
