// The records of long campaigns are only worth something while they speak of the sources that are there. Copies the scripts
// that say so into a small repository, and changes things there.
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeEach, describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../", import.meta.url));

interface Campaign {
  readonly test: string;
  readonly seeds: number;
  readonly slice: number;
  readonly covers: readonly string[];
}

const campaigns = JSON.parse(readFileSync(join(root, ".ci/campaigns.json"), "utf8")) as Record<
  string,
  Campaign
>;

describe.each(Object.entries(campaigns))("the campaign %s", (_name, { test, seeds, slice, covers }) => {
  it("names a test and folders that exist, and a slice of at least 2 %", () => {
    for (const path of [test, ...covers]) expect(existsSync(join(root, path)), path).toBe(true);
    expect(seeds / slice).toBeGreaterThanOrEqual(0.02 * seeds);
  });
});

const folder = mkdtempSync(join(tmpdir(), "heddle-campaigns-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const write = (path: string, text: string): void => {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
};
const git = (...args: string[]): void => {
  const identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"];
  execFileSync("git", [...identity, ...args], { cwd: folder, stdio: "pipe" });
};
const run = (script: string): { status: number | null; output: string } => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(folder, ".ci", script)], {
    cwd: folder,
    encoding: "utf8",
  });
  return { status, output: stdout + stderr };
};

/** The record of a run of the small repository's campaign. */
const record = (change: object = {}): string => {
  const script = `import { hashesOf } from ${JSON.stringify(join(folder, ".ci/campaigns.mjs"))};
    console.log(JSON.stringify(hashesOf("storm")));`;
  const hashes = execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
  return JSON.stringify({ seeds: 10, failures: [], covers: JSON.parse(hashes) as unknown, ...change });
};

beforeEach(() => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const script of ["campaigns.mjs", "release.mjs"])
    cpSync(join(root, ".ci", script), join(folder, ".ci", script));
  write(".ci/campaigns.json", '{ "storm": { "test": "t.ts", "seeds": 10, "slice": 5, "covers": ["src"] } }');
  write("package.json", '{ "version": "1.2.3" }');
  write("package-lock.json", '{ "version": "1.2.3" }');
  write("CHANGELOG.md", "# Changelog\n\n## Unreleased\n\n## 1.2.3 (today)\n");
  write("src/base/version.ts", 'export const version = "1.2.3";\n');
  write("docs/campaigns/storm.json", record());
  git("init", "--quiet");
  git("add", "--all");
  git("commit", "--quiet", "--message=all");
});

const commit = (): void => {
  git("add", "--all");
  git("commit", "--quiet", "--message=more");
};

describe("a tree whose campaigns were run", () => {
  it("has nothing to warn of, and may be released", () => {
    expect(run("campaigns.mjs")).toEqual({ status: 0, output: "" });
    expect(run("release.mjs")).toEqual({ status: 0, output: "release: 1.2.3 is ready\n" });
  });

  it.each<[string, () => void, RegExp]>([
    ["a source changed", () => write("src/base/version.ts", '"1.2.3" // ?'), /was run before src changed/],
    ["a source was added", () => write("src/new.ts", ""), /was run before src changed/],
    [
      "seeds failed",
      () => write("docs/campaigns/storm.json", record({ failures: [{ seed: 3 }] })),
      /1 failing seeds/,
    ],
    [
      "only some seeds ran",
      () => write("docs/campaigns/storm.json", record({ seeds: 9 })),
      /recorded with 9 of 10 seeds/,
    ],
    ["the record is gone", () => rmSync(join(folder, "docs"), { recursive: true }), /storm has no record/],
  ])("where %s is warned of, and not released", (_what, change, message) => {
    change();
    commit();
    const warned = run("campaigns.mjs");
    expect(warned.status).toBe(0);
    expect(warned.output).toMatch(message);
    const refused = run("release.mjs");
    expect(refused.status).toBe(1);
    expect(refused.output).toMatch(message);
    expect(refused.output.trim().split("\n")).toHaveLength(1);
  });

  it.each<[string, () => void, RegExp]>([
    ["has changes", () => write("README.md", "new"), /the tree has changes: \?\? README.md/],
    [
      "says nothing of the version",
      () => (write("CHANGELOG.md", "## 1.2.30\n"), commit()),
      /no section "## 1.2.3"/,
    ],
    [
      "is locked at another version",
      () => (write("package-lock.json", '{ "version": "1" }'), commit()),
      /package-lock/,
    ],
  ])("that %s is not released", (_what, change, message) => {
    change();
    const { status, output } = run("release.mjs");
    expect(status).toBe(1);
    expect(output).toMatch(message);
  });
});
