/**
 * Which names a function takes from outside, and which of them it writes to. It follows JavaScript's scopes over the
 * syntax tree: what is declared where, and what each name refers to.
 */
import type { AnyNode, Function as FunctionNode } from "acorn";
import type { Binding, Origin, Path } from "./binding.js";
import { bindingOf, follow, own, Scope } from "./binding.js";
import { AliasFinder } from "./alias.js";
import { childrenOf } from "./syntax.js";

/** Something that changes a value from outside, or may. */
export interface Write {
  readonly origin: Origin;
  /** From what the origin leads to, to what is written. */
  readonly path: Path;
  /** A name is bound anew, a member is set, or a method is called (the last of `path`). */
  readonly how: "name" | "member" | "call";
}

/** What a function needs from outside. */
export interface Free {
  /** Free names, each with the members that are read of it; `null` if it is used as a whole. */
  readonly names: ReadonlyMap<string, ReadonlySet<string> | null>;
  /** Names that are only asked for with `typeof`: they need not exist. */
  readonly asked: ReadonlySet<string>;
  readonly writes: readonly Write[];
  /** It uses the `this` of where it was written. */
  readonly usesThis: boolean;
  readonly usesSuper: boolean;
  readonly usesImportMeta: boolean;
}

/** Functions of the language that write to their first argument, by the object that has them. */
const writers: Readonly<Record<string, readonly string[]>> = {
  Object: ["assign", "defineProperty", "defineProperties", "setPrototypeOf"],
  Reflect: ["set", "defineProperty", "deleteProperty", "setPrototypeOf"],
};

/** True for a call such as `Object.assign(target, ...)`. */
function writesToArgument(callee: AnyNode, scope: Scope): boolean {
  if (callee.type !== "MemberExpression" || callee.object.type !== "Identifier") return false;
  const { object, property } = callee;
  if (property.type !== "Identifier" || scope.find(object.name) !== undefined) return false;
  return Object.hasOwn(writers, object.name) && (writers[object.name]?.includes(property.name) ?? false);
}

/** A function's frame: arrow functions see the `this` of the one around them. */
interface Frame {
  readonly ownThis: boolean;
}

class Analysis {
  readonly names = new Map<string, Set<string> | null>();
  readonly writes: Write[] = [];
  readonly asked = new Set<string>();
  readonly #told = new Set<string>();
  readonly #aliases: AliasFinder;
  usesThis = false;
  usesSuper = false;
  usesImportMeta = false;

  constructor(root: FunctionNode) {
    this.#aliases = new AliasFinder(root);
  }

  /**
   * Visits a function in the scope around it. `given` says what its parameters stand for: the arguments of the function
   * that is captured, or what a method of a list hands to its callback.
   */
  visitFunction(
    node: FunctionNode,
    around: Scope,
    frame: Frame,
    given: (index: number) => Binding = () => own,
  ): void {
    const scope = new Scope(around, true);
    const arrow = (node as AnyNode).type === "ArrowFunctionExpression";
    const inside: Frame = arrow ? frame : { ownThis: true };
    if (!arrow) scope.names.set("arguments", own);
    if ((node as AnyNode).type === "FunctionExpression" && node.id != null)
      scope.names.set(node.id.name, own);
    node.params.forEach((pattern, index) => {
      this.#declarePattern(pattern, scope, given(index));
    });
    for (const pattern of node.params) this.#visitPatternParts(pattern, scope, inside);
    const body: AnyNode = node.body;
    if (body.type === "BlockStatement") {
      this.#hoistVars(body, scope);
      this.#visitBlock(body.body, new Scope(scope, false), inside);
    } else this.visit(body, scope, inside);
  }

