/**
 * Classical test problems with known minima: Moré, Garbow and Hillstrom, Testing Unconstrained Optimization Software,
 * ACM TOMS 7 (1981); the numbers are theirs.
 */

/** A problem, its standard start and its known minimum. */
export interface TestProblem {
  readonly name: string;
  readonly residual: (x: Float64Array) => number[];
  readonly x0: readonly number[];
  /** The sum of squares at the minimum. */
  readonly sumOfSquares: number;
  /** The minimiser, where it is a single known point. */
  readonly minimiser?: readonly number[];
}

const range = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

const bardY = [0.14, 0.18, 0.22, 0.25, 0.29, 0.32, 0.35, 0.39, 0.37, 0.58, 0.73, 0.96, 1.34, 2.1, 4.39];
const kowalikY = [0.1957, 0.1947, 0.1735, 0.16, 0.0844, 0.0627, 0.0456, 0.0342, 0.0323, 0.0235, 0.0246];
const kowalikU = [4, 2, 1, 0.5, 0.25, 0.167, 0.125, 0.1, 0.0833, 0.0714, 0.0625];

export const testProblems: readonly TestProblem[] = [
  {
    name: "Rosenbrock (1)",
    residual: ([a = 0, b = 0]) => [10 * (b - a * a), 1 - a],
    x0: [-1.2, 1],
    sumOfSquares: 0,
    minimiser: [1, 1],
  },
  {
    name: "Brown badly scaled (4)",
    residual: ([a = 0, b = 0]) => [a - 1e6, b - 2e-6, a * b - 2],
    x0: [1, 1],
    sumOfSquares: 0,
    minimiser: [1e6, 2e-6],
  },
  {
    name: "Beale (5)",
    residual: ([a = 0, b = 0]) => [1.5, 2.25, 2.625].map((y, i) => y - a * (1 - b ** (i + 1))),
    x0: [1, 1],
    sumOfSquares: 0,
    minimiser: [3, 0.5],
  },
  {
    name: "Jennrich and Sampson (6)",
    residual: ([a = 0, b = 0]) =>
      range(10).map((i) => 4 + 2 * i - (Math.exp((i + 1) * a) + Math.exp((i + 1) * b))),
    x0: [0.3, 0.4],
    sumOfSquares: 124.362,
    minimiser: [0.2578, 0.2578],
  },
  {
    name: "helical valley (7)",
    residual: ([a = 0, b = 0, c = 0]) => [
      10 * (c - (10 * (Math.atan(b / a) + (a < 0 ? Math.PI : 0))) / (2 * Math.PI)),
      10 * (Math.hypot(a, b) - 1),
      c,
    ],
    x0: [-1, 0, 0],
    sumOfSquares: 0,
    minimiser: [1, 0, 0],
  },
  {
    name: "Bard (8)",
    residual: ([a = 0, b = 0, c = 0]) =>
      bardY.map((y, i) => y - (a + (i + 1) / ((15 - i) * b + Math.min(i + 1, 15 - i) * c))),
    x0: [1, 1, 1],
    sumOfSquares: 8.21487e-3,
  },
  {
    name: "Powell singular (13)",
    residual: ([a = 0, b = 0, c = 0, d = 0]) => [
      a + 10 * b,
      Math.sqrt(5) * (c - d),
      (b - 2 * c) ** 2,
      Math.sqrt(10) * (a - d) ** 2,
    ],
    x0: [3, -1, 0, 1],
    sumOfSquares: 0,
  },
  {
    name: "Wood (14)",
    residual: ([a = 0, b = 0, c = 0, d = 0]) => [
      10 * (b - a * a),
      1 - a,
      Math.sqrt(90) * (d - c * c),
      1 - c,
      Math.sqrt(10) * (b + d - 2),
      (b - d) / Math.sqrt(10),
    ],
    x0: [-3, -1, -3, -1],
    sumOfSquares: 0,
    minimiser: [1, 1, 1, 1],
  },
  {
    name: "Kowalik and Osborne (15)",
    residual: ([a = 0, b = 0, c = 0, d = 0]) =>
      kowalikY.map((y, i) => {
        const u = kowalikU[i] ?? NaN;
        return y - (a * (u * u + u * b)) / (u * u + u * c + d);
      }),
    x0: [0.25, 0.39, 0.415, 0.39],
    sumOfSquares: 3.07505e-4,
  },
  {
    name: "Brown and Dennis (16)",
    residual: ([a = 0, b = 0, c = 0, d = 0]) =>
      range(20).map((i) => {
        const t = (i + 1) / 5;
        return (a + t * b - Math.exp(t)) ** 2 + (c + d * Math.sin(t) - Math.cos(t)) ** 2;
      }),
    x0: [25, 5, -5, -1],
    sumOfSquares: 85822.2,
  },
];
