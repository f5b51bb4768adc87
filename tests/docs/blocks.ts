// Finds the programs in pages and docstrings, with the output that a page promises for them.

export interface Block {
  path: string;
  /** The line of the opening fence, from 1. */
  line: number;
  code: string;
  /** Marked `no-run`: it cannot run where the tests run. */
  skipped: boolean;
  /** What the program must print; a `…` in it stands for anything. */
  output: string | undefined;
}

interface Fence {
  line: number;
  /** What stands after the opening backticks. */
  mark: string;
  text: string;
  /** Whether `<!-- output -->` is the last thing before it. */
  isOutput: boolean;
}

function fencesOf(path: string, markdown: string): Fence[] {
  const fences: Fence[] = [];
  const lines = markdown.split("\n");
  let lastText = "";
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? "";
    const opening = /^([\s>]*(?:[-*]\s+)?)(`{3,})(.*)$/.exec(line);
    if (opening === null) {
      if (line.trim() !== "") {
        if (lastText === "<!-- output -->") throw new Error(`${path}:${i + 1}: no output follows the marker`);
        lastText = line.trim();
      }
      continue;
    }
    const [, indent = "", ticks = "", mark = ""] = opening;
    const start = i;
    const body: string[] = [];
    for (i++; i < lines.length && lines[i]?.trim() !== ticks; i++) {
      const inside = lines[i] ?? "";
      body.push(inside.slice(0, indent.length).trim() === "" ? inside.slice(indent.length) : inside);
    }
    if (i >= lines.length) throw new Error(`${path}:${start + 1}: the block is not closed`);
    fences.push({
      line: start + 1,
      mark: mark.trim(),
      text: body.map((each) => `${each}\n`).join(""),
      isOutput: lastText === "<!-- output -->",
    });
    lastText = "";
  }
  return fences;
}

/** The ```` ```ts ```` blocks of a page. */
export function blocksOfMarkdown(path: string, markdown: string): Block[] {
  const blocks: Block[] = [];
  let latest: Block | undefined;
  for (const { line, mark, text, isOutput } of fencesOf(path, markdown)) {
    if (mark === "ts" || mark === "ts no-run") {
      latest = { path, line, code: text, skipped: mark !== "ts", output: undefined };
      blocks.push(latest);
    } else if (/^(?:ts|tsx|mts|typescript|js|jsx|mjs|cjs|javascript)\b/.test(mark)) {
      throw new Error(
        `${path}:${line}: a block marked "${mark}" would not be run; mark it "ts" (or "ts no-run")`,
      );
    } else if (isOutput) {
      if (latest === undefined) throw new Error(`${path}:${line}: an output without a program before it`);
      latest.output = text;
    }
  }
  return blocks;
}

/** The blocks in the docstrings of a source file, at their lines in that file. */
export function blocksOfSource(path: string, source: string): Block[] {
  return [...source.matchAll(/^[ \t]*\/\*\*(?:(?!\*\/)[^])*\*\//gm)].flatMap((comment) => {
    const before = source.slice(0, comment.index).split("\n").length - 1;
    const text = comment[0].replaceAll(/^[ \t]*(?:\/\*\*|\*\/|\* ?)/gm, "");
    return blocksOfMarkdown(path, text).map((block) => ({ ...block, line: block.line + before }));
  });
}

/** Whether a program printed what its page says: line ends are trimmed, `…` is anything on its line or, alone, any lines. */
export function matchesOutput(actual: string, expected: string): boolean {
  const trimmed = (text: string): string => text.replaceAll(/[ \t]+$/gm, "").trim();
  const pattern = trimmed(expected)
    .split("\n")
    .map((line) =>
      line === "…"
        ? "[^]*?"
        : line
            .split("…")
            .map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&"))
            .join(".*"),
    )
    .join("\n");
  return new RegExp(`^${pattern}$`).test(trimmed(actual));
}