  visit(node: AnyNode, scope: Scope, frame: Frame): void {
    switch (node.type) {
      case "Identifier":
        this.#read(node.name, scope, null);
        return;
      case "ThisExpression":
        if (!frame.ownThis) this.usesThis = true;
        return;
      case "Super":
        if (!frame.ownThis) this.usesSuper = true;
        return;
      case "MetaProperty":
        if (node.meta.name === "import") this.usesImportMeta = true;
        return;
      case "MemberExpression":
        this.#visitMember(node, scope, frame);
        return;
      case "CallExpression":
        this.#visitCall(node, scope, frame);
        return;
      case "AssignmentExpression":
        this.#visitTarget(node.left, scope, frame);
        this.visit(node.right, scope, frame);
        return;
      case "UpdateExpression":
        this.#visitTarget(node.argument, scope, frame);
        return;
      case "UnaryExpression":
        if (node.operator === "delete") this.#visitTarget(node.argument, scope, frame);
        else if (node.operator === "typeof" && node.argument.type === "Identifier") {
          this.#read(node.argument.name, scope, null, true);
        } else this.visit(node.argument, scope, frame);
        return;
      case "Property":
        if (node.computed) this.visit(node.key, scope, frame);
        this.visit(node.value, scope, frame);
        return;
      case "FunctionDeclaration":
      case "FunctionExpression":
      case "ArrowFunctionExpression":
        this.visitFunction(node, scope, frame);
        return;
      case "ClassDeclaration":
      case "ClassExpression":
        this.#visitClass(node, scope, frame);
        return;
      case "VariableDeclaration":
        for (const { id, init } of node.declarations) {
          this.#visitPatternParts(id, scope, frame);
          if (init != null) this.visit(init, scope, frame);
        }
        return;
      case "BlockStatement":
      case "StaticBlock":
        this.#visitBlock(node.body, new Scope(scope, node.type === "StaticBlock"), frame);
        return;
      case "ForStatement":
      case "ForInStatement":
      case "ForOfStatement":
        this.#visitLoop(node, new Scope(scope, false), frame);
        return;
      case "SwitchStatement": {
        this.visit(node.discriminant, scope, frame);
        const inner = new Scope(scope, false);
        for (const { consequent } of node.cases) this.#declareLexical(consequent, inner);
        for (const { test, consequent } of node.cases) {
          if (test != null) this.visit(test, inner, frame);
          for (const statement of consequent) this.visit(statement, inner, frame);
        }
        return;
      }
      case "CatchClause": {
        const inner = new Scope(scope, false);
        if (node.param != null) {
          this.#declarePattern(node.param, inner, own);
          this.#visitPatternParts(node.param, inner, frame);
        }
        this.#visitBlock(node.body.body, new Scope(inner, false), frame);
        return;
      }
      case "LabeledStatement":
        this.visit(node.body, scope, frame);
        return;
      case "BreakStatement":
      case "ContinueStatement":
        return;
      default:
        break;
    }
    for (const child of childrenOf(node)) this.visit(child, scope, frame);
  }

