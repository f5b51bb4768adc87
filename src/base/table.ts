/** Tables as text, for reports and the command line. */
import { at } from "./at.js";

/** Pads columns. The first is flush left; the others are numbers and flush right, unless `rest` says otherwise. */
export function formatTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  rest: "left" | "right" = "right",
): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] ?? "").length)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) =>
        column === 0 || rest === "left" ? cell.padEnd(at(widths, column)) : cell.padStart(at(widths, column)),
      )
      .join("  ")
      .trimEnd();
  return [line(head), ...rows.map(line)].join("\n");
}
