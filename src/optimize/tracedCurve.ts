/**
 * A curve that is an array program: traced once, compiled, and differentiated exactly. The residual, its weights
 * included, is one program of the vector of parameters; its Jacobian is another.
 */
import { NDArray, np, Program, toArray, traceFunction } from "../arrays/index.js";
import type { ArrayInput } from "../arrays/index.js";
import { at } from "../base/at.js";
import { ArgumentError, HeddleError, ShapeError } from "../base/errors.js";
import { formatShape } from "../base/shape.js";
import { jacfwdGraph } from "../transform/jacobian.js";
import { simplify } from "../transform/simplify.js";
import type { CurveData, PerParameter } from "./curveData.js";
import type { LeastSquaresProblem } from "./problem.js";

/** The data of a curve as an array program sees them: one array, or one under each name. */
export type TracedX<X> = X extends NDArray | Float64Array | readonly unknown[]
  ? NDArray<"float64">
  : { readonly [K in keyof X]: NDArray<"float64"> };

/** What `curveFit` takes for `xdata` when it traces: a vector, a list of them, or several under names. */
export type XData = ArrayInput | Readonly<Record<string, ArrayInput>>;

/** A model as an array program: the curve at all of `x`. */
export type TracedCurve<X, P> = (
  x: TracedX<X>,
  parameters: PerParameter<P, NDArray<"float64">>,
) => ArrayInput;

/** A problem that may hold memory. */
export interface CurveProblem extends LeastSquaresProblem {
  /** Gives the memory back when the fit has ended. */
  readonly release?: () => void;
}

/** The problem of fitting an array program to data. */
export function tracedCurveProblem<X extends XData, P>(
  operation: string,
  f: TracedCurve<X, P>,
  xdata: X,
  data: CurveData,
): CurveProblem {
  const { names, sigma, y } = data;
  const x = arraysOf(operation, xdata);
  const target = np.array(y);
  const weights = sigma === undefined ? undefined : np.array(sigma);

  const residual = (p: NDArray): NDArray => {
    // The names are the keys of P, and x was made to be what TracedX says.
    const parameters = Object.fromEntries(names.map((name, j) => [name, p.slice(j)]));
    const curve = traced(operation, () =>
      f(x as TracedX<X>, parameters as PerParameter<P, NDArray<"float64">>),
    );
    const known = curve.ndim === 0 ? np.broadcastTo(curve, [y.length]) : curve;
    if (known.ndim !== 1 || known.shape[0] !== y.length) {
      throw new ShapeError({
        operation,
        argument: "f",
        found: `a curve of shape ${formatShape(curve.shape)}`,
        expected: `[${y.length}], as ydata has`,
        remedy: "return one value per observation",
      });
    }
    const difference = np.subtract(known.astype("float64"), target);
    return weights === undefined ? difference : np.divide(difference, weights);
  };

  const vector = { dtype: "float64", shape: [names.length] } as const;
  const { graph } = traceFunction(operation, (leaves) => residual(at(leaves, 0)), [vector]);
  const value = new Program(simplify(graph));
  const derivative = new Program(simplify(jacfwdGraph(graph, [true])));
  const run = (program: Program, p: Float64Array): Float64Array => {
    const [result] = program.run([p]);
    // Both programs have one output, of the type that the residual was converted to.
    return result as Float64Array;
  };
  return {
    dimX: names.length,
    residual: (p) => run(value, p),
    jacobian: (p) => run(derivative, p),
    release() {
      value.release();
      derivative.release();
    },
  };
}

function arraysOf(operation: string, xdata: XData): unknown {
  const convert = (argument: string, value: ArrayInput): NDArray<"float64"> =>
    toArray(operation, argument, value).astype("float64");
  if (isRecord(xdata)) {
    return Object.fromEntries(
      Object.entries(xdata).map(([name, value]) => [name, convert(`xdata.${name}`, value)]),
    );
  }
  return convert("xdata", xdata);
}

/** True for data under names, false for what is one array. */
export function isRecord(xdata: XData): xdata is Readonly<Record<string, ArrayInput>> {
  return (
    typeof xdata === "object" &&
    !(xdata instanceof NDArray) &&
    !Array.isArray(xdata) &&
    !ArrayBuffer.isView(xdata)
  );
}

/** The model's result; what a plain function makes of arrays is explained. */
function traced(operation: string, model: () => ArrayInput): NDArray {
  let result: ArrayInput;
  try {
    result = model();
  } catch (error) {
    if (error instanceof HeddleError) throw error;
    throw new ArgumentError({
      operation,
      argument: "f",
      found: `a function that failed when it was traced (${String(error)})`,
      expected: "an array program: x and the parameters are NDArrays",
      remedy: 'write it with np, or give jac (for example "3-point") to have it called with plain numbers',
      cause: error,
    });
  }
  return toArray(operation, "the result of f", result);
}
