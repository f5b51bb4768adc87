/**
 * Which way a reduction runs fastest, read off the strides of its loads. Printers follow it, and fusion leaves tiled
 * reductions alone. The answer depends on extents only, so that it never changes the bits of a result.
 */
import type { DType } from "../../base/dtype.js";
import { itemSize } from "../../base/dtype.js";
import type { Index, Scalar } from "../../ir/kernel.js";
import type { IndexAlgebra } from "./polynomial.js";
import { linearIn, mentions } from "./polynomial.js";
import type { Loop, Statement } from "./program.js";
import { forEachScalar } from "./program.js";

type Reduce = Extract<Statement, { kind: "reduce" }>;
type Load = Extract<Scalar, { kind: "load" }>;

/** The columns of a panel: what 64 bytes hold. */
export function panelColumns(dtype: DType): number {
  return 64 / itemSize(dtype);
}

/** How to run a reduction; each form keeps the reduction's order. */
export type ReductionForm =
  /** Plain loops, over one total or over the partial results that lanes would hold. */
  | { readonly kind: "scalar" }
  /** Lanes along the innermost reduced index, combined at the end. */
  | { readonly kind: "dot" }
  /**
   * Lanes along the last index of the result; accumulators stay in registers while the reduced indices run. With
   * `rows`, several positions of that index share what they read, and `packed` loads are first copied into a panel.
   */
  | { readonly kind: "tile"; readonly rows: boolean; readonly packed: readonly Load[] };

type Stride = "none" | "unit" | "other";

function strideOf(algebra: IndexAlgebra, offset: Index, name: string): Stride {
  const polynomial = algebra.normalize(offset);
  if (!polynomial.terms.some((term) => term.factors.some((factor) => mentions(factor.index, name))))
    return "none";
  const linear = linearIn(polynomial, name);
  return linear?.stride.key === "1" ? "unit" : "other";
}

function isAffineIn(algebra: IndexAlgebra, offset: Index, names: readonly string[]): boolean {
  const polynomial = algebra.normalize(offset);
  return names.every((name) => linearIn(polynomial, name) !== null);
}

const extentOf = (loop: Loop): number => (loop.extent.kind === "const" ? loop.extent.value : Infinity);

/** The form of a reduction inside `outer` loops. */
export function reductionForm(
  algebra: IndexAlgebra,
  reduce: Pick<Reduce, "loops" | "value" | "order">,
  outer: readonly Loop[],
): ReductionForm {
  const scalar: ReductionForm = { kind: "scalar" };
  const k = reduce.loops[reduce.loops.length - 1];
  if (k === undefined) return scalar;
  const loads: Load[] = [];
  let computed = 0;
  const names = [...outer, ...reduce.loops].map((loop) => loop.index);
  forEachScalar([reduce.value], (value) => {
    if (value.kind === "load") loads.push(value);
    else if (value.kind === "fromIndex" || value.kind === "indexLess" || value.kind === "indexEqual")
      computed++;
  });
  if (computed > 0 || loads.length === 0) return scalar;
  if (!loads.every((load) => isAffineIn(algebra, load.offset, names))) return scalar;

  const along = (load: Load, loop: Loop): Stride => strideOf(algebra, load.offset, loop.index);
  const alongK = loads.map((load) => along(load, k));
  if (reduce.order === "lanes") {
    const dots = alongK.every((stride) => stride !== "other") && alongK.includes("unit");
    return dots ? { kind: "dot" } : scalar;
  }
  const j = outer[outer.length - 1];
  if (j !== undefined) {
    const i = outer[outer.length - 2];
    const terms = reduce.loops.reduce((product, loop) => product * extentOf(loop), 1);
    const reusedI = i !== undefined && extentOf(i) >= 4 && loads.some((load) => along(load, i) === "none");
    const reusedJ = loads.some((load) => along(load, j) === "none");
    if (reusedI && reusedJ && terms >= 8 && terms < Infinity && extentOf(j) >= 4) {
      const packed = loads.filter((load) => along(load, i) === "none" && along(load, j) !== "none");
      return { kind: "tile", rows: true, packed };
    }
    const alongJ = loads.map((load) => along(load, j));
    if (alongJ.every((stride) => stride !== "other") && alongJ.includes("unit")) {
      return { kind: "tile", rows: false, packed: [] };
    }
  }
  return scalar;
}
