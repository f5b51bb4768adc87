/**
 * How values cross to a rank and back. Each kind of value has a codec, and heddle's own kinds are registered exactly as
 * a user's are. Encoded values are plain data that structured cloning copies; identity and cycles are kept.
 */
import { CaptureError } from "../base/errors.js";
import { isPrimitive } from "./kinds.js";
import { freezePlain, mixed, PlainCopies } from "./plain.js";

/** What a codec is given to encode with. */
export interface EncodeContext {
  /** Encodes a part of the value; `step` says which, as it would be written: `.name`, `[3]`. */
  encode(part: unknown, step: string): unknown;
  /** Where the value stands, as it would be written: `with.state.socket`. */
  readonly path: string;
  /** Refuses the value. */
  refuse(found: string, remedy: string): never;
  /** Asks for bytes of the shared heap that the other side may use while the body runs; see `DecodeContext.scratch`. */
  reserve(bytes: number): void;
}

/** Shared memory that belongs to one rank while a body runs. */
export interface Scratch {
  /** The heap's memory: a shared `WebAssembly.Memory`. */
  readonly memory: unknown;
  readonly address: number;
  readonly bytes: number;
}

/** What a codec is given to decode with. */
export interface DecodeContext {
  decode(part: unknown): unknown;
  /** Makes the value known before its parts are decoded, so that they may refer to it. */
  hold(value: unknown): void;
  /** Freezes what a body captures: writing to a rank's own copy would be lost. Other values pass as they are. */
  freeze<T extends object>(value: T): T;
  /** The largest of what was reserved when encoding; one value at a time may use it. */
  readonly scratch: Scratch | undefined;
}

/** How one kind of value crosses. */
export interface Codec<T = unknown> {
  readonly name: string;
  /** True for values of this kind. */
  readonly test: (value: unknown) => boolean;
  /** The value as data that structured cloning accepts; parts that may be anything go through `context.encode`. */
  readonly encode: (value: T, context: EncodeContext) => unknown;
  /**
   * The value again, on the other side. The decoder of a codec that heddle does not know crosses by its source: it may
   * use its parameters and global names only.
   */
  readonly decode: (data: unknown, context: DecodeContext) => T;
  /** True if both sides see the same memory, so that writes to the value's members are not lost. */
  readonly shared?: (value: T) => boolean;
  /** The rank of a pool that holds the value; items that are held run there. */
  readonly pin?: (value: T, pool: object) => number | undefined;
}

/** An encoded value that is not a primitive. */
export interface Encoded {
  /** The codec's name. */
  readonly c: string;
  /** What it made of the value. */
  d: unknown;
}

/** Plain data: nothing in it needs a codec. */
interface PlainWire {
  readonly plain: unknown;
}

/** Codecs in the order in which they are asked; the latest first. */
const codecs: Codec[] = [];
/** Those of them that may want what looks like plain data. */
const claimants: Codec[] = [];
const builtIn = new Set<string>();

/**
 * Teaches heddle to take values of a class to ranks and back.
 *
 * Throws `CaptureError` if the name is taken.
 */
export function registerCodec<T>(codec: Codec<T>): void {
  add(codec);
  claimants.unshift(codec as unknown as Codec); // As in `add`.
}

function add<T>(codec: Codec<T>): void {
  if (codecs.some(({ name }) => name === codec.name)) {
    throw new CaptureError({
      operation: "registerCodec",
      argument: "codec.name",
      found: `"${codec.name}", which another codec has`,
      expected: "a name of its own",
    });
  }
  // `test` guards every call of `encode`, `shared` and `pin`: they only see values of the codec's kind.
  codecs.unshift(codec as unknown as Codec);
}

/** Registers a codec that every thread knows, because it comes with heddle. */
export function registerOwnCodec<T>(codec: Codec<T>): void {
  registerCodec(codec);
  builtIn.add(codec.name);
}

/** Registers the codec of a kind that the language tells from all others: it claims nothing else. */
export function registerKind<T>(codec: Codec<T>): void {
  add(codec);
  builtIn.add(codec.name);
}

function isClaimed(value: object): boolean {
  for (const codec of claimants) if (codec.test(value)) return true;
  return false;
}

/** The codec of a value that is not a primitive. */
export function codecOf(value: unknown): Codec | undefined {
  return codecs.find((codec) => codec.test(value));
}

/** True if writes to members of the value reach everybody. */
export function isShared(value: unknown): boolean {
  const codec = codecOf(value);
  return codec?.shared?.(value) ?? false;
}

