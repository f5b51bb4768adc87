/**
 * The least-squares loop: linearize, ask the descent for steps and the search for radii until one is good, stop as the
 * tolerances say. Methods differ only in the descent and the search that they put in.
 */
import { ShapeError } from "../base/errors.js";
import type { Descent, Steps } from "./descent.js";
import { entry } from "./entry.js";
import type { Reporter } from "./iterationTable.js";
import type { Loss } from "./loss.js";
import { norm } from "./norm.js";
import { NonFiniteError, nonFiniteRows } from "./nonFinite.js";
import type { JacobianSource, LeastSquaresProblem, MaybePromise } from "./problem.js";
import type { IterationState, LeastSquaresResult } from "./result.js";
import type { Search } from "./search.js";
import { judgeStep, messageOf } from "./termination.js";
import type { Status, Tolerances } from "./termination.js";
import type { Work } from "./work.js";
import { breath, settled } from "./work.js";

/** Everything that the loop is told besides the problem and the start. */
export interface SolveSettings {
  /** The public name to use in errors. */
  readonly operation: string;
  readonly descent: Descent;
  readonly search: Search;
  readonly loss: Loss;
  readonly tolerances: Tolerances;
  readonly maxNfev: number;
  readonly reporter: Reporter;
  /** Called after each iteration; `true` (or a promise of it) stops. */
  readonly callback?: ((state: IterationState) => unknown) | undefined;
}

/** A point with everything that is known there. The scaled pair is what the loss makes of residual and Jacobian. */
interface Point {
  readonly x: Float64Array;
  readonly residual: Float64Array;
  readonly cost: number;
  readonly jacobian: JacobianSource;
  readonly gradient: Float64Array;
  readonly optimality: number;
  readonly steps: Steps;
}

/** What one iteration led to. */
interface Outcome {
  readonly next:
    { readonly x: Float64Array; readonly residual: Float64Array; readonly cost: number } | undefined;
  readonly status: Status | undefined;
  readonly stepNorm: number;
  readonly reduction: number;
}

/** The loop from `x0`, which is not changed: work for a driver that awaits, or for one that does not. */
export function solve(
  problem: LeastSquaresProblem,
  x0: Float64Array,
  settings: SolveSettings,
): Work<LeastSquaresResult> {
  return new Run(problem, settings).from(x0.slice());
}

class Run {
  readonly #problem: LeastSquaresProblem;
  readonly #settings: SolveSettings;
  readonly #times = { residual: 0, jacobian: 0, linearSolve: 0 };
  #nfev = 0;
  #njev = 0;
  #accepted = 0;
  #rejected = 0;

  constructor(problem: LeastSquaresProblem, settings: SolveSettings) {
    this.#problem = problem;
    this.#settings = settings;
  }

  *from(x0: Float64Array): Work<LeastSquaresResult> {
    const { callback, maxNfev, reporter, tolerances } = this.#settings;
    const began = performance.now();
    const start = yield* this.#start(x0);
    let point = yield* this.#linearize(x0, start.residual, start.cost);
    let nit = 0;
    let status: Status | undefined;
    reporter.iteration(this.#state(point, nit, 0, 0));
    while (true) {
      if (point.optimality < tolerances.gtol) status = 1;
      if (status !== undefined || this.#nfev >= maxNfev) break;
      const outcome = yield* this.#iterate(point);
      status = outcome.status;
      nit++;
      if (outcome.next !== undefined) {
        const { x, residual, cost } = outcome.next;
        point = yield* this.#linearize(x, residual, cost);
        this.#accepted++;
      }
      const state = this.#state(point, nit, outcome.reduction, outcome.stepNorm);
      reporter.iteration(state);
      if (callback !== undefined && (yield* settled(callback(state))) === true) {
        status = -2;
        break;
      }
    }
    const result = this.#result(point, start.residual, status ?? 0, nit, performance.now() - began);
    reporter.end(result);
    return result;
  }

  /** Tries steps from `point` until one is accepted or the run is over. */
  *#iterate(point: Point): Work<Outcome> {
    const { loss, maxNfev, search, tolerances } = this.#settings;
    let walled = false;
    while (this.#nfev < maxNfev) {
      yield breath;
      const { delta, predicted } = this.#timed("linearSolve", () => point.steps.at(search.radius));
      const x = point.x.map((value, j) => value + entry(delta, j));
      const residual = yield* this.#residual(x, point.residual.length);
      const cost = loss.cost(residual);
      if (!Number.isFinite(cost)) {
        search.judge(NaN);
        this.#rejected++;
        walled = true;
        continue;
      }
      const reduction = point.cost - cost;
      const ratio = predicted > 0 ? reduction / predicted : reduction === 0 ? 1 : 0;
      const stepNorm = norm(delta);
      const xNorm = norm(point.x);
      const status = judgeStep({ reduction, cost: point.cost, ratio, stepNorm, xNorm }, tolerances);
      if (search.judge(ratio) === "accept" && reduction > 0) {
        return { next: { x, residual, cost }, status, stepNorm, reduction };
      }
      this.#rejected++;
      // A step made short by a wall of NaN, and no good even then, is no sign of convergence.
      if (status !== undefined && !walled) return { next: undefined, status, stepNorm: 0, reduction: 0 };
    }
    return { next: undefined, status: undefined, stepNorm: 0, reduction: 0 };
  }

  *#start(x0: Float64Array): Work<{ residual: Float64Array; cost: number }> {
    const { loss, operation } = this.#settings;
    yield breath;
    const residual = yield* this.#residual(x0);
    if (residual.length === 0) {
      throw new ShapeError({
        operation,
        argument: "fun",
        found: "a residual of 0 entries",
        expected: "at least one residual",
        remedy: "give the problem data or objectives",
      });
    }
    const rows = nonFiniteRows(residual);
    const cost = loss.cost(residual);
    if (rows.length > 0) {
      throw new NonFiniteError(operation, "the residual at x0", rows, this.#problem.objectives ?? []);
    }
    if (!Number.isFinite(cost)) {
      throw new NonFiniteError(
        operation,
        "the cost at x0",
        [largestRow(residual)],
        this.#problem.objectives ?? [],
      );
    }
    return { residual, cost };
  }

  *#residual(x: Float64Array, length?: number): Work<Float64Array> {
    this.#nfev++;
    const residual = yield* this.#awaited("residual", () => this.#problem.residual(x.slice()));
    if (length !== undefined && residual.length !== length) {
      throw new ShapeError({
        operation: this.#settings.operation,
        argument: "fun",
        found: `a residual of ${residual.length} entries after one of ${length}`,
        expected: "the same length at every x",
      });
    }
    return residual;
  }

