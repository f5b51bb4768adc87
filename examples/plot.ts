// Draws a fit and its convergence as an SVG, for the examples: two panels, plain strings, no dependencies. Plotting is
// not heddle's job; a real program would use its favourite library.

/** A curve or a cloud of points in the left panel. */
export interface Series {
  readonly label: string;
  readonly x: ArrayLike<number>;
  readonly y: ArrayLike<number>;
  /** `"points"` for observations, `"line"` for a curve; neighbours of a line are joined in the order given. */
  readonly mark: "points" | "line";
}

/** What to draw. */
export interface FitPlot {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly series: readonly Series[];
  /** The cost after each iteration, from the start on. */
  readonly costs: readonly number[];
}

interface Axis {
  /** From a value to a position in pixels. */
  readonly place: (value: number) => number;
  readonly ticks: readonly { readonly value: number; readonly label: string }[];
}

interface Frame {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

const width = 960;
const height = 400;
const fitFrame: Frame = { left: 72, top: 64, width: 460, height: 272 };
const costFrame: Frame = { left: 640, top: 64, width: 292, height: 272 };
const colours = ["#1f5fa8", "#c2410c", "#2f7d4f", "#7c3aed"] as const;

/** The picture as the text of an SVG file. */
export function fitPlot({ title, xLabel, yLabel, series, costs }: FitPlot): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="Helvetica, Arial, sans-serif" font-size="12" fill="#222">`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    text(fitFrame.left, 28, title, `font-size="16" font-weight="bold"`),
    fitPanel(fitFrame, series, xLabel, yLabel),
    costPanel(costFrame, costs),
    `</svg>`,
    ``,
  ].join("\n");
}

function fitPanel(frame: Frame, series: readonly Series[], xLabel: string, yLabel: string): string {
  const xs = series.flatMap((one) => Array.from(one.x));
  const ys = series.flatMap((one) => Array.from(one.y));
  const x = linearAxis(xs, frame.left, frame.left + frame.width);
  const y = linearAxis(ys, frame.top + frame.height, frame.top);
  const drawn = series.map((one, k) => drawSeries(one, x, y, colours[k % colours.length] ?? "#222"));
  // Observations lie over the curve that is fitted to them.
  const under = drawn.filter((_, k) => series[k]?.mark === "line");
  const over = drawn.filter((_, k) => series[k]?.mark === "points");
  return [axes(frame, x, y, xLabel, yLabel), ...under, ...over, legend(frame, series)].join("\n");
}

function costPanel(frame: Frame, costs: readonly number[]): string {
  // A logarithm has no place for a cost of zero: it is drawn at the bottom.
  const positive = costs.filter((cost) => cost > 0);
  const floor = positive.length === 0 ? 1 : Math.min(...positive);
  const shown = costs.map((cost) => Math.max(cost, floor));
  const x = linearAxis([0, Math.max(1, costs.length - 1)], frame.left, frame.left + frame.width, true);
  const y = logarithmicAxis(shown, frame.top + frame.height, frame.top);
  const iterations = shown.map((_, k) => k);
  const colour = colours[0];
  return [
    axes(frame, x, y, "iteration", "cost"),
    drawSeries({ label: "", x: iterations, y: shown, mark: "line" }, x, y, colour),
    drawSeries({ label: "", x: iterations, y: shown, mark: "points" }, x, y, colour, 3),
  ].join("\n");
}

function drawSeries(series: Series, x: Axis, y: Axis, colour: string, radius?: number): string {
  const points = Array.from(
    series.x,
    (value, i) => [x.place(value), y.place(series.y[i] ?? NaN)] as const,
  ).filter(([across, down]) => Number.isFinite(across) && Number.isFinite(down));
  if (series.mark === "line") {
    const path = points.map(([across, down]) => `${pixel(across)},${pixel(down)}`).join(" ");
    return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="1.6" stroke-linejoin="round"/>`;
  }
  const size = radius ?? (points.length > 200 ? 1.4 : 3);
  const dots = points.map(
    ([across, down]) => `<circle cx="${pixel(across)}" cy="${pixel(down)}" r="${size}"/>`,
  );
  return `<g fill="${colour}" fill-opacity="0.75">${dots.join("")}</g>`;
}

