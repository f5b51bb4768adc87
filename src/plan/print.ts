/** Writes plans as text that people read in errors, reviews and terminals. */
import type { Instruction, Plan, Window } from "./plan.js";
import { formatType } from "./plan.js";

function printWindow(window: Window | undefined): string {
  if (window === undefined) return "";
  const axes = window.start.map((start, axis) => `${start}:${start + (window.extent[axis] ?? 0)}`);
  return `[${axes.join(", ")}]`;
}

/** One instruction on one line; a loop shows its length only. */
export function printInstruction(instruction: Instruction): string {
  switch (instruction.kind) {
    case "run": {
      const task = instruction.task === undefined ? "" : `  # ${instruction.task}`;
      return `${instruction.outputs.join(", ")} = run ${instruction.program}(${instruction.inputs.join(", ")})${task}`;
    }
    case "load":
      return `${instruction.buffer} = load ${instruction.region}${printWindow(instruction.window)}`;
    case "store":
      return `store ${instruction.buffer} -> ${instruction.region}${printWindow(instruction.window)}`;
    case "send":
      return `send ${instruction.buffer} -> rank ${instruction.to} tag "${instruction.tag}"`;
    case "recv":
      return `${instruction.buffer} = recv ${formatType(instruction)} <- rank ${instruction.from} tag "${instruction.tag}"`;
    case "collective":
      return `${instruction.output} = ${instruction.operation}(${[instruction.input, ...collectiveParameters(instruction)].join(", ")}) over ${instruction.group}`;
    case "loop":
      return `loop ${instruction.count} times { ${instruction.body.length} instructions }`;
    case "free":
      return `free ${instruction.buffer}`;
  }
}

/** What two members of a collective must agree on, printed. */
export function collectiveParameters(instruction: Instruction & { readonly kind: "collective" }): string[] {
  switch (instruction.operation) {
    case "allReduce":
      return [instruction.reduce];
    case "allGather":
    case "allToAll":
      return [`axis ${instruction.axis}`];
    case "reduceScatter":
      return [instruction.reduce, `axis ${instruction.axis}`];
    case "broadcast":
      return [`root ${instruction.root}`];
    case "permute":
      return [instruction.pairs.map(([from, to]) => `${from}->${to}`).join(" ")];
  }
}

function printList(list: readonly Instruction[], indent: string, lines: string[]): void {
  for (const instruction of list) {
    if (instruction.kind === "loop") {
      lines.push(`${indent}loop ${instruction.count} times {`);
      printList(instruction.body, `${indent}  `, lines);
      lines.push(`${indent}}`);
    } else {
      lines.push(indent + printInstruction(instruction));
    }
  }
}

/** The whole plan: its tables, then every rank's list. */
export function printPlan(plan: Plan): string {
  const lines = [`plan for ${plan.ranks} rank${plan.ranks === 1 ? "" : "s"}`];
  for (const [name, program] of Object.entries(plan.programs)) {
    const label = program.label === undefined ? "" : `  # ${program.label}`;
    lines.push(
      `program ${name}: (${program.inputs.map(formatType).join(", ")}) -> (${program.outputs.map(formatType).join(", ")}) ${program.hash}${label}`,
    );
  }
  for (const [name, region] of Object.entries(plan.regions)) {
    lines.push(`region ${name}: ${region.role} ${formatType(region)}${region.zero === true ? " zero" : ""}`);
  }
  for (const [name, members] of Object.entries(plan.groups)) {
    lines.push(`group ${name}: ${members.join(", ")}`);
  }
  plan.lists.forEach((list, rank) => {
    lines.push(`rank ${rank}:`);
    printList(list, "  ", lines);
  });
  return lines.join("\n");
}