  #visitBlock(body: readonly AnyNode[], scope: Scope, frame: Frame): void {
    this.#declareLexical(body, scope);
    for (const statement of body) this.visit(statement, scope, frame);
  }

  #visitLoop(
    node: AnyNode & { type: "ForStatement" | "ForInStatement" | "ForOfStatement" },
    scope: Scope,
    frame: Frame,
  ): void {
    const head = node.type === "ForStatement" ? node.init : node.left;
    if (head?.type === "VariableDeclaration") {
      this.#declareLexical([head], scope);
      const [declared] = head.declarations;
      if (node.type === "ForOfStatement" && declared !== undefined) {
        const element = follow(this.#aliases.of(node.right, scope), null);
        this.#declarePattern(declared.id, head.kind === "var" ? scope.hoist : scope, element);
      }
    }
    if (head != null && node.type !== "ForStatement" && head.type !== "VariableDeclaration") {
      this.#visitTarget(head, scope, frame);
    } else if (head != null) this.visit(head, scope, frame);
    for (const child of childrenOf(node)) if (child !== head) this.visit(child, scope, frame);
  }

  #visitClass(
    node: AnyNode & { type: "ClassDeclaration" | "ClassExpression" },
    scope: Scope,
    frame: Frame,
  ): void {
    const inner = new Scope(scope, false);
    if (node.id != null) inner.names.set(node.id.name, own);
    if (node.superClass != null) this.visit(node.superClass, inner, frame);
    for (const member of node.body.body) {
      if (member.type === "StaticBlock") {
        this.visit(member, inner, { ownThis: true });
        continue;
      }
      if (member.computed) this.visit(member.key, inner, frame);
      if (member.value != null) this.visit(member.value, inner, { ownThis: true });
    }
  }

  /** Reads a member; of a free name, notes which. */
  #visitMember(node: AnyNode & { type: "MemberExpression" }, scope: Scope, frame: Frame): void {
    const { object, property } = node;
    if (node.computed) this.visit(property, scope, frame);
    if (object.type === "Identifier" && !node.computed && property.type === "Identifier") {
      this.#read(object.name, scope, property.name);
    } else this.visit(object, scope, frame);
  }

  #read(name: string, scope: Scope, member: string | null, onlyAsked = false): void {
    if (scope.find(name) !== undefined) return;
    if (!onlyAsked) this.#told.add(name);
    if (this.#told.has(name)) this.asked.delete(name);
    else this.asked.add(name);
    const known = this.names.get(name);
    if (member === null) this.names.set(name, null);
    else if (known === undefined) this.names.set(name, new Set([member]));
    else known?.add(member);
  }

  /** Visits what is assigned to: a name, a member, or a pattern of those. */
  #visitTarget(node: AnyNode, scope: Scope, frame: Frame): void {
    switch (node.type) {
      case "Identifier": {
        for (const origin of bindingOf(node.name, scope)) {
          this.writes.push({ origin, path: [], how: "name" });
        }
        this.#read(node.name, scope, null);
        return;
      }
      case "MemberExpression":
        this.#recordPath(node, scope, "member");
        this.visit(node, scope, frame);
        return;
      case "AssignmentPattern":
        this.#visitTarget(node.left, scope, frame);
        this.visit(node.right, scope, frame);
        return;
      case "RestElement":
        this.#visitTarget(node.argument, scope, frame);
        return;
      case "ArrayPattern":
        for (const element of node.elements) if (element !== null) this.#visitTarget(element, scope, frame);
        return;
      case "ObjectPattern":
        for (const property of node.properties) {
          if (property.type === "RestElement") this.#visitTarget(property, scope, frame);
          else {
            if (property.computed) this.visit(property.key, scope, frame);
            this.#visitTarget(property.value, scope, frame);
          }
        }
        return;
      case "ChainExpression":
      case "ParenthesizedExpression":
        this.#visitTarget(node.expression, scope, frame);
        return;
      default:
        this.visit(node, scope, frame);
    }
  }

  #visitCall(node: AnyNode & { type: "CallExpression" }, scope: Scope, frame: Frame): void {
    const { callee } = node;
    this.visit(callee, scope, frame);
    if (callee.type === "MemberExpression") this.#recordPath(callee, scope, "call");
    if (writesToArgument(callee, scope)) {
      const [target] = node.arguments;
      if (target !== undefined) {
        const origins = this.#aliases.of(target, scope);
        this.writes.push(...origins.map((origin) => ({ origin, path: [null], how: "member" as const })));
      }
    }
    const handed = this.#aliases.handedBy(callee, scope);
    for (const argument of node.arguments) {
      const { type } = argument;
      if (type === "ArrowFunctionExpression" || type === "FunctionExpression") {
        this.visitFunction(argument, scope, frame, handed);
      } else this.visit(argument, scope, frame);
    }
  }

  #recordPath(node: AnyNode & { type: "MemberExpression" }, scope: Scope, how: "member" | "call"): void {
    for (const target of this.#aliases.of(node, scope)) {
      const path = target.path.slice(-1);
      this.writes.push({ origin: { ...target, path: target.path.slice(0, -1) }, path, how });
    }
  }

  /** Declares the names of a pattern. */
  #declarePattern(pattern: AnyNode, scope: Scope, binding: Binding): void {
    switch (pattern.type) {
      case "Identifier":
        scope.names.set(pattern.name, binding);
        return;
      case "AssignmentPattern":
        this.#declarePattern(pattern.left, scope, binding);
        return;
      case "RestElement":
        this.#declarePattern(pattern.argument, scope, own);
        return;
      case "ArrayPattern":
        pattern.elements.forEach((element, index) => {
          if (element !== null) this.#declarePattern(element, scope, follow(binding, String(index)));
        });
        return;
      case "ObjectPattern":
        for (const property of pattern.properties) {
          if (property.type === "RestElement") this.#declarePattern(property, scope, binding);
          else {
            const { key } = property;
            const name = key.type === "Identifier" && !property.computed ? key.name : undefined;
            this.#declarePattern(property.value, scope, name === undefined ? own : follow(binding, name));
          }
        }
        return;
      default:
        return;
    }
  }

  /** Visits the expressions inside a pattern that declares names: defaults and computed keys. */
  #visitPatternParts(pattern: AnyNode, scope: Scope, frame: Frame): void {
    switch (pattern.type) {
      case "AssignmentPattern":
        this.#visitPatternParts(pattern.left, scope, frame);
        this.visit(pattern.right, scope, frame);
        return;
      case "RestElement":
        this.#visitPatternParts(pattern.argument, scope, frame);
        return;
      case "ArrayPattern":
        for (const element of pattern.elements) {
          if (element !== null) this.#visitPatternParts(element, scope, frame);
        }
        return;
      case "ObjectPattern":
        for (const property of pattern.properties) {
          if (property.type === "RestElement") continue;
          if (property.computed) this.visit(property.key, scope, frame);
          this.#visitPatternParts(property.value, scope, frame);
        }
        return;
      default:
        return;
    }
  }

  /** Declares what a block's own statements declare: `let`, `const`, classes and functions. */
  #declareLexical(body: readonly AnyNode[], scope: Scope): void {
    for (const statement of body) {
      if (statement.type === "VariableDeclaration" && statement.kind !== "var") {
        for (const { id, init } of statement.declarations) {
          this.#declarePattern(id, scope, this.#aliases.ofInitializer(id, init, scope));
        }
      } else if (statement.type === "FunctionDeclaration" || statement.type === "ClassDeclaration") {
        // Only `export default` leaves the name out.
        if (statement.id !== null) scope.names.set(statement.id.name, own);
      }
    }
  }

  /** Declares every `var` of a function's body, however deep. */
  #hoistVars(node: AnyNode, scope: Scope): void {
    if (node.type === "VariableDeclaration" && node.kind === "var") {
      for (const { id, init } of node.declarations) {
        this.#declarePattern(id, scope.hoist, this.#aliases.ofInitializer(id, init, scope));
      }
    }
    for (const child of childrenOf(node)) {
      const { type } = child;
      const isFunction = type.endsWith("FunctionExpression") || type === "FunctionDeclaration";
      if (!isFunction && !type.startsWith("Class")) this.#hoistVars(child, scope);
    }
  }
}

const cache = new WeakMap<FunctionNode, Free>();

/** What a function needs from outside, by its syntax tree. */
export function freeOf(node: FunctionNode): Free {
  let free = cache.get(node);
  if (free === undefined) {
    const analysis = new Analysis(node);
    // A method's or function's own `this` is not that of its surroundings; an arrow function's is.
    analysis.visitFunction(node, new Scope(undefined, true), { ownThis: false }, (index) => [
      { kind: "argument", index, path: [] },
    ]);
    free = analysis;
    cache.set(node, free);
  }
  return free;
}