function axes(frame: Frame, x: Axis, y: Axis, xLabel: string, yLabel: string): string {
  const right = frame.left + frame.width;
  const bottom = frame.top + frame.height;
  const parts: string[] = [];
  for (const { value, label } of x.ticks) {
    const across = pixel(x.place(value));
    parts.push(`<line x1="${across}" y1="${frame.top}" x2="${across}" y2="${bottom}" stroke="#e6e6e6"/>`);
    parts.push(`<line x1="${across}" y1="${bottom}" x2="${across}" y2="${bottom + 5}" stroke="#444"/>`);
    parts.push(text(x.place(value), bottom + 18, label, `text-anchor="middle"`));
  }
  for (const { value, label } of y.ticks) {
    const down = pixel(y.place(value));
    parts.push(`<line x1="${frame.left}" y1="${down}" x2="${right}" y2="${down}" stroke="#e6e6e6"/>`);
    parts.push(`<line x1="${frame.left - 5}" y1="${down}" x2="${frame.left}" y2="${down}" stroke="#444"/>`);
    parts.push(text(frame.left - 8, y.place(value) + 4, label, `text-anchor="end"`));
  }
  parts.push(
    `<rect x="${frame.left}" y="${frame.top}" width="${frame.width}" height="${frame.height}" fill="none" stroke="#444"/>`,
  );
  parts.push(text(frame.left + frame.width / 2, bottom + 40, xLabel, `text-anchor="middle"`));
  const middle = frame.top + frame.height / 2;
  const turned = `text-anchor="middle" transform="rotate(-90 ${frame.left - 54} ${middle})"`;
  parts.push(text(frame.left - 54, middle, yLabel, turned));
  return parts.join("\n");
}

function legend(frame: Frame, series: readonly Series[]): string {
  let across = frame.left;
  const entries = series.map(({ label, mark }, k) => {
    const colour = colours[k % colours.length] ?? "#222";
    const sign =
      mark === "line"
        ? `<line x1="${across}" y1="50" x2="${across + 18}" y2="50" stroke="${colour}" stroke-width="2"/>`
        : `<circle cx="${across + 9}" cy="50" r="3.5" fill="${colour}"/>`;
    const entry = sign + text(across + 24, 54, label);
    across += 48 + 6.5 * label.length;
    return entry;
  });
  return entries.join("\n");
}

function linearAxis(values: readonly number[], from: number, to: number, whole = false): Axis {
  const finite = values.filter(Number.isFinite);
  let low = finite.reduce((least, value) => Math.min(least, value), Infinity);
  let high = finite.reduce((most, value) => Math.max(most, value), -Infinity);
  if (!(low < high)) [low, high] = Number.isFinite(low) ? [low - 1, low + 1] : [0, 1];
  const margin = 0.04 * (high - low);
  [low, high] = [low - margin, high + margin];
  const step = Math.max(whole ? 1 : 0, roundStep((high - low) / 6));
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  const count = Math.floor(high / step) - Math.ceil(low / step) + 1;
  const ticks = Array.from({ length: count }, (_, k) => {
    const value = (Math.ceil(low / step) + k) * step;
    return { value, label: Math.abs(value) >= 1e6 ? value.toExponential(1) : value.toFixed(digits) };
  });
  return { place: (value) => from + ((value - low) / (high - low)) * (to - from), ticks };
}

function logarithmicAxis(values: readonly number[], from: number, to: number): Axis {
  let low = Math.floor(Math.log10(Math.min(...values)));
  let high = Math.ceil(Math.log10(Math.max(...values)));
  if (low === high) [low, high] = [low - 1, high + 1];
  const every = Math.ceil((high - low) / 8);
  const ticks = Array.from({ length: Math.floor((high - low) / every) + 1 }, (_, k) => {
    const exponent = low + k * every;
    return {
      value: 10 ** exponent,
      label: exponent >= 0 && exponent <= 4 ? String(10 ** exponent) : `1e${exponent}`,
    };
  });
  return { place: (value) => from + ((Math.log10(value) - low) / (high - low)) * (to - from), ticks };
}

/** The nearest of 1, 2, 5 times a power of ten that is not smaller. */
function roundStep(step: number): number {
  const power = 10 ** Math.floor(Math.log10(step));
  return power * ([1, 2, 5].find((factor) => factor * power >= step * (1 - 1e-9)) ?? 10);
}

function text(x: number, y: number, content: string, attributes = ""): string {
  const escaped = content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return `<text x="${pixel(x)}" y="${pixel(y)}" ${attributes}>${escaped}</text>`;
}

function pixel(value: number): string {
  return String(Math.round(value * 100) / 100);
}
