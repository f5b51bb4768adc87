/**
 * The elements of an array that never change, wherever they lie: in memory of their own or, while ranks hold the array,
 * only where the ranks read them.
 */
import type { Storage } from "./dtype.js";

const owners = new WeakMap<Storage, Elements>();

/** Whose memory this is alone, if anybody's. */
export function ownerOf(data: Storage): Elements | undefined {
  return owners.get(data);
}

export class Elements {
  readonly length: number;
  readonly byteLength: number;
  #data: Storage;
  #moved = false;
  /** Nobody else has the memory of its own. */
  #exclusive: boolean;

  /** Elements in memory that nobody else writes to or, if it is `exclusive`, that nobody else has. */
  constructor(data: Storage, exclusive = false) {
    this.length = data.length;
    this.byteLength = data.byteLength;
    this.#data = data;
    this.#exclusive = exclusive;
    if (exclusive) owners.set(data, this);
  }

  /** True while they lie in memory that is not their own. */
  get moved(): boolean {
    return this.#moved;
  }

  /** The elements, for whoever reads them now and keeps nothing: the memory may be given up later. */
  get now(): Storage {
    return this.#data;
  }

  /** The elements in memory that stays as it is, for whoever may keep it. */
  get kept(): Storage {
    if (this.#moved) this.#leave();
    this.#exclusive = false;
    return this.#data;
  }

  /**
   * The elements have been copied to `place`. If nobody else has the memory of their own, they lie only there from now on,
   * and that memory is the answer: nobody reads it any more.
   */
  moveTo(place: Storage): ArrayBuffer | undefined {
    const { buffer, byteLength } = this.#data;
    const whole = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength;
    if (!this.#exclusive || this.#moved || !whole) return undefined;
    this.#data = place;
    this.#moved = true;
    return buffer;
  }

  /** `place` is given up: elements that lie there move to memory of their own. */
  moveFrom(place: Storage): void {
    if (this.#data === place) this.#leave();
  }

  #leave(): void {
    this.#data = this.#data.slice();
    this.#moved = false;
    owners.set(this.#data, this);
  }
}

/** What lies in memory that stays, or elements wherever they are, for whoever reads them now. */
export function storageNow(data: Storage | Elements): Storage {
  return data instanceof Elements ? data.now : data;
}
