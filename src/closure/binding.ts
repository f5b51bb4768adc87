/** What a name inside a function stands for: scopes, and the way from a name back to where its value comes from. */

/** Where a name that the function did not make itself comes from. */
export type Origin =
  /** From outside. */
  | { readonly kind: "free"; readonly name: string }
  /** From an argument: its position, and the properties followed to reach it. */
  | { readonly kind: "argument"; readonly index: number; readonly path: readonly string[] };

/** What a declared name stands for: nothing from outside, or a part of an argument. */
export type Binding = Origin | "own";

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
export function follow(binding: Binding, name: string): Binding {
  return binding === "own" || binding.kind === "free"
    ? binding
    : { ...binding, path: [...binding.path, name] };
}

/** Where a name comes from; `undefined` if the function made it itself. */
export function originOf(name: string, scope: Scope): Origin | undefined {
  const binding = scope.find(name);
  if (binding === undefined) return { kind: "free", name };
  return binding === "own" ? undefined : binding;
}