  *#linearize(x: Float64Array, residual: Float64Array, cost: number): Work<Point> {
    const { descent, loss, operation } = this.#settings;
    const n = this.#problem.dimX;
    yield breath;
    this.#njev++;
    const given = yield* this.#awaited("jacobian", () => this.#problem.jacobian(x.slice(), residual));
    const source = given instanceof Float64Array ? { data: given } : given;
    const raw = source.data;
    if (raw.length !== residual.length * n) {
      throw new ShapeError({
        operation,
        argument: "jac",
        found: `${raw.length} entries`,
        expected: `${residual.length * n}, for the shape [${residual.length},${n}]`,
        remedy: "give one row per residual and one column per variable",
      });
    }
    const rows = nonFiniteRows(raw, n);
    if (rows.length > 0) {
      throw new NonFiniteError(operation, "the Jacobian", rows, this.#problem.objectives ?? []);
    }
    return this.#timed("linearSolve", () => {
      const scaled = loss.scale(residual, raw);
      const gradient = transposedProduct(scaled.jacobian, scaled.residual, n);
      return {
        x,
        residual,
        cost,
        jacobian: scaled.jacobian === raw ? source : { data: scaled.jacobian },
        gradient,
        optimality: largestMagnitude(gradient),
        steps: descent.linearize(scaled.jacobian, scaled.residual),
      };
    });
  }

  #state(point: Point, nit: number, reduction: number, stepNorm: number): IterationState {
    return {
      x: point.x.slice(),
      cost: point.cost,
      optimality: point.optimality,
      nit,
      nfev: this.#nfev,
      njev: this.#njev,
      reduction,
      stepNorm,
    };
  }

  #result(
    point: Point,
    startResidual: Float64Array,
    status: Status,
    nit: number,
    total: number,
  ): LeastSquaresResult {
    const { loss } = this.#settings;
    return {
      x: point.x,
      cost: point.cost,
      fun: point.residual.slice(),
      jac: point.jacobian.data.slice(),
      grad: point.gradient,
      optimality: point.optimality,
      activeMask: new Int32Array(point.x.length),
      nfev: this.#nfev,
      njev: this.#njev,
      nit,
      status,
      message: messageOf(status),
      success: status > 0,
      objectives: (this.#problem.objectives ?? []).map(({ name, rows: [start, end] }) => ({
        name,
        start: loss.cost(startResidual, start, end),
        end: loss.cost(point.residual, start, end),
      })),
      acceptedSteps: this.#accepted,
      rejectedSteps: this.#rejected,
      times: { ...this.#times, total },
    };
  }

  #timed<T>(phase: "linearSolve", work: () => T): T {
    const began = performance.now();
    const value = work();
    this.#times[phase] += performance.now() - began;
    return value;
  }

  *#awaited<T>(phase: "residual" | "jacobian", work: () => MaybePromise<T>): Work<T> {
    const began = performance.now();
    try {
      return yield* settled(work());
    } finally {
      this.#times[phase] += performance.now() - began;
    }
  }
}

function transposedProduct(jacobian: Float64Array, residual: Float64Array, n: number): Float64Array {
  const product = new Float64Array(n);
  for (let i = 0; i < residual.length; i++) {
    const f = entry(residual, i);
    for (let j = 0; j < n; j++) product[j] = entry(product, j) + entry(jacobian, i * n + j) * f;
  }
  return product;
}

function largestMagnitude(values: Float64Array): number {
  return values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
}

function largestRow(residual: Float64Array): number {
  let row = 0;
  for (let i = 1; i < residual.length; i++) {
    if (Math.abs(entry(residual, i)) > Math.abs(entry(residual, row))) row = i;
  }
  return row;
}
