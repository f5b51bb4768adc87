/**
 * Memory that an array reads until its owner needs it. A result that ranks wrote in place lives in shared memory; the
 * owner either ends the array's life, because the user passed it as `out`, or moves its elements elsewhere first.
 */
import type { Storage } from "../base/dtype.js";
import { StaleArrayError } from "../base/errors.js";

/**
 * Whose memory it is: the array's own; somebody else's, who needs it again; or somebody else's until it is read, since
 * whoever reads may keep what they see.
 */
export type Tenure = "own" | "lent" | "lent unread";

/** The elements of an array, wherever they are now. */
export class Lease {
  /** The number of elements. */
  readonly length: number;
  #data: Storage | null;
  #tenure: Tenure;

  constructor(data: Storage, tenure: Tenure) {
    this.length = data.length;
    this.#data = data;
    this.#tenure = tenure;
  }

  /** The elements. Throws `StaleArrayError` once the lease has ended. */
  get data(): Storage {
    if (this.#tenure === "lent unread") this.detach();
    return this.#data ?? this.#refuse();
  }

  /** Throws `StaleArrayError` once the lease has ended. */
  requireLive(): void {
    if (this.#data === null) this.#refuse();
  }

  #refuse(): never {
    throw new StaleArrayError({
      operation: "read",
      found: "an array whose memory was given away as `out`",
      remedy: "use the result of that call, or copy the array with np.array(x.data) before",
    });
  }

  /** Ends the array: reading it throws from now on. */
  end(): void {
    this.#data = null;
  }

  /** Moves the elements to memory of their own, if the array is alive and they are not there yet. */
  detach(): void {
    if (this.#data === null || this.#tenure === "own") return;
    this.#data = this.#data.slice();
    this.#tenure = "own";
  }
}
