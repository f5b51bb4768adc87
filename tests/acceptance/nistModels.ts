/**
 * The models of the NIST sets, as array programs and as formulas.
 */
import { np } from "heddle";
import type { NDArray } from "heddle";

type Arrays = Readonly<Record<string, NDArray>>;

/** A model: columns of the data and parameters, both by name. */
export type Program = (data: Arrays, parameters: Arrays) => NDArray;

const missing = np.array(NaN);

const curve =
  (model: (x: NDArray, b: readonly NDArray[]) => NDArray): Program =>
  ({ x = missing }, p) =>
    // b[0] stands for nothing, so that the indices are the names of the parameters.
    model(x, [
      missing,
      ...Object.keys(p)
        .sort()
        .map((name) => p[name] ?? missing),
    ]);

const decay = (amplitude: NDArray, rate: NDArray, x: NDArray): NDArray =>
  np.multiply(amplitude, np.exp(rate.mul(x).neg()));
const bell = (height: NDArray, centre: NDArray, width: NDArray, x: NDArray): NDArray =>
  height.mul(np.exp(x.sub(centre).div(width).square().neg()));
const wave = (a: NDArray, b: NDArray, period: NDArray | number, x: NDArray): NDArray => {
  const angle = np.divide(x.mul(2 * Math.PI), period);
  return a.mul(np.cos(angle)).add(b.mul(np.sin(angle)));
};

const chwirut = curve((x, [, b1 = x, b2 = x, b3 = x]) => np.exp(b1.mul(x).neg()).div(b2.add(b3.mul(x))));
const gauss = curve((x, [, b1 = x, b2 = x, b3 = x, b4 = x, b5 = x, b6 = x, b7 = x, b8 = x]) =>
  decay(b1, b2, x)
    .add(bell(b3, b4, b5, x))
    .add(bell(b6, b7, b8, x)),
);
const lanczos = curve((x, [, b1 = x, b2 = x, b3 = x, b4 = x, b5 = x, b6 = x]) =>
  decay(b1, b2, x)
    .add(decay(b3, b4, x))
    .add(decay(b5, b6, x)),
);

/** By name of the set, over `NDArray`s. */
export const nistPrograms: Readonly<Record<string, Program>> = {
  Chwirut1: chwirut,
  Chwirut2: chwirut,
  DanWood: curve((x, [, b1 = x, b2 = x]) => b1.mul(x.pow(b2))),
  ENSO: curve((x, [, b1 = x, b2 = x, b3 = x, b4 = x, b5 = x, b6 = x, b7 = x, b8 = x, b9 = x]) =>
    b1
      .add(wave(b2, b3, 12, x))
      .add(wave(b5, b6, b4, x))
      .add(wave(b8, b9, b7, x)),
  ),
  Gauss1: gauss,
  Gauss2: gauss,
  Gauss3: gauss,
  Hahn1: curve((x, [, b1 = x, b2 = x, b3 = x, b4 = x, b5 = x, b6 = x, b7 = x]) => {
    const [x2, x3] = [x.square(), x.pow(3)];
    const above = b1.add(b2.mul(x)).add(b3.mul(x2)).add(b4.mul(x3));
    return above.div(np.add(1, b5.mul(x)).add(b6.mul(x2)).add(b7.mul(x3)));
  }),
  Kirby2: curve((x, [, b1 = x, b2 = x, b3 = x, b4 = x, b5 = x]) => {
    const x2 = x.square();
    return b1
      .add(b2.mul(x))
      .add(b3.mul(x2))
      .div(np.add(1, b4.mul(x)).add(b5.mul(x2)));
  }),
  Lanczos1: lanczos,
  Lanczos2: lanczos,
  Lanczos3: lanczos,
  MGH17: curve((x, [, b1 = x, b2 = x, b3 = x, b4 = x, b5 = x]) =>
    b1.add(decay(b2, b4, x)).add(decay(b3, b5, x)),
  ),
  Misra1a: curve((x, [, b1 = x, b2 = x]) => b1.mul(np.subtract(1, np.exp(b2.mul(x).neg())))),
  Misra1b: curve((x, [, b1 = x, b2 = x]) => b1.mul(np.subtract(1, np.add(1, b2.mul(x).div(2)).pow(-2)))),
  Misra1c: curve((x, [, b1 = x, b2 = x]) => b1.mul(np.subtract(1, np.add(1, b2.mul(x).mul(2)).pow(-0.5)))),
  Misra1d: curve((x, [, b1 = x, b2 = x]) =>
    b1
      .mul(b2)
      .mul(x)
      .div(np.add(1, b2.mul(x))),
  ),
  Nelson: ({ x1 = missing, x2 = missing }, { b1 = missing, b2 = missing, b3 = missing }) =>
    b1.sub(decay(b2.mul(x1), b3, x2)),
  Roszman1: curve((x, [, b1 = x, b2 = x, b3 = x, b4 = x]) =>
    b1.sub(b2.mul(x)).sub(np.atan(b3.div(x.sub(b4))).div(Math.PI)),
  ),
};

/** By name of the set; the response is `y`, or `log(y)` for Nelson. */
export const nistFormulas: Readonly<Record<string, string>> = {
  Chwirut1: "exp(-b1 * x) / (b2 + b3 * x)",
  Chwirut2: "exp(-b1 * x) / (b2 + b3 * x)",
  DanWood: "b1 * x ** b2",
  ENSO: `b1 + b2 * cos(2 * pi * x / 12) + b3 * sin(2 * pi * x / 12)
    + b5 * cos(2 * pi * x / b4) + b6 * sin(2 * pi * x / b4)
    + b8 * cos(2 * pi * x / b7) + b9 * sin(2 * pi * x / b7)`,
  Gauss1: "b1 * exp(-b2 * x) + b3 * exp(-(x - b4) ** 2 / b5 ** 2) + b6 * exp(-(x - b7) ** 2 / b8 ** 2)",
  Gauss2: "b1 * exp(-b2 * x) + b3 * exp(-(x - b4) ** 2 / b5 ** 2) + b6 * exp(-(x - b7) ** 2 / b8 ** 2)",
  Gauss3: "b1 * exp(-b2 * x) + b3 * exp(-(x - b4) ** 2 / b5 ** 2) + b6 * exp(-(x - b7) ** 2 / b8 ** 2)",
  Hahn1: "(b1 + b2 * x + b3 * x ** 2 + b4 * x ** 3) / (1 + b5 * x + b6 * x ** 2 + b7 * x ** 3)",
  Kirby2: "(b1 + b2 * x + b3 * x ** 2) / (1 + b4 * x + b5 * x ** 2)",
  Lanczos1: "b1 * exp(-b2 * x) + b3 * exp(-b4 * x) + b5 * exp(-b6 * x)",
  Lanczos2: "b1 * exp(-b2 * x) + b3 * exp(-b4 * x) + b5 * exp(-b6 * x)",
  Lanczos3: "b1 * exp(-b2 * x) + b3 * exp(-b4 * x) + b5 * exp(-b6 * x)",
  MGH17: "b1 + b2 * exp(-x * b4) + b3 * exp(-x * b5)",
  Misra1a: "b1 * (1 - exp(-b2 * x))",
  Misra1b: "b1 * (1 - (1 + b2 * x / 2) ** -2)",
  Misra1c: "b1 * (1 - (1 + 2 * b2 * x) ** -0.5)",
  Misra1d: "b1 * b2 * x * (1 + b2 * x) ** -1",
  Nelson: "b1 - b2 * x1 * exp(-b3 * x2)",
  Roszman1: "b1 - b2 * x - atan(b3 / (x - b4)) / pi",
};
