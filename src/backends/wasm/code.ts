/**
 * The body of one function under construction: instructions, typed locals, and the possibility to write a piece of code
 * aside (a loop's prelude is known only when its body has been written).
 */
import type { FunctionBody, ValueType } from "./encoder.js";
import { pushFloat32, pushFloat64, pushSigned, pushUnsigned, valueType } from "./encoder.js";
import type { Instruction } from "./opcodes.js";
import { opcode } from "./opcodes.js";

/** The number of a local of a function, parameters first. */
export type Local = number;

/** A function under construction. */
export class Code {
  #bytes: number[] = [];
  readonly #locals: ValueType[] = [];
  readonly #parameters: ValueType[];

  constructor(parameters: readonly ValueType[]) {
    this.#parameters = [...parameters];
  }

  /** A fresh local. */
  local(type: ValueType): Local {
    this.#locals.push(type);
    return this.#parameters.length + this.#locals.length - 1;
  }

  /** Appends an instruction without immediates. */
  op(...names: readonly Instruction[]): void {
    for (const name of names) {
      const code: number = opcode[name];
      if (code >= 0xfd00) {
        this.#bytes.push(0xfd);
        pushUnsigned(this.#bytes, code - 0xfd00);
      } else if (code >= 0xfc00) {
        this.#bytes.push(0xfc, code - 0xfc00);
      } else {
        this.#bytes.push(code);
      }
    }
  }

  get(local: Local): void {
    this.#bytes.push(0x20);
    pushUnsigned(this.#bytes, local);
  }

  set(local: Local): void {
    this.#bytes.push(0x21);
    pushUnsigned(this.#bytes, local);
  }

  tee(local: Local): void {
    this.#bytes.push(0x22);
    pushUnsigned(this.#bytes, local);
  }

  i32(value: number): void {
    this.#bytes.push(0x41);
    pushSigned(this.#bytes, value);
  }

  f64(value: number): void {
    this.#bytes.push(0x44);
    pushFloat64(this.#bytes, value);
  }

  f32(value: number): void {
    this.#bytes.push(0x43);
    pushFloat32(this.#bytes, value);
  }

  /** A memory instruction with its constant offset. */
  memory(name: Instruction, alignment: number, offset: number): void {
    this.op(name);
    pushUnsigned(this.#bytes, alignment);
    pushUnsigned(this.#bytes, offset);
  }

  /** An instruction that names a lane. */
  lane(name: Instruction, lane: number): void {
    this.op(name);
    this.#bytes.push(lane);
  }

  call(index: number): void {
    this.#bytes.push(0x10);
    pushUnsigned(this.#bytes, index);
  }

  /** `select` of values of a type that is not a plain number. */
  selectTyped(type: ValueType): void {
    this.#bytes.push(0x1c, 0x01, valueType[type]);
  }

  /** `if … else … end`, the condition being on the stack. */
  branch(result: ValueType | null, then: () => void, otherwise?: () => void): void {
    this.#bytes.push(0x04, result === null ? 0x40 : valueType[result]);
    then();
    if (otherwise !== undefined) {
      this.#bytes.push(0x05);
      otherwise();
    }
    this.#bytes.push(0x0b);
  }

  /** Runs `body`, which leaves a condition on the stack, again while the condition holds. */
  repeat(body: () => void): void {
    this.#bytes.push(0x03, 0x40);
    body();
    this.#bytes.push(0x0d, 0x00, 0x0b);
  }

  /** Writes to `target` instead of the body while `write` runs. */
  redirect<T>(target: number[], write: () => T): T {
    const saved = this.#bytes;
    this.#bytes = target;
    try {
      return write();
    } finally {
      this.#bytes = saved;
    }
  }

  /** Appends code that was written aside. */
  append(bytes: readonly number[]): void {
    for (const byte of bytes) this.#bytes.push(byte);
  }

  /** The finished function. */
  finish(name: string): FunctionBody {
    return {
      name,
      signature: { parameters: this.#parameters, results: [] },
      locals: this.#locals,
      code: this.#bytes,
    };
  }
}
