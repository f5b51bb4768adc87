/** Ends the lives of buffers, so that makers of plans need not count uses: a `free` after each buffer's last use. */
import type { BufferName, Instruction } from "./plan.js";
import { reads } from "./layout.js";

function writes(instruction: Instruction): readonly BufferName[] {
  switch (instruction.kind) {
    case "run":
      return instruction.outputs;
    case "load":
    case "recv":
      return [instruction.buffer];
    case "collective":
      return [instruction.output];
    default:
      return [];
  }
}

function mentions(instruction: Instruction): readonly BufferName[] {
  return instruction.kind === "loop"
    ? instruction.body.flatMap(mentions)
    : instruction.kind === "free"
      ? [instruction.buffer]
      : [...reads(instruction), ...writes(instruction)];
}

/** The list with a `free` after the last mention of every buffer that it defines and does not free itself. */
export function insertFrees(list: readonly Instruction[]): Instruction[] {
  const own = new Set(list.flatMap(writes));
  for (const instruction of list) if (instruction.kind === "free") own.delete(instruction.buffer);
  const last = new Map<BufferName, number>();
  list.forEach((instruction, position) => {
    for (const name of mentions(instruction)) if (own.has(name)) last.set(name, position);
  });
  return list.flatMap((instruction, position) => {
    const kept =
      instruction.kind === "loop" ? { ...instruction, body: insertFrees(instruction.body) } : instruction;
    const ended = [...last].filter(([, end]) => end === position).map(([buffer]) => buffer);
    return [kept, ...ended.map((buffer) => ({ kind: "free" as const, buffer }))];
  });
}
