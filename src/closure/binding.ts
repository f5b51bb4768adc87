/** What a name inside a function stands for: scopes, and the way from a name back to where its value comes from. */

/** Properties followed from a value; `null` is one that is computed. */
export type Path = readonly (string | null)[];

/** Where a name that the function did not make itself comes from, and the way to it. */
export type Origin =
  /** From outside. */
  | { readonly kind: "free"; readonly name: string; readonly path: Path }
  /** From an argument, by its position. */
  | { readonly kind: "argument"; readonly index: number; readonly path: Path };

/** What a name may stand for: parts of what came from outside; nothing but the function's own, if there are none. */
export type Binding = readonly Origin[];

/** The binding of what the function made itself. */
export const own: Binding = [];

/** The names that a function, a block or a loop declares. */
export class Scope {
  readonly names = new Map<string, Binding>();
  readonly parent: Scope | undefined;
  /** The scope that holds `var` declarations. */
  readonly hoist: Scope;

  constructor(parent: Scope | undefined, isFunction: boolean) {
    this.parent = parent;
    this.hoist = isFunction || parent === undefined ? this : parent.hoist;
  }

  find(name: string): Binding | undefined {
    return this.names.get(name) ?? this.parent?.find(name);
  }
}

/** The binding of a part of what a name stands for. */
export function follow(binding: Binding, step: string | null): Binding {
  return binding.map((origin) => ({ ...origin, path: [...origin.path, step] }));
}

/** Where a name comes from. */
export function bindingOf(name: string, scope: Scope): Binding {
  return scope.find(name) ?? [{ kind: "free", name, path: [] }];
}
