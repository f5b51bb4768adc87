/**
 * The Mauna Loa record: months as years since 1980 (centred, so that the parameters are well-conditioned) and ppm.
 */
import { readFileSync } from "node:fs";

/** Years since 1980, and the concentration of carbon dioxide in ppm. */
export function co2Record(): { readonly t: number[]; readonly co2: number[] } {
  const text = readFileSync(new URL("../fixtures/co2-concentration.csv", import.meta.url), "utf8");
  const [header = "", ...lines] = text.trim().split(/\r?\n/);
  const columns = header.split(",");
  const rows = lines.map((line) => line.split(","));
  const column = (row: readonly string[], name: string): string => row[columns.indexOf(name)] ?? "";
  return {
    t: rows.map((row) => {
      const [year = NaN, month = NaN] = column(row, "Date").split("-").map(Number);
      return year + (month - 1) / 12 - 1980;
    }),
    co2: rows.map((row) => Number(column(row, "CO2"))),
  };
}
