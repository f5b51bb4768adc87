/** Names instructions in errors: the rank, the position in its list (`4.1` is inside the loop at 4) and the text. */
import { PlanError } from "../base/errors.js";
import type { Instruction } from "./plan.js";
import { printInstruction } from "./print.js";

/** Where an instruction stands. */
export interface Place {
  readonly rank: number;
  readonly path: readonly number[];
  readonly instruction: Instruction;
}

/** `rank 0, instruction 3 (free x)` */
export function formatPlace(place: Place): string {
  return `rank ${place.rank}, instruction ${place.path.join(".")} (${printInstruction(place.instruction)})`;
}

/** The error of a plan in which two instructions disagree, or one is wrong by itself. */
export function planError(problem: string, places: readonly Place[], remedy?: string): PlanError {
  return new PlanError({
    operation: "verify",
    found: [problem, ...places.map(formatPlace)].join("; "),
    ...(remedy === undefined ? {} : { remedy }),
  });
}
