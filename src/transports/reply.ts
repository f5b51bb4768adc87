/**
 * Answers that are on their way, for callers that await and for callers that block. What a pool does with its ranks is
 * written once, as a task that stops wherever it needs an answer; a driver carries the task on, by awaiting each answer
 * or by blocking the thread until it is there.
 */

/** Stands in for an answer that did not come in time. */
export const late = Symbol("late");

/** An answer on its way. It can be asked for as often as one likes. */
export interface Reply<T> {
  /** Settles with the answer. A reply whose promise nobody asks for never makes an unhandled rejection. */
  readonly promise: Promise<T>;
  /** Blocks until the answer is there and returns or throws it; `late` if it is not there at `until`, on the clock of `performance.now()`. */
  wait(until?: number): T | typeof late;
}

/** Work that stops at each answer that it needs. */
export type Task<T> = Generator<Reply<unknown>, T, unknown>;

/** Stops a task until the answer is there: `const loaded = yield* answered(link.load(part))`. */
export function* answered<T>(reply: Reply<T>): Task<T> {
  return (yield reply) as T; // A driver hands each reply's own answer back.
}

/** A task that needs no answer. */
// eslint-disable-next-line require-yield -- that is its point
export function* finished<T>(value: T): Task<T> {
  return value;
}

/** Carries a task on by awaiting. */
export async function awaiting<T>(task: Task<T>): Promise<T> {
  let next = task.next();
  while (next.done !== true) {
    let answer: unknown;
    try {
      answer = await next.value.promise;
    } catch (error) {
      next = task.throw(error);
      continue;
    }
    next = task.next(answer);
  }
  return next.value;
}

/** Carries a task on by blocking the thread. */
export function blocking<T>(task: Task<T>): T {
  let next = task.next();
  while (next.done !== true) {
    let answer: unknown;
    try {
      answer = next.value.wait();
    } catch (error) {
      next = task.throw(error);
      continue;
    }
    next = task.next(answer);
  }
  return next.value;
}

/** A reply that is there at once: what `compute` gives or throws. */
export function immediate<T>(compute: () => T): Reply<T> {
  let value: T;
  try {
    value = compute();
  } catch (error) {
    return {
      get promise() {
        return (async (): Promise<T> => {
          throw error;
        })();
      },
      wait: () => {
        throw error;
      },
    };
  }
  return {
    get promise() {
      return Promise.resolve(value);
    },
    wait: () => value,
  };
}

/** How one of several answers turned out. */
export type Outcome<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: unknown };

/** All answers, when every one is there. */
export function all<T>(replies: readonly Reply<T>[]): Reply<readonly Outcome<T>[]> {
  return {
    get promise() {
      return Promise.all(
        replies.map(async ({ promise }): Promise<Outcome<T>> => {
          try {
            return { ok: true, value: await promise };
          } catch (error) {
            return { ok: false, error };
          }
        }),
      );
    },
    wait: (until) => {
      const outcomes: Outcome<T>[] = [];
      for (const reply of replies) {
        try {
          const value = reply.wait(until);
          if (value === late) return late;
          outcomes.push({ ok: true, value });
        } catch (error) {
          outcomes.push({ ok: false, error });
        }
      }
      return outcomes;
    },
  };
}

/** The values of all answers. Throws the first error. */
export function* everyAnswer<T>(replies: readonly Reply<T>[]): Task<T[]> {
  const outcomes = yield* answered(all(replies));
  return outcomes.map((outcome) => {
    if (!outcome.ok) throw outcome.error;
    return outcome.value;
  });
}

/** Several tasks side by side: each is begun before the first is waited for. Throws the first error when all have ended. */
export function* together(tasks: readonly Task<void>[]): Task<void> {
  let open = tasks.map((task) => ({ task, next: begun(() => task.next()) }));
  let failure: { readonly error: unknown } | undefined;
  while (open.length > 0) {
    const waiting = open.flatMap((one) => {
      if ("error" in one.next) failure ??= one.next;
      return "error" in one.next || one.next.done === true ? [] : [{ task: one.task, reply: one.next.value }];
    });
    const outcomes = yield* answered(all(waiting.map(({ reply }) => reply)));
    open = waiting.map(({ task }, i) => {
      const outcome = outcomes[i];
      return {
        task,
        next: begun(() => (outcome?.ok === true ? task.next(outcome.value) : task.throw(outcome?.error))),
      };
    });
  }
  if (failure !== undefined) throw failure.error;
}

function begun<T>(go: () => T): T | { readonly error: unknown } {
  try {
    return go();
  } catch (error) {
    return { error };
  }
}

/** The answer, or `late` if it is not there at `until`, on the clock of `performance.now()`. */
export function within<T>(reply: Reply<T>, until: number): Reply<T | typeof late> {
  if (until === Infinity) return reply;
  return {
    get promise() {
      let timer: NodeJS.Timeout | undefined;
      const overdue = new Promise<typeof late>((resolve) => {
        timer = setTimeout(() => resolve(late), Math.max(0, until - performance.now()));
      });
      return Promise.race([reply.promise, overdue]).finally(() => {
        clearTimeout(timer);
      });
    },
    wait: (sooner = Infinity) => reply.wait(Math.min(until, sooner)),
  };
}
