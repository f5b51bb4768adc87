/**
 * The words that main, the supervisor and ranks share, by name. The blocks of a pool, of its ranks and of its resident
 * plans are ranges of the shared heap; everybody addresses them through these indices.
 */

/** Indices of 32-bit words in a pool's block. */
export const poolWord = {
  /** Ranks that are still at work in a step, with the step's number; see `openStep`. */
  pending: 0,
  /** Bumped by main with every step and with mail for a rank that blocks: what idle ranks wait for. */
  attention: 1,
  /** Not 0: a processor is left for the caller while the ranks watch for what they wait for. */
  watch: 2,
  /** Address of the words of the plan that is stepped. */
  planWords: 3,
  /** Bumped when a constant was overwritten: devices with memory of their own must fetch theirs again. */
  constants: 4,
  count: 5,
} as const;

/**
 * The word of pending ranks: 11 bits count them, 9 change when a rank ends, and 12 are the step's number, so that a rank
 * that was slow to count itself off is not taken for one of a later step.
 */
const pendingBits = { count: 0x7ff, look: 0xff800, step: 0xfff00000 } as const;
const lookUnit = 0x800;
const stepUnit = 0x100000;

/** The ranks that have not counted themselves off. */
export function pendingRanks(pending: number): number {
  return pending & pendingBits.count;
}

/** Begins a step of `ranks` ranks. */
export function openStep(poolWords: Int32Array, ranks: number): void {
  const step = (Atomics.load(poolWords, poolWord.pending) & pendingBits.step) + stepUnit;
  Atomics.store(poolWords, poolWord.pending, step | ranks); // Looks of earlier steps are forgotten.
}

/** Counts a rank off a step that began when the word was `begun`. */
export function leaveStep(poolWords: Int32Array, begun: number): void {
  for (;;) {
    const value = Atomics.load(poolWords, poolWord.pending);
    if ((value & pendingBits.step) !== (begun & pendingBits.step)) return;
    if (Atomics.compareExchange(poolWords, poolWord.pending, value, value - 1) !== value) continue;
    // Where one has ended, nobody is the last to count itself off.
    if (pendingRanks(value) === 1 || (value & pendingBits.look) !== 0) {
      Atomics.notify(poolWords, poolWord.pending);
    }
    return;
  }
}

/** Makes whoever waits for a step's end look at each rank again: one has ended, and will not count itself off. */
export function lookAgain(poolWords: Int32Array): void {
  for (;;) {
    const value = Atomics.load(poolWords, poolWord.pending);
    const look = (value + lookUnit) & pendingBits.look;
    const changed = (value & ~pendingBits.look) | look;
    if (Atomics.compareExchange(poolWords, poolWord.pending, value, changed) === value) break;
  }
  Atomics.notify(poolWords, poolWord.pending);
}

/** Indices of 32-bit words in a rank's control block. */
export const controlWord = {
  /** Bumped by main: there is a step to do. */
  command: 0,
  /** The plan to step. */
  plan: 1,
  /** Equals `command` once the rank is done with it. */
  outcome: 2,
  /** How it ended: one of `stepStatus`. */
  status: 3,
  /** The task that the rank works on, as a number of the pool's table of tasks; 0 is none. */
  task: 4,
  /** Timeline entries written so far. */
  entries: 5,
  /** 1 while the rank blocks its thread: it must be notified to read its mail. */
  blocked: 6,
  /** Not 0 once the rank's thread has ended; main clears it when it starts the rank anew. */
  ended: 7,
} as const;

/** Indices of 64-bit floats in a rank's control block. */
export const controlFloat = {
  /** Milliseconds spent in tasks. */
  busy: 4,
  steps: 5,
  iterations: 6,
  /** The iteration of a loop that the rank holds, and the end of its chunk; -1 is none. */
  index: 7,
  chunkEnd: 8,
} as const;

/** Says that a rank holds no iteration of a loop. */
export function holdNothing(floats: Float64Array): void {
  floats[controlFloat.index] = -1;
  floats[controlFloat.chunkEnd] = -1;
}

/** Timeline entries that a rank keeps; older ones are overwritten. */
export const timelineLength = 1024;

/** 64-bit floats per entry: task, start, end (milliseconds of the wall clock), bytes touched, iterations run. */
export const timelineStride = 5;

const timelineOffset = 128;

/** Bytes of a rank's control block. */
export const controlBytes = timelineOffset + timelineLength * timelineStride * 8;

/** How a step ended. */
export const stepStatus = { done: 0, failed: 1, aborted: 2 } as const;

/** Indices of words in a resident plan's block; the words of stores and of communication follow. */
export const planWord = {
  /** Number of the latest publication of inputs. */
  epoch: 0,
  /** Bumped whenever a rank may find what it waits for. */
  bell: 1,
  /** Not 0: give the step up. */
  abort: 2,
  first: 3,
} as const;

/** One rank's control block, seen through views. */
export interface ControlBlock {
  readonly words: Int32Array;
  readonly floats: Float64Array;
  readonly timeline: Float64Array;
}

/** Views of the control block at an address. */
export function controlBlock(buffer: ArrayBufferLike, address: number): ControlBlock {
  return {
    words: new Int32Array(buffer, address, timelineOffset / 4),
    floats: new Float64Array(buffer, address, timelineOffset / 8),
    timeline: new Float64Array(buffer, address + timelineOffset, timelineLength * timelineStride),
  };
}