function describe(value: unknown): string {
  if (typeof value === "symbol") return "a symbol";
  if (typeof value === "function") return "a function";
  if (typeof value !== "object" || value === null) return typeof value;
  const name = (value as { constructor?: { name?: unknown } }).constructor?.name;
  return typeof name === "string" && name !== "" ? `an instance of ${name}` : "an object of an unknown class";
}

const remedies: Readonly<Record<string, string>> = {
  Promise: "await it first, and pass its value",
  WeakMap: "pass a Map of what is needed",
  WeakSet: "pass a Set of what is needed",
  Socket: "open the connection inside the body, once per rank: ctx.local(key, init)",
  Server: "open it inside the body, once per rank: ctx.local(key, init)",
};

/** Values of one message: what occurs twice is encoded once. */
export class Encoder {
  /** Decoders of codecs that the other side may not know, by name. */
  readonly foreign = new Map<string, Codec>();
  /** The most bytes of scratch memory that a value asked for. */
  scratchBytes = 0;
  /** Where the first value stands that is memory which everybody sees. */
  sharedPath: string | undefined;
  readonly #operation: string;
  readonly #way: "to" | "from";
  readonly #known = new Map<unknown, Encoded | PlainWire>();
  readonly #plain = new PlainCopies(isClaimed);

  /** `way`: whether the values go to a rank, or come from one. */
  constructor(operation: string, way: "to" | "from" = "to") {
    this.#operation = operation;
    this.#way = way;
  }

  #usualRemedy(value: unknown): string {
    if (typeof value === "symbol") return "use a string";
    if (this.#way === "from") return "return plain data, and make the object of it outside";
    return "pass plain data and make the object in the body, or register a codec for its class";
  }

  encode(value: unknown, path: string): unknown {
    if (isPrimitive(value)) return value;
    const known = this.#known.get(value);
    if (known !== undefined) return known;
    const plain = this.#plain.of(value);
    if (plain !== mixed) {
      const wire: PlainWire = { plain };
      this.#known.set(value, wire);
      return wire;
    }
    const refuse = (found: string, remedy: string): never => {
      throw new CaptureError({
        operation: this.#operation,
        argument: path,
        found: `${found}, which cannot cross ${this.#way} a rank`,
        remedy,
      });
    };
    const codec = codecOf(value);
    if (codec === undefined) {
      const found = describe(value);
      const remedy = Object.entries(remedies).find(([name]) => found.endsWith(` ${name}`))?.[1];
      return refuse(found, remedy ?? this.#usualRemedy(value));
    }
    if (!builtIn.has(codec.name)) this.foreign.set(codec.name, codec);
    if (codec.shared?.(value) === true) this.sharedPath ??= path;
    const encoded: Encoded = { c: codec.name, d: undefined };
    this.#known.set(value, encoded);
    encoded.d = codec.encode(value, {
      path,
      encode: (part, step) => this.encode(part, path + step),
      refuse,
      reserve: (bytes) => {
        this.scratchBytes = Math.max(this.scratchBytes, bytes);
      },
    });
    return encoded;
  }
}

/** How codecs that are not registered on this thread decode, by name. */
export type ForeignDecoders = ReadonlyMap<string, Codec["decode"]>;

/** Values of one message, put together again. */
export class Decoder {
  readonly #foreign: ForeignDecoders;
  readonly #scratch: Scratch | undefined;
  readonly #known = new Map<unknown, unknown>();
  readonly #frozen: boolean;

  /** `frozen`: plain objects and lists are what a body captures, and not to be written to. */
  constructor(foreign: ForeignDecoders = new Map(), scratch?: Scratch, frozen = false) {
    this.#foreign = foreign;
    this.#scratch = scratch;
    this.#frozen = frozen;
  }

  decode(data: unknown): unknown {
    if (isPrimitive(data)) return data;
    if (this.#known.has(data)) return this.#known.get(data);
    const wire = data as Encoded | PlainWire; // What is not a primitive was made by `Encoder`.
    if ("plain" in wire) {
      if (this.#frozen) freezePlain(wire.plain);
      return wire.plain;
    }
    const { c: name, d } = wire;
    const decode = codecs.find((codec) => codec.name === name)?.decode ?? this.#foreign.get(name);
    if (decode === undefined) {
      throw new CaptureError({
        operation: "decode",
        found: `a value of the codec "${name}", which this thread does not know`,
        remedy: "register the codec before the first loop",
      });
    }
    const value = decode(d, {
      decode: (part) => this.decode(part),
      hold: (early) => this.#known.set(data, early),
      freeze: (made) => (this.#frozen ? Object.freeze(made) : made),
      scratch: this.#scratch,
    });
    this.#known.set(data, value);
    return value;
  }
}
