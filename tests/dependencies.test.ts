// heddle may be used in closed and commercial programs, so nothing with a copyleft licence may come along with it. Walks
// everything in package-lock.json, and keeps docs/dependencies.md the same as package.json.
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

interface Manifest {
  license?: string;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

interface LockEntry {
  version?: string;
  license?: string;
  dev?: boolean;
  optional?: boolean;
}

const root = new URL("../", import.meta.url);
const readJson = (path: string): unknown => JSON.parse(readFileSync(new URL(path, root), "utf8"));

const permissive = new Set([
  "MIT",
  "ISC",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "Apache-2.0",
  "0BSD",
  "BlueOak-1.0.0",
  "Python-2.0",
  "CC0-1.0",
  "Unlicense",
  "Zlib",
]);

/** Weak copyleft per file, allowed where the package is only run while developing, each with the reason it is there. */
const developmentOnly = new Map([
  ["lightningcss", "a part of vite, which vitest runs on; MPL-2.0, unmodified"],
]);

/** Whether an SPDX expression such as `(MIT OR GPL-2.0)` or `MIT AND Zlib` leaves a permissive choice. */
function isPermissive(expression: string): boolean {
  const plain = expression.replaceAll(/[()]/g, "");
  return plain.split(" OR ").some((choice) => choice.split(" AND ").every((id) => permissive.has(id.trim())));
}

/** One complaint per package whose licence does not fit its use; `licenceOf` answers for an entry of the lock file. */
function complaints(
  packages: Record<string, LockEntry>,
  licenceOf: (path: string, entry: LockEntry) => string | undefined,
): string[] {
  const found: string[] = [];
  for (const [path, entry] of Object.entries(packages)) {
    if (path === "") continue;
    const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
    const licence = licenceOf(path, entry);
    if (licence === undefined) found.push(`${name}: no licence is stated`);
    else if (!isPermissive(licence)) {
      const family = [...developmentOnly.keys()].find((key) => name === key || name.startsWith(`${key}-`));
      if (entry.dev === true && licence === "MPL-2.0" && family !== undefined) continue;
      found.push(`${name}: ${licence}${entry.dev === true ? " (development)" : ""}`);
    }
  }
  return found;
}

/** The installed package's own word; the lock file's where a package of another platform is not installed. */
function installedLicence(path: string, entry: LockEntry): string | undefined {
  if (!existsSync(new URL(`${path}/package.json`, root))) {
    return entry.optional === true ? entry.license : undefined;
  }
  return (readJson(`${path}/package.json`) as Manifest).license;
}

const lock = readJson("package-lock.json") as { packages: Record<string, LockEntry> };
const manifest = readJson("package.json") as Manifest;

describe("licences", () => {
  it("of everything that is installed are permissive", () => {
    const entries = Object.entries(lock.packages);
    expect(entries.length).toBeGreaterThan(100);
    expect(entries.filter(([, entry]) => entry.dev !== true).length).toBeGreaterThan(4);
    expect(complaints(lock.packages, installedLicence)).toEqual([]);
  });

  it.each<[string, LockEntry, number]>([
    ["node_modules/a", { license: "MIT" }, 0],
    ["node_modules/a", { license: "(GPL-3.0-only OR MIT)" }, 0],
    ["node_modules/a", { license: "MIT AND GPL-3.0-only" }, 1],
    ["node_modules/a", { license: "GPL-3.0-only", dev: true }, 1],
    ["node_modules/a", {}, 1],
    ["node_modules/a", { license: "SEE LICENSE IN terms.txt" }, 1],
    ["node_modules/a/node_modules/lightningcss", { license: "MPL-2.0", dev: true }, 0],
    ["node_modules/lightningcss-linux-x64-gnu", { license: "MPL-2.0", dev: true }, 0],
    ["node_modules/lightningcss", { license: "MPL-2.0" }, 1],
    ["node_modules/a", { license: "MPL-2.0", dev: true }, 1],
  ])("%s with %o gives %i complaints", (path, entry, count) => {
    expect(complaints({ [path]: entry }, (_, { license }) => license)).toHaveLength(count);
  });
});

describe.each(["package-lock.json", "bench/peers/package-lock.json"])("%s", (path) => {
  it("names no download addresses, so any registry can serve it", () => {
    const text = readFileSync(new URL(path, root), "utf8");
    expect(text).not.toContain('"resolved"');
    expect(text).toContain('"integrity"');
  });
});

describe("peers of the benchmarks", () => {
  it("have permissive licences", () => {
    const { packages } = readJson("bench/peers/package-lock.json") as typeof lock;
    expect(Object.keys(packages).length).toBeGreaterThan(1);
    expect(complaints(packages, (_, { license }) => license)).toEqual([]);
  });
});

describe("docs/dependencies.md", () => {
  const page = readFileSync(new URL("docs/dependencies.md", root), "utf8");
  const rows = [...page.matchAll(/^\|\s*`([^`]+)`\s*\|([^|]*)\|([^|]*)\|([^|]*)\|$/gm)].map(
    ([, name = "", licence = "", why = "", without = ""]) => ({
      name,
      licence: licence.trim(),
      why: why.trim(),
      without: without.trim(),
    }),
  );
  const direct = Object.keys({
    ...manifest.dependencies,
    ...manifest.optionalDependencies,
    ...manifest.devDependencies,
  });

  it("has one row for each direct dependency, and no other", () => {
    expect(direct.length).toBeGreaterThan(5);
    expect(rows.map((row) => row.name).sort()).toEqual([...direct].sort());
  });

  it.each(rows)("says the licence and the reason of $name", ({ name, licence, why, without }) => {
    const entry = lock.packages[`node_modules/${name}`] ?? {};
    expect(installedLicence(`node_modules/${name}`, entry)).toBe(licence);
    expect(why).not.toBe("");
    expect(without).not.toBe("");
  });
});
