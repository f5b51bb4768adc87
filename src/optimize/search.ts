/**
 * How far to trust the linear model: the *search* half of an optimizer. It judges each trial step by the ratio of the
 * actual to the predicted reduction of the cost, and sets the radius of the next one.
 */

/** The radius of trust, updated trial by trial. */
export interface Search {
  /** The radius that the next step should use. */
  readonly radius: number;
  /** Judges a trial by its ratio of actual to predicted reduction (NaN if it has none) and updates the radius. */
  judge(ratio: number): "accept" | "reject";
}

const smallestRadius = 1e-32;
const largestRadius = 1e16;
const acceptedRatio = 1e-3;

/**
 * The radius update of Ceres Solver's Levenberg-Marquardt (after Madsen, Nielsen and Tingleff, Methods for Non-Linear
 * Least Squares Problems, 2004, section 3.2): smooth growth after good steps, accelerating shrinkage after bad ones.
 */
export function trustRegionSearch(initialRadius = 1e4): Search {
  let radius = initialRadius;
  let factor = 2;
  return {
    get radius() {
      return radius;
    },
    judge(ratio) {
      if (ratio > acceptedRatio) {
        radius = Math.min(largestRadius, radius / Math.max(1 / 3, 1 - (2 * ratio - 1) ** 3));
        factor = 2;
        return "accept";
      }
      radius = Math.max(smallestRadius, radius / factor);
      factor *= 2;
      return "reject";
    },
  };
}
