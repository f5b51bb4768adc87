// Two objectives, each a function of the same 40 coefficients on its own grid, evaluated at once on a pool of ranks.
// The program comes from a public discussion: "different functions with different output shapes, each on its own device,
// one Jacobian". First with the classes that it was written with, then in heddle's own words.
import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { NDArray, ObjectiveFunction, Pool } from "heddle";
import { createPool, jacfwd, leastSquares, np, objective, objectiveFunction, tree } from "heddle";
import { fitPlot } from "../plot.js";

const N = 40;
const nodes = 15;

/** What is optimized. Registered as a tree, it can be the argument of objectives and comes back as the solution. */
class Optimizable {
  readonly N: number;
  readonly coefs: NDArray;

  constructor(N: number, coefs: NDArray) {
    this.N = N;
    this.coefs = coefs;
  }
}
tree.register(Optimizable, {
  flatten: ({ N, coefs }) => [[coefs], N],
  unflatten: ([coefs]: [NDArray], N: number) => new Optimizable(N, coefs),
});

/** The error of a cosine series against a target on a grid. The real program has many such classes, all different. */
class Objective {
  readonly opt: Optimizable;
  readonly grid: NDArray;
  readonly target: NDArray;
  readonly deviceId: number;
  /** The constant matrix for which A @ coefs are the values at the grid's nodes. */
  A: NDArray = np.zeros([nodes, N]);

  constructor(opt: Optimizable, grid: NDArray, target: NDArray, deviceId = 0) {
    this.opt = opt;
    this.grid = grid;
    this.target = target;
    this.deviceId = deviceId;
  }

  build(): void {
    this.A = np.stack(Array.from({ length: this.opt.N }, (_, i) => np.cos(this.grid.mul(i)))).T;
  }

  computeError(coefs: NDArray): NDArray {
    return np.dot(this.A, coefs).sub(this.target);
  }

  jacError(coefs: NDArray): NDArray {
    return jacfwd((c: NDArray) => this.computeError(c))(coefs);
  }
}
tree.register(Objective, {
  flatten: ({ opt, grid, target, deviceId, A }) => [[opt, grid, target, A], deviceId],
  unflatten: ([opt, grid, target, A]: [Optimizable, NDArray, NDArray, NDArray], deviceId: number) =>
    Object.assign(new Objective(opt, grid, target, deviceId), { A }),
});

/** All objectives as one function. `pconcat` is gone: each rank writes its rows where they belong. */
class ObjectiveFunctionParallel {
  readonly objectives: readonly Objective[];

  constructor(objectives: readonly Objective[]) {
    this.objectives = objectives;
  }

  build(eq: Optimizable, pool: Pool): Promise<ObjectiveFunction<Optimizable>> {
    const parts = this.objectives.map((own) =>
      objective((x: Optimizable) => own.computeError(x.coefs), {
        name: `objective on device ${own.deviceId}`,
        rank: own.deviceId,
      }),
    );
    return objectiveFunction(parts, { x: eq, pool });
  }
}
tree.register(ObjectiveFunctionParallel, {
  flatten: ({ objectives }) => [objectives],
  unflatten: (objectives: readonly Objective[]) => new ObjectiveFunctionParallel(objectives),
});

await using pool = await createPool({ ranks: 2 });
for (const { rank, device, threadId } of pool.ranks)
  console.log(`rank ${rank}: ${device}, thread ${threadId}`);

const start = np.zeros(N).at(2).set(3);
const eq = new Optimizable(N, start);
const grid1 = np.linspace(-Math.PI, 0, nodes, { endpoint: false });
const grid2 = np.linspace(0, Math.PI, nodes, { endpoint: false });
const obj1 = new Objective(eq, grid1, np.square(grid1), 0);
const obj2 = new Objective(eq, grid2, np.square(grid2), 1);
obj1.build();
obj2.build();

const parallel = await new ObjectiveFunctionParallel([obj1, obj2]).build(eq, pool);
const jacobian = await parallel.jacobian(eq);
const loop = np.concatenate([obj1.jacError(start), obj2.jacError(start)]);
console.log(
  `\nJacobian [${jacobian.shape.join(", ")}], equal to the sequential loop: ${np.arrayEqual(jacobian, loop).item()}`,
);
await parallel.dispose();

// The same in heddle's own words: functions and what they should reach. Placement, derivatives and concatenation follow.
const A1 = obj1.A;
const A2 = obj2.A;
const left = objective((c) => np.dot(A1, c), { name: "left", target: np.square(grid1) });
const right = objective((c) => np.dot(A2, c), { name: "right", target: np.square(grid2) });
const fun = await objectiveFunction([left, right], { x: start, pool });

const costs = [await fun.cost(start)];
const fit = await leastSquares(fun, start, { verbose: 2, callback: ({ cost }) => void costs.push(cost) });
console.log(`\n${String(fun.report())}\n`);
for (const { name, start: before, end } of fit.objectives) {
  console.log(`${name}: ${before.toExponential(3)} -> ${end.toExponential(3)}`);
}

const curve = np.linspace(-Math.PI, Math.PI, 241);
const values = np.dot(np.stack(Array.from({ length: N }, (_, i) => np.cos(curve.mul(i)))).T, fit.solution);
const svg = fitPlot({
  title: "Two objectives, one cosine series",
  xLabel: "x",
  yLabel: "value",
  series: [
    { label: "left target", x: grid1.data, y: np.square(grid1).data, mark: "points" },
    { label: "right target", x: grid2.data, y: np.square(grid2).data, mark: "points" },
    { label: "fit", x: curve.data, y: values.data, mark: "line" },
  ],
  costs,
});
const file = new URL("fit.svg", import.meta.url);
writeFileSync(file, svg);
console.log(`\nfit and convergence: ${relative(process.cwd(), fileURLToPath(file))}`);
