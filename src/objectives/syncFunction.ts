/**
 * The methods of an objective function that answer at once, for optimizers that expect plain functions. On a pool the
 * calling thread blocks while the ranks work, and works with them.
 */
import type { NDArray } from "../arrays/index.js";
import type { ArrayTree } from "./arrayTree.js";
import type { BlockingOptions, BlockingOutOptions, Engine, Linearization } from "./engine.js";
import type { FunctionCalls, GradientOf } from "./functionCalls.js";
import { evaluateNow } from "./functionCalls.js";

/**
 * An objective function's methods as functions that block. They throw what the awaited ones reject with, and
 * `BlockingError` while an asynchronous call is under way on the same pool.
 */
export class SyncFunction<X = unknown> {
  readonly #calls: FunctionCalls<X>;
  readonly #engine: Engine;

  /** @internal */
  constructor(calls: FunctionCalls<X>, engine: Engine) {
    this.#calls = calls;
    this.#engine = engine;
  }

  /** The residuals of all objectives, [dimF]. */
  residual(x: ArrayTree, options: BlockingOptions = {}): NDArray<"float64"> {
    return evaluateNow(this.#engine, this.#calls.residual(x), options);
  }

  /** The Jacobian, [dimF, dimX]. */
  jacobian(x: ArrayTree, options: BlockingOutOptions<NDArray> = {}): NDArray<"float64"> {
    return evaluateNow(this.#engine, this.#calls.jacobian(x, options), options);
  }

  /** Residual and Jacobian together. */
  linearize(x: ArrayTree, options: BlockingOutOptions<Linearization> = {}): Linearization {
    return evaluateNow(this.#engine, this.#calls.linearize(x, options), options);
  }

  /** Half the sum of squares of the residual. */
  cost(x: ArrayTree, options: BlockingOptions = {}): number {
    return evaluateNow(this.#engine, this.#calls.cost(x), options);
  }

  /** The gradient of the cost, in the form of the coefficients. */
  gradient(x: ArrayTree, options: BlockingOptions = {}): GradientOf<X> {
    return evaluateNow(this.#engine, this.#calls.gradient(x), options);
  }

  /** J·v for a tangent v of the coefficients, [dimF]. */
  jvp(x: ArrayTree, v: ArrayTree, options: BlockingOptions = {}): NDArray<"float64"> {
    return evaluateNow(this.#engine, this.#calls.jvp(x, v), options);
  }

  /** Jᵀw for a cotangent w of the residual, in the form of the coefficients. */
  vjp(x: ArrayTree, w: ArrayTree, options: BlockingOptions = {}): GradientOf<X> {
    return evaluateNow(this.#engine, this.#calls.vjp(x, w), options);
  }

  /** As the objective function's `setData`. */
  setData(name: string, data: ArrayTree): void {
    for (const write of this.#calls.writes(name, data)) {
      this.#engine.writeNow(write.objective, write.leaf, write.data);
    }
  }

  /** As the objective function's `dispose`. */
  dispose(): void {
    if (this.#calls.disposed) return;
    this.#calls.disposed = true;
    this.#engine.disposeNow();
  }
}
