/**
 * Reads what a function has captured, as it is right now. JavaScript keeps that to itself; Node's inspector, used from
 * within the process, shows it: no debugger is attached, nothing stops, and the values are the live ones. Where there is
 * no inspector, captures must be given by name.
 */
import type { AnyFunction } from "./source.js";

/** What Node's inspector answers with, as far as it is read here. */
interface RemoteObject {
  readonly objectId?: string;
}
interface Properties {
  readonly internalProperties?: readonly { readonly name: string; readonly value?: RemoteObject }[];
}
interface Session {
  connect(): void;
  on(event: string, listener: (message: { params: { context: { id: number; name: string } } }) => void): void;
  post(method: string, params: object, callback: (error: unknown, result: unknown) => void): void;
}

/** What a name stands for in a function's scopes. */
export type Binding =
  | {
      readonly kind: "value";
      readonly value: unknown;
      /** Declared nowhere nearer than the global object. */ readonly global: boolean;
    }
  /** Declared, but not initialised yet. */
  | { readonly kind: "uninitialised" }
  | { readonly kind: "missing" };

/** The scopes of one function, the innermost first. */
export type Scopes = readonly Readonly<Record<string, unknown>>[];

/** What newer engines show for a variable that is not initialised yet. */
const unavailable = "<value unavailable>";

/** How scopes are read; made when first needed, once per thread. */
class Reader {
  readonly #session: Session;
  readonly #box: { fn: unknown; take: (scopes: Scopes) => void };
  readonly #context: number;
  readonly #take: RemoteObject;
  #taken: Scopes = [];

  constructor(
    inspector: { readonly Session: new () => Session },
    vm: { createContext(box: object, options: object): object },
  ) {
    this.#session = new inspector.Session();
    this.#session.connect();
    const name = "heddle's captures";
    let context = 0;
    this.#session.on("Runtime.executionContextCreated", ({ params }) => {
      if (params.context.name === name) context = params.context.id;
    });
    this.#box = {
      fn: undefined,
      take: (scopes) => {
        this.#taken = scopes;
      },
    };
    // The session tells of a context only while it is enabled; afterwards that would cost every context of the process.
    this.#post("Runtime.enable", {});
    vm.createContext(this.#box, { name });
    this.#post("Runtime.disable", {});
    if (context === 0) throw new Error("the inspector does not show its contexts");
    this.#context = context;
    this.#take = this.#evaluate("take");
  }

  read(fn: AnyFunction): Scopes | undefined {
    this.#box.fn = fn;
    try {
      const remote = this.#evaluate("fn");
      const { internalProperties = [] } = this.#post("Runtime.getProperties", {
        objectId: remote.objectId,
        ownProperties: true,
      }) as Properties; // By the inspector's protocol.
      const scopes = internalProperties.find(({ name }) => name === "[[Scopes]]")?.value;
      if (scopes?.objectId === undefined) return undefined;
      this.#taken = [];
      this.#post("Runtime.callFunctionOn", {
        objectId: scopes.objectId,
        functionDeclaration: "function (take) { take(Array.from(this, (scope) => scope.object)); }",
        arguments: [{ objectId: this.#take.objectId }],
        silent: true,
      });
      return this.#taken;
    } finally {
      this.#box.fn = undefined;
      this.#taken = [];
      this.#post("Runtime.releaseObjectGroup", { objectGroup: "captured" });
    }
  }

  #evaluate(expression: string): RemoteObject {
    const evaluated = this.#post("Runtime.evaluate", {
      expression,
      contextId: this.#context,
      objectGroup: expression === "fn" ? "captured" : "kept",
      silent: true,
    });
    return (evaluated as { readonly result: RemoteObject }).result; // By the inspector's protocol.
  }

  /** The in-process session answers before it returns. */
  #post(method: string, params: object): unknown {
    let answer: { readonly error: unknown; readonly result: unknown } | undefined;
    this.#session.post(method, params, (error, result) => {
      answer = { error, result };
    });
    // The callback has run: what it left is not what the compiler saw last.
    const found = answer as { readonly error: unknown; readonly result: unknown } | undefined;
    if (found?.error !== null) throw new Error(`${method} was not answered`);
    return found.result;
  }
}

interface Builtins {
  readonly getBuiltinModule?: (name: string) => unknown;
}

let reader: Reader | null | undefined;

function makeReader(): Reader | null {
  try {
    const { getBuiltinModule } = (globalThis as { process?: Builtins }).process ?? {}; // Not there in a browser.
    const inspector = getBuiltinModule?.("node:inspector");
    const vm = getBuiltinModule?.("node:vm");
    if (inspector === undefined || vm === undefined) return null;
    // Node's own modules, of which this is used.
    return new Reader(
      inspector as ConstructorParameters<typeof Reader>[0],
      vm as ConstructorParameters<typeof Reader>[1],
    );
  } catch {
    return null;
  }
}

/** The scopes of a function; `undefined` for native and bound functions, and where nothing can read them. */
export function scopesOf(fn: AnyFunction): Scopes | undefined {
  reader ??= makeReader();
  try {
    return reader?.read(fn);
  } catch {
    return undefined;
  }
}

/** What a name stands for, from the innermost scope outwards. */
export function lookUp(scopes: Scopes, name: string): Binding {
  for (const [depth, scope] of scopes.entries()) {
    const global = depth === scopes.length - 1;
    if (!(global ? name in scope : Object.hasOwn(scope, name))) continue;
    try {
      const value = scope[name];
      return value === unavailable ? { kind: "uninitialised" } : { kind: "value", value, global };
    } catch {
      return { kind: "uninitialised" };
    }
  }
  return { kind: "missing" };
}
