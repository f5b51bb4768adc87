// The Mauna Loa carbon dioxide record: a trend that bends upwards and a yearly rhythm, seven parameters with standard
// errors. The model is written once, as a program over arrays; its derivatives are exact.
import { readFileSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { curveFit, np } from "heddle";
import type { NDArray } from "heddle";
import { fitPlot } from "../plot.js";

// Monthly means in parts per million, NOAA; see NOTICE.
const root = new URL("../../../", import.meta.url);
const lines = readFileSync(new URL("tests/fixtures/co2-concentration.csv", root), "utf8")
  .trim()
  .split("\n")
  .slice(1);
const records = lines.map((line) => {
  const [date = "", value = ""] = line.split(",");
  const [year = NaN, month = NaN] = date.split("-").map(Number);
  // Years since 1980, so that the exponential is well conditioned.
  return { t: year + (month - 1) / 12 - 1980, co2: Number(value) };
});
const t = records.map((record) => record.t);
const co2 = records.map((record) => record.co2);

type Parameters = Record<"a" | "b" | "c" | "s1" | "c1" | "s2" | "c2", NDArray>;

/** a + b·exp(c·t) and a yearly rhythm of two harmonics. */
function model(time: NDArray, { a, b, c, s1, c1, s2, c2 }: Parameters): NDArray {
  const phase = time.mul(2 * Math.PI);
  const trend = a.add(b.mul(np.exp(c.mul(time))));
  const year = s1.mul(np.sin(phase)).add(c1.mul(np.cos(phase)));
  const half = s2.mul(np.sin(phase.mul(2))).add(c2.mul(np.cos(phase.mul(2))));
  return trend.add(year).add(half);
}

const costs: number[] = [];
const fit = await curveFit(model, t, co2, {
  p0: { a: 280, b: 60, c: 0.02, s1: 0, c1: 0, s2: 0, c2: 0 },
  verbose: 2,
  callback: ({ cost }) => void costs.push(cost),
});

console.log(`\n${records.length} months, residual sum of squares ${(2 * fit.cost).toFixed(5)}`);
for (const name of fit.names) {
  const key = name as keyof Parameters;
  console.log(`${name.padEnd(3)} ${fit.popt[key].toFixed(5).padStart(11)} ± ${fit.stderr[key].toFixed(5)}`);
}
for (const warning of fit.warnings) console.log(`warning: ${warning}`);

const smooth = np.linspace(t[0] ?? 0, t.at(-1) ?? 0, 2000);
const scalars = Object.fromEntries(Object.entries(fit.popt).map(([name, value]) => [name, np.array(value)]));
const svg = fitPlot({
  title: "Carbon dioxide at Mauna Loa",
  xLabel: "year",
  yLabel: "ppm",
  series: [
    { label: "monthly means", x: t.map((year) => year + 1980), y: co2, mark: "points" },
    { label: "fit", x: smooth.add(1980).data, y: model(smooth, scalars as Parameters).data, mark: "line" },
  ],
  costs,
});
const file = new URL("fit.svg", import.meta.url);
writeFileSync(file, svg);
console.log(`\nfit and convergence: ${relative(process.cwd(), fileURLToPath(file))}`);
