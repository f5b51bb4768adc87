/**
 * The running account of an optimization on a terminal: one line per iteration at `verbose: 2`, one closing sentence
 * from `verbose: 1`.
 */
import type { IterationState, LeastSquaresResult } from "./result.js";

/** How much to print: nothing, the closing sentence, or every iteration too. */
export type Verbosity = 0 | 1 | 2;

/** Where lines go. */
export type Log = (line: string) => void;

/** Writes lines to the standard output. */
export const standardLog: Log = (line) => {
  process.stdout.write(`${line}\n`);
};

/** A reporter that prints as `verbose` asks. */
export interface Reporter {
  iteration(state: IterationState): void;
  end(result: LeastSquaresResult): void;
}

const columns = ["Iteration", "nfev", "Cost", "Reduction", "Step norm", "Optimality"] as const;

/** The reporter for a verbosity. */
export function reporterOf(verbose: Verbosity, log: Log): Reporter {
  return {
    iteration(state) {
      if (verbose < 2) return;
      if (state.nit === 0) log(row(columns));
      const first = state.nit === 0;
      log(
        row([
          String(state.nit),
          String(state.nfev),
          state.cost.toExponential(4),
          first ? "" : state.reduction.toExponential(2),
          first ? "" : state.stepNorm.toExponential(2),
          state.optimality.toExponential(2),
        ]),
      );
    },
    end(result) {
      if (verbose < 1) return;
      log(result.message);
      log(
        `Function evaluations ${result.nfev}, Jacobians ${result.njev}, cost ${result.cost.toExponential(4)}, ` +
          `first-order optimality ${result.optimality.toExponential(2)}.`,
      );
    },
  };
}

function row(cells: readonly string[]): string {
  return cells.map((cell, i) => cell.padStart(i < 2 ? 9 : 13)).join(" ");
}
