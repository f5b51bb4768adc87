/**
 * Arrays as text, like NumPy's: rows aligned, long ones summarised.
 */
import type { DType } from "../base/dtype.js";
import type { Shape } from "../base/shape.js";
import { sizeOf, stridesOf } from "../base/shape.js";

const longest = 1000;
const edge = 3;

/** One element: up to eight significant digits. */
export function formatElement(dtype: DType, value: number): string {
  if (dtype === "bool") return value !== 0 ? "true" : "false";
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return Object.is(value, -0) ? "-0" : String(value);
  return String(Number(value.toPrecision(8)));
}

/** The positions that are shown along an axis; `null` is the gap. */
function shown(extent: number, summarise: boolean): (number | null)[] {
  const all = Array.from({ length: extent }, (_, i) => i);
  return summarise && extent > 2 * edge ? [...all.slice(0, edge), null, ...all.slice(-edge)] : all;
}

/** The elements of a concrete array as nested brackets. */
export function formatArray(
  dtype: DType,
  shape: Shape,
  data: { readonly length: number; readonly [index: number]: number },
  separator = " ",
): string {
  const summarise = sizeOf(shape) > longest;
  const strides = stridesOf(shape);
  const cells: string[] = [];
  const collect = (axis: number, offset: number): void => {
    if (axis === shape.length) {
      cells.push(formatElement(dtype, data[offset] ?? 0));
      return;
    }
    for (const position of shown(shape[axis] ?? 0, summarise)) {
      if (position !== null) collect(axis + 1, offset + position * (strides[axis] ?? 0));
    }
  };
  collect(0, 0);
  const width = shape.length === 0 ? 0 : cells.reduce((most, cell) => Math.max(most, cell.length), 0);
  let next = 0;
  const print = (axis: number): string => {
    if (axis === shape.length) return (cells[next++] ?? "").padStart(width);
    const inner = shape.length - axis - 1;
    const parts = shown(shape[axis] ?? 0, summarise).map((position) =>
      position === null ? "..." : print(axis + 1),
    );
    const between =
      inner === 0 ? separator : `${separator.trimEnd()}${"\n".repeat(inner)}${" ".repeat(axis + 1)}`;
    return `[${parts.join(between)}]`;
  };
  return print(0);
}
