/**
 * Reads the NIST StRD nonlinear regression files: data, two starting points and the certified answers.
 * https://www.itl.nist.gov/div898/strd/nls/nls_main.shtml
 */
import { readFileSync, readdirSync } from "node:fs";

/** One parameter of a set. */
export interface NistParameter {
  readonly name: string;
  readonly starts: readonly [number, number];
  readonly certified: number;
  readonly standardDeviation: number;
}

/** One set. Columns of the data by their names in the file, `y` among them. */
export interface NistSet {
  readonly name: string;
  readonly level: "Lower" | "Average" | "Higher";
  readonly parameters: readonly NistParameter[];
  readonly residualSumOfSquares: number;
  readonly columns: Readonly<Record<string, number[]>>;
}

const folder = new URL("../fixtures/nist/", import.meta.url);

/** The names of the sets at hand, sorted. */
export function nistNames(): string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(".dat"))
    .map((file) => file.slice(0, -".dat".length))
    .sort();
}

/** Reads one set and checks that it has as many observations as it says. */
export function nistSet(name: string): NistSet {
  const text = readFileSync(new URL(`${name}.dat`, folder), "utf8");
  const lines = text.split(/\r?\n/);
  const number = String.raw`([-+.\dEe]+)`;
  const parameter = new RegExp(
    String.raw`^\s*(b\d+)\s*=\s*${number}\s+${number}\s+${number}\s+${number}\s*$`,
  );
  const parameters = lines.flatMap((line): NistParameter[] => {
    const [, label = "", ...values] = parameter.exec(line) ?? [];
    const [first = NaN, second = NaN, certified = NaN, standardDeviation = NaN] = values.map(Number);
    return label === "" ? [] : [{ name: label, starts: [first, second], certified, standardDeviation }];
  });

  const header = lines.findLastIndex((line) => line.startsWith("Data:"));
  const labels = (lines[header] ?? "").replace("Data:", "").trim().split(/\s+/);
  const rows = lines
    .slice(header + 1)
    .filter((line) => line.trim() !== "")
    .map((line) => line.trim().split(/\s+/).map(Number));
  const observations = Number(field(text, /Number of Observations:\s*(\d+)/));
  if (
    rows.length !== observations ||
    rows.some((row) => row.length !== labels.length || row.some(Number.isNaN))
  ) {
    throw new Error(`${name}: ${rows.length} rows of ${labels.length} numbers, expected ${observations}`);
  }
  return {
    name,
    level: field(text, /(Lower|Average|Higher) Level of Difficulty/) as NistSet["level"],
    parameters,
    residualSumOfSquares: Number(field(text, /Residual Sum of Squares:\s*(\S+)/)),
    columns: Object.fromEntries(labels.map((label, j) => [label, rows.map((row) => row[j] ?? NaN)])),
  };
}

function field(text: string, pattern: RegExp): string {
  const value = pattern.exec(text)?.[1];
  if (value === undefined) throw new Error(`no match for ${String(pattern)}`);
  return value;
}

/** The number of matching digits, NIST's log relative error: 11 at most, because no more are certified. */
export function matchingDigits(found: number, certified: number): number {
  if (!Number.isFinite(found)) return 0;
  if (found === certified) return 11;
  return Math.min(11, Math.max(0, -Math.log10(Math.abs(found - certified) / Math.abs(certified))));
}
