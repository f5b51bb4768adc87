/** From how a step ended on each rank to the one error that its caller gets. */
import { at } from "../base/at.js";
import type { HeddleError } from "../base/errors.js";
import { RankError, RankLostError, TimeoutError } from "../base/errors.js";
import type { ErrorWire } from "../closure/error-wire.js";
import { errorFromWire } from "../closure/error-wire.js";
import type { StepOutcome } from "../transports/transport.js";

/** The error for something that a rank ran and that threw. */
export function rankError(
  rank: number,
  wire: ErrorWire,
  where: { readonly task?: string; readonly index?: number },
): RankError {
  const what = where.index === undefined ? (where.task ?? "a step") : `iteration ${where.index}`;
  return new RankError({
    operation: `${what} on rank ${rank}`,
    found: wire.thrown === undefined ? `${wire.name}: ${wire.message}` : `threw ${wire.message}`,
    rank,
    ...where,
    ...(wire.stack === undefined ? {} : { workerStack: wire.stack }),
    cause: errorFromWire(wire),
  });
}

/** The error for a rank whose thread ended. */
export function rankLostError(
  rank: number,
  reason: string,
  where: { readonly task?: string; readonly index?: number; readonly held?: string },
): RankLostError {
  const what = where.held ?? where.task ?? "a call";
  return new RankLostError({
    operation: `${what} on rank ${rank}`,
    found: `the rank was lost: ${reason}`,
    remedy: "the rank is started again; what it was doing was not finished",
    rank,
    ...(where.task === undefined ? {} : { task: where.task }),
    ...(where.index === undefined ? {} : { index: where.index }),
  });
}

/** The error of a call whose timeout ended a rank, or made it give up. */
export function timeoutError(
  timeout: number,
  lost: {
    readonly operation: string;
    readonly rank: number;
    readonly task?: string | undefined;
    readonly index?: number | undefined;
  },
): TimeoutError {
  const { rank, task, index, operation } = lost;
  return new TimeoutError({
    operation,
    found: `not done after the timeout of ${timeout} ms`,
    remedy:
      "a rank that was still at work is ended and started again; give a longer timeout if the work needs it",
    rank,
    ...(task === undefined ? {} : { task }),
    ...(index === undefined ? {} : { index }),
    ...(lost instanceof Error ? { cause: lost } : {}),
  });
}

/**
 * The error of a step: a lost rank first, if possible one that was in a task and not only waiting for others, then the
 * lowest rank that threw. `undefined` if all went well.
 */
export function stepError(
  ranks: readonly number[],
  outcomes: readonly StepOutcome[],
  taskName: (task: number) => string | undefined,
): HeddleError | undefined {
  const where = (task: number): { task?: string } => {
    const name = taskName(task);
    return name === undefined ? {} : { task: name };
  };
  const lost = outcomes.filter((outcome) => outcome.kind === "lost");
  const ended = lost.find(({ task }) => task !== 0) ?? lost[0];
  if (ended !== undefined) {
    return rankLostError(at(ranks, outcomes.indexOf(ended)), ended.reason, where(ended.task));
  }
  const failed = outcomes.find((outcome) => outcome.kind === "failed");
  if (failed === undefined) return undefined;
  return rankError(at(ranks, outcomes.indexOf(failed)), failed.error, where(failed.task));
}
