/**
 * The words that main and ranks share, by name. A rank's control block and a resident plan's block are ranges of the
 * shared heap; everybody addresses them through these indices.
 */

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
  /** Bumped by main with every command and with mail on the control channel: what an idle rank waits for. */
  attention: 6,
  /** 1 while the rank blocks its thread: it must be notified to read its mail. */
  blocked: 7,
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

/** Timeline entries that a rank keeps; older ones are overwritten. */
export const timelineLength = 1024;

/** 64-bit floats per entry: task, start, end (milliseconds of the wall clock), bytes touched. */
export const timelineStride = 4;

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
