/**
 * When to stop, and how a stop is reported: SciPy's tests, status numbers and order of precedence.
 */
import { ArgumentError } from "../base/errors.js";

/**
 * Why an optimizer stopped: -2 the callback asked for it, 0 the evaluations ran out, 1 `gtol`, 2 `ftol`, 3 `xtol`,
 * 4 both `ftol` and `xtol`.
 */
export type Status = -2 | 0 | 1 | 2 | 3 | 4;

const messages: Readonly<Record<Status, string>> = {
  [-2]: "The callback asked to stop.",
  0: "The maximum number of function evaluations is reached.",
  1: "`gtol` termination condition is satisfied.",
  2: "`ftol` termination condition is satisfied.",
  3: "`xtol` termination condition is satisfied.",
  4: "Both `ftol` and `xtol` termination conditions are satisfied.",
};

/** The sentence that belongs to a status. */
export function messageOf(status: Status): string {
  return messages[status];
}

/** Tolerances as a user gives them: left out means the default, `null` means "do not test". */
export interface ToleranceOptions {
  readonly ftol?: number | null | undefined;
  readonly xtol?: number | null | undefined;
  readonly gtol?: number | null | undefined;
}

/** Tolerances as the loop uses them; 0 is never satisfied. */
export interface Tolerances {
  readonly ftol: number;
  readonly xtol: number;
  readonly gtol: number;
}

/** Checks tolerances and fills in `standard` for those left out. */
export function tolerancesOf(operation: string, options: ToleranceOptions, standard: number): Tolerances {
  const read = (name: keyof Tolerances): number => {
    const given = options[name];
    if (given === null) return 0;
    const value = given ?? standard;
    if (!(value >= 0 && value < Infinity)) {
      throw new ArgumentError({
        operation,
        argument: `options.${name}`,
        found: String(value),
        expected: "a number that is not negative, or null for no such test",
      });
    }
    return value;
  };
  const tolerances = { ftol: read("ftol"), xtol: read("xtol"), gtol: read("gtol") };
  if (Math.max(tolerances.ftol, tolerances.xtol, tolerances.gtol) < Number.EPSILON) {
    throw new ArgumentError({
      operation,
      argument: "options",
      found: "ftol, xtol and gtol all below the machine epsilon",
      expected: `at least one of them ${Number.EPSILON} or more`,
      remedy: "leave one out to get its default",
    });
  }
  return tolerances;
}

/** Judges one trial step with a finite residual: the status to stop with, or `undefined` to go on. */
export function judgeStep(
  trial: {
    readonly reduction: number;
    readonly cost: number;
    readonly ratio: number;
    readonly stepNorm: number;
    readonly xNorm: number;
  },
  { ftol, xtol }: Tolerances,
): Status | undefined {
  const small = trial.reduction < ftol * trial.cost && trial.ratio > 0.25;
  const short = trial.stepNorm < xtol * (xtol + trial.xNorm);
  if (small && short) return 4;
  if (small) return 2;
  return short ? 3 : undefined;
}
