/**
 * What benchmarks answer: rows of figures in sections, each with what is wanted of it where something is; how they are
 * printed, and whether what they need was there.
 */

/** A figure. */
export interface Row {
  readonly name: string;
  /** A median; absent if it could not be measured. */
  readonly value?: number;
  readonly unit: "µs" | "ms" | "MB" | "×";
  /** The bound that is wanted. */
  readonly wanted?: { readonly most: number } | { readonly least: number };
  /** Why there is no value: a peer that is not installed, and how to install it. */
  readonly missing?: string;
}

/** Figures that belong together. */
export interface Section {
  readonly title: string;
  /** The row that the others are compared with. */
  readonly base?: string;
  readonly rows: readonly Row[];
}

/** A benchmark. */
export type Bench = () => Promise<readonly Section[]>;

/** True if a row keeps to its bound; `undefined` if it has none, or no value. */
export function isMet({ value, wanted }: Row): boolean | undefined {
  if (value === undefined || wanted === undefined) return undefined;
  return "most" in wanted ? value <= wanted.most : value >= wanted.least;
}

/** A row's value in those of the section's base. */
export function ratioOf(row: Row, { base, rows }: Section): number | undefined {
  const other = rows.find(({ name }) => name === base);
  if (row.value === undefined || other?.value === undefined) return undefined;
  return other === row || other.unit !== row.unit ? undefined : row.value / other.value;
}

/** Rows without the peer that they need, unless it was said that they may be absent: by a part of their name. */
export function missingRows(rows: readonly Row[], absent: readonly string[]): readonly Row[] {
  return rows.filter(
    ({ name, missing }) => missing !== undefined && !absent.some((part) => name.includes(part)),
  );
}

function digits(value: number): string {
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
}

function boundOf({ unit, wanted }: Row): string {
  if (wanted === undefined) return "";
  return "most" in wanted ? `≤ ${wanted.most} ${unit}` : `≥ ${wanted.least} ${unit}`;
}

/** A section as lines of text. */
export function formatSection(section: Section): string[] {
  const { title, base, rows } = section;
  const width = Math.max(40, ...rows.map(({ name }) => name.length + 2));
  return [
    base === undefined ? title : `${title} (ratios: to ${base})`,
    ...rows.map((row) => {
      const { name, value, unit, missing } = row;
      if (value === undefined) return `  ${name.padEnd(width)} ${missing ?? "no value"}`;
      const ratio = ratioOf(row, section);
      const met = isMet(row);
      return [
        `  ${name.padEnd(width)}`,
        `${digits(value).padStart(9)} ${unit}`,
        (ratio === undefined ? "" : `${digits(ratio)}×`).padStart(9),
        met === undefined ? "" : `  wanted ${boundOf(row)}: ${met ? "met" : "NOT MET"}`,
      ]
        .join(" ")
        .trimEnd();
    }),
  ];
}
