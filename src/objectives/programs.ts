/**
 * The programs of one objective, each a graph of its residual: value, Jacobian, products with vectors. Which derivative
 * mode serves is a function of shapes alone, so that the same program is chosen everywhere.
 */
import { at } from "../base/at.js";
import type { Elements } from "../base/elements.js";
import { sizeOf } from "../base/shape.js";
import type { Aval, Graph, ValueId } from "../ir/graph.js";
import { GraphBuilder } from "../primitives/builder.js";
import { hoistConstants } from "../transform/hoist.js";
import { jacfwdGraph, jacrevGraph } from "../transform/jacobian.js";
import { jvpGraph } from "../transform/jvp.js";
import { dropDead, simplify } from "../transform/simplify.js";
import { vjpGraph } from "../transform/transpose.js";

/** What an objective is asked for. */
export type Method = "residual" | "jacobian" | "linearize" | "jvp" | "vjp" | "gradient";

/** Forward or reverse. */
export type DerivativeMode = "fwd" | "rev";

/** A compiled-to-be function of an objective. */
export interface ObjectiveProgram {
  /** Inputs: the coefficients, the data, the extra vectors of the method (tangents, a cotangent), the constants. */
  readonly graph: Graph;
  /** Arrays that the function refers to, in the order of the last inputs. */
  readonly constants: readonly { readonly aval: Aval; readonly data: Elements }[];
}

/** The residual of an objective, ready to be differentiated. */
export interface ResidualFunction {
  readonly graph: Graph;
  /** The number of arrays of coefficients; they come first. */
  readonly leaves: number;
  /** The length of the residual. */
  readonly dimF: number;
  readonly mode: DerivativeMode;
}

/** Forward mode where it is cheap enough: dimF ≥ dimX / 5. */
export function chooseMode(
  dimF: number,
  dimX: number,
  wanted: "auto" | DerivativeMode = "auto",
): DerivativeMode {
  if (wanted !== "auto") return wanted;
  return dimF >= 0.2 * dimX ? "fwd" : "rev";
}

/** Describes a traced residual. */
export function residualFunction(
  graph: Graph,
  leaves: number,
  wanted?: "auto" | DerivativeMode,
): ResidualFunction {
  const sizeOfValue = (id: ValueId): number => sizeOf(at(graph.avals, id).shape);
  const dimF = sizeOfValue(at(graph.outputs, 0));
  const dimX = graph.inputs.slice(0, leaves).reduce((sum, id) => sum + sizeOfValue(id), 0);
  return { graph, leaves, dimF, mode: chooseMode(dimF, dimX, wanted) };
}

/** A graph with outputs picked by position. */
function pick(graph: Graph, keep: (position: number) => boolean): Graph {
  return { ...graph, outputs: graph.outputs.filter((_, position) => keep(position)) };
}

/** Residual, then its derivative in each array of coefficients: [dimF, size]. */
function linearizeGraphOf({ graph, mode }: ResidualFunction, active: readonly boolean[]): Graph {
  const jacobian = mode === "fwd" ? jacfwdGraph(graph, active) : jacrevGraph(graph, active);
  const b = new GraphBuilder();
  const inputs = graph.inputs.map((id) => b.input(at(graph.avals, id)));
  return b.build([...b.inline(graph, inputs), ...b.inline(jacobian, inputs)]);
}

/** The cotangents of the coefficients for the residual itself as cotangent: Jᵀr. */
function gradientGraphOf({ graph }: ResidualFunction, active: readonly boolean[]): Graph {
  const pulled = vjpGraph(graph, active);
  const b = new GraphBuilder();
  const inputs = graph.inputs.map((id) => b.input(at(graph.avals, id)));
  const residual = b.inline(graph, inputs);
  return b.build(b.inline(pulled, [...inputs, ...residual]).slice(1));
}

/**
 * The program of a method. Outputs: `residual`: r; `jacobian`: the derivative in each array of coefficients;
 * `linearize`: r, then these; `jvp`: J·v; `vjp`: Jᵀw for each array; `gradient`: Jᵀr for each array.
 */
export function programOf(residual: ResidualFunction, method: Method): ObjectiveProgram {
  const { graph, leaves } = residual;
  const active = graph.inputs.map((_, position) => position < leaves);
  const derived = (): Graph => {
    switch (method) {
      case "residual":
        return graph;
      case "linearize":
        return linearizeGraphOf(residual, active);
      case "jacobian":
        return pick(linearizeGraphOf(residual, active), (position) => position > 0);
      case "jvp":
        return pick(jvpGraph(graph, active), (position) => position === 1);
      case "vjp":
        return pick(vjpGraph(graph, active), (position) => position > 0);
      case "gradient":
        return gradientGraphOf(residual, active);
    }
  };
  const hoisted = hoistConstants(dropDead(simplify(derived())));
  return {
    graph: hoisted.graph,
    constants: hoisted.constants.map(({ id, data }) => ({ aval: at(hoisted.graph.avals, id), data })),
  };
}
