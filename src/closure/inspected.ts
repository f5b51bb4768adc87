/** Node's inspector, as far as captures need it: the scopes of functions, one after another, as live objects. */
import { at } from "../base/at.js";
import type { AnyFunction } from "./source.js";

/** What the inspector answers with, as far as it is read here. */
interface RemoteObject {
  readonly objectId?: string;
  readonly value?: { readonly scriptId?: string };
}
interface Properties {
  readonly internalProperties?: readonly { readonly name: string; readonly value?: RemoteObject }[];
}
interface Session {
  connect(): void;
  on(event: string, listener: (message: { params: { context: { id: number; name: string } } }) => void): void;
  post(method: string, params: object, callback: (error: unknown, result: unknown) => void): void;
}
/** The inspector's own list of a function's scopes. */
type ScopeList = ArrayLike<{
  readonly description: string;
  readonly object: Readonly<Record<string, unknown>>;
}>;

/** What is known of a function once it has been looked at. */
export interface Place {
  /** Its scopes, the innermost first. */
  readonly scopes: readonly Readonly<Record<string, unknown>>[];
  /** The script that it was written in, by the engine's own name for it. */
  readonly script: string | undefined;
  /** Which of the scopes is a module's; -1 if none is. */
  readonly moduleDepth: number;
}

/** Is told of a function, and says which one to look at next. */
type Found = (fn: AnyFunction, place: Place) => AnyFunction | undefined;

/** One session with the inspector; made when first needed, once per thread. */
class Inspector {
  readonly #session: Session;
  /** The only way for an object to get into a message is to be a variable of a context. */
  readonly #box: { fn: unknown; readonly take: (this: ScopeList) => unknown };
  readonly #context: number;
  /** The function that is being looked at. */
  #fn: AnyFunction | undefined;
  #script: string | undefined;
  #found: Found = () => undefined;
  #answer: unknown;
  readonly #answered = (error: unknown, result: unknown): void => {
    this.#answer = error === null ? result : undefined;
  };

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
    const taken = (list: ScopeList): unknown => this.#taken(list);
    this.#box = {
      fn: undefined,
      take() {
        return taken(this);
      },
    };
    // The session tells of a context only while it is enabled; afterwards that would cost every context of the process.
    this.#post("Runtime.enable", {});
    vm.createContext(this.#box, { name });
    this.#post("Runtime.disable", {});
    if (context === 0) throw new Error("the inspector does not show its contexts");
    this.#context = context;
  }

  look(first: AnyFunction, found: Found): void {
    this.#found = found;
    this.#fn = this.#box.fn = first;
    try {
      let { objectId } = this.#result("Runtime.evaluate", {
        expression: "fn",
        contextId: this.#context,
        objectGroup: "captured",
      });
      while (objectId !== undefined) {
        const { internalProperties = [] } = this.#post("Runtime.getProperties", {
          objectId,
          ownProperties: true,
        }) as Properties; // By the inspector's protocol.
        let scopes: string | undefined;
        this.#script = undefined;
        for (const { name, value } of internalProperties) {
          if (name === "[[Scopes]]") scopes = value?.objectId;
          else if (name === "[[FunctionLocation]]") this.#script = value?.value?.scriptId;
        }
        if (scopes === undefined) return;
        // An expression that is a function is as good as the declaration of one.
        const call = { objectId: scopes, functionDeclaration: "take", objectGroup: "captured" };
        ({ objectId } = this.#result("Runtime.callFunctionOn", call));
      }
    } finally {
      this.#fn = this.#box.fn = undefined;
      this.#found = () => undefined;
      this.#post("Runtime.releaseObjectGroup", { objectGroup: "captured" });
    }
  }

  /** Called through the inspector, with the live list; what it returns is named in the answer. */
  #taken(list: ScopeList): AnyFunction | undefined {
    const fn = this.#fn;
    if (fn === undefined) return undefined;
    const scopes: Place["scopes"][number][] = [];
    let moduleDepth = -1;
    // The list has no methods.
    for (let depth = 0; depth < list.length; depth++) {
      const { description, object } = at(list, depth);
      scopes.push(object);
      if (description === "Module") moduleDepth = depth;
    }
    this.#fn = this.#found(fn, { scopes, script: this.#script, moduleDepth });
    return this.#fn;
  }

  #result(method: string, params: object): RemoteObject {
    return (this.#post(method, params) as { readonly result: RemoteObject }).result; // By the inspector's protocol.
  }

  /** The in-process session answers before it returns. */
  #post(method: string, params: object): unknown {
    this.#answer = undefined;
    this.#session.post(method, params, this.#answered);
    const answer = this.#answer;
    this.#answer = undefined;
    if (answer === undefined) throw new Error(`${method} was not answered`);
    return answer;
  }
}

interface Builtins {
  readonly getBuiltinModule?: (name: string) => unknown;
}

let inspector: Inspector | null | undefined;

function connect(): Inspector | null {
  try {
    const { getBuiltinModule } = (globalThis as { process?: Builtins }).process ?? {}; // Not there in a browser.
    const module = getBuiltinModule?.("node:inspector");
    const vm = getBuiltinModule?.("node:vm");
    if (module === undefined || vm === undefined) return null;
    // Node's own modules, of which this is used.
    return new Inspector(
      module as ConstructorParameters<typeof Inspector>[0],
      vm as ConstructorParameters<typeof Inspector>[1],
    );
  } catch {
    return null;
  }
}

/**
 * Looks at a function, and then at those that `found` names, one after another. Finds nothing for native and bound
 * functions, and where there is no inspector.
 */
export function inspected(first: AnyFunction, found: Found): void {
  inspector ??= connect();
  try {
    inspector?.look(first, found);
  } catch {
    // What could not be read counts as not found, and is refused by name.
  }
}
