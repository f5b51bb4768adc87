/**
 * The typed errors of heddle. Every one names the operation, the argument, what was found, what was expected and what
 * to do, and carries a stable `code`, so that a program can react to a failure without reading its message.
 */

/** The parts of an error message, in the order in which they are printed. */
export interface ErrorParts {
  /** The public name of the operation that refused, for example `dot`. */
  readonly operation: string;
  /** The argument that is at fault, for example `b` or `options.rank`. */
  readonly argument?: string;
  /** What was found, in words: `shape [5,8]`. */
  readonly found?: string;
  /** What would have been right, in words. */
  readonly expected?: string;
  /** What to do about it. */
  readonly remedy?: string;
  /** The error that led to this one. */
  readonly cause?: unknown;
}

function sentence(parts: ErrorParts): string {
  const where = parts.argument === undefined ? parts.operation : `${parts.operation}: ${parts.argument}`;
  const found =
    parts.found === undefined ? "" : parts.argument === undefined ? `: ${parts.found}` : ` is ${parts.found}`;
  const expected = parts.expected === undefined ? "" : `, expected ${parts.expected}`;
  const remedy = parts.remedy === undefined ? "" : `; ${parts.remedy}`;
  return where + found + expected + remedy;
}

/** The common ancestor of every error that heddle throws (an aborted call rejects with its signal's reason instead). */
export class HeddleError extends Error {
  /** A stable, machine-readable name of the kind of failure. */
  readonly code: string;
  /** The operation that refused. */
  readonly operation: string;

  constructor(code: string, parts: ErrorParts | string) {
    const detail = typeof parts === "string" ? { operation: code } : parts;
    super(
      typeof parts === "string" ? parts : sentence(parts),
      detail.cause === undefined ? undefined : { cause: detail.cause },
    );
    this.name = new.target.name;
    this.code = code;
    this.operation = detail.operation;
  }
}

/** Shapes do not fit: broadcasting, contraction, reshaping, a target of the wrong length. */
export class ShapeError extends HeddleError {
  constructor(parts: ErrorParts) {
    super("HEDDLE_SHAPE", parts);
  }
}

/** A dtype that the operation does not take, or two that do not meet. */
export class DTypeError extends HeddleError {
  constructor(parts: ErrorParts) {
    super("HEDDLE_DTYPE", parts);
  }
}

/** An argument of the wrong type, out of its range, or in conflict with another. */
export class ArgumentError extends HeddleError {
  constructor(parts: ErrorParts) {
    super("HEDDLE_ARGUMENT", parts);
  }
}

/** A traced value was used where a concrete one is needed. */
export class ConcretizationError extends HeddleError {
  constructor(parts: ErrorParts) {
    super("HEDDLE_CONCRETIZATION", parts);
  }
}

/** A traced value outlived the function that was traced. */
export class LeakedTraceError extends HeddleError {
  constructor(parts: ErrorParts) {
    super("HEDDLE_LEAKED_TRACE", parts);
  }
}

/** A derivative was asked of something that has none, or of a result that is not a scalar. */
export class DerivativeError extends HeddleError {
  constructor(parts: ErrorParts) {
    super("HEDDLE_DERIVATIVE", parts);
  }
}

/** A graph breaks a rule of its own form: an undefined value, a type that disagrees with the shape rule. */
export class GraphError extends HeddleError {
  constructor(parts: ErrorParts) {
    super("HEDDLE_GRAPH", parts);
  }
}

/** A plan that could fail or hang was refused before it ran. */
export class PlanError extends HeddleError {
  constructor(parts: ErrorParts) {
    super("HEDDLE_PLAN", parts);
  }
}

/** The shared heap, or a rank's memory budget, cannot hold what was asked. */
export class MemoryError extends HeddleError {
  constructor(parts: ErrorParts) {
    super("HEDDLE_MEMORY", parts);
  }
}

/** What a function refers to cannot cross to a rank. */
export class CaptureError extends HeddleError {
  constructor(parts: ErrorParts) {
    super("HEDDLE_CAPTURE", parts);
  }
}

/** The pool was closed. */
export class PoolClosedError extends HeddleError {
  constructor(parts: ErrorParts) {
    super("HEDDLE_POOL_CLOSED", parts);
  }
}

/** A call that blocks cannot be made here: what it waits for needs the very thread that would block. */
export class BlockingError extends HeddleError {
  constructor(parts: ErrorParts) {
    super("HEDDLE_BLOCKING", parts);
  }
}

/** A block was computed at other coefficients than the ones that were published. */
export class EpochError extends HeddleError {
  constructor(parts: ErrorParts) {
    super("HEDDLE_EPOCH", parts);
  }
}

/** The memory of an array was given to a later call as `out`. */
export class StaleArrayError extends HeddleError {
  constructor(parts: ErrorParts) {
    super("HEDDLE_STALE_ARRAY", parts);
  }
}

/** Where on the pool a failure happened. */
export interface RankFailure extends ErrorParts {
  readonly rank: number;
  /** The objective, program or iteration that the rank was working on. */
  readonly task?: string;
  /** The index of the iteration, for loops. */
  readonly index?: number;
  /** The stack inside the worker. */
  readonly workerStack?: string;
}

/** Something that a rank ran threw. `cause` is the original error, rebuilt with its class name, message and stack. */
export class RankError extends HeddleError {
  readonly rank: number;
  readonly task: string | undefined;
  readonly index: number | undefined;
  /** The stack inside the worker, where there is one. */
  readonly workerStack: string | undefined;

  constructor(parts: RankFailure) {
    super("HEDDLE_RANK", parts);
    this.rank = parts.rank;
    this.task = parts.task;
    this.index = parts.index;
    this.workerStack = parts.workerStack;
  }
}

/** A rank's thread ended (exit, out of memory, lost device) before it answered. */
export class RankLostError extends HeddleError {
  readonly rank: number;
  readonly task: string | undefined;
  readonly index: number | undefined;

  constructor(parts: RankFailure) {
    super("HEDDLE_RANK_LOST", parts);
    this.rank = parts.rank;
    this.task = parts.task;
    this.index = parts.index;
  }
}

/** A call did not end within its `timeout`. Ranks that were still at work on it were ended and are started again. */
export class TimeoutError extends HeddleError {
  /** A rank that was still at work. */
  readonly rank: number;
  readonly task: string | undefined;
  readonly index: number | undefined;

  constructor(parts: RankFailure) {
    super("HEDDLE_TIMEOUT", parts);
    this.rank = parts.rank;
    this.task = parts.task;
    this.index = parts.index;
  }
}
