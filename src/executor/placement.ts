/** Gives a plan its place in the heap: regions, words, and rooms for messages; and cuts it into the ranks' parts. */
import { at } from "../base/at.js";
import type { Storage } from "../base/dtype.js";
import type { Block, Heap } from "../heap/heap.js";
import type { Graph } from "../ir/graph.js";
import { layoutRank } from "../plan/layout.js";
import type { Instruction, Plan, PlanProgram } from "../plan/plan.js";
import { byteSize } from "../plan/plan.js";
import { trafficOf } from "../plan/traffic.js";
import type { ChannelRoom, GroupRoom, PlacedRegion, PlanPart } from "../transports/service.js";
import { planWord } from "../transports/words.js";
import { placeConstant } from "./constants.js";

/** What a store leaves behind, for the check of epochs. */
export interface StoreMark {
  readonly rank: number;
  /** Index into the plan's words. */
  readonly word: number;
  readonly region: string;
  /** The program whose result it stores. */
  readonly task: string;
}

/** A plan in the heap. */
export interface PlacedPlan {
  readonly regions: Readonly<Record<string, PlacedRegion>>;
  readonly marks: readonly StoreMark[];
  /** Address of the plan's words, and how many there are. */
  readonly words: number;
  readonly wordCount: number;
  /** Index of the first word of channels and groups, which are zeroed before each step. */
  readonly firstTrafficWord: number;
  part(rank: number, plan: number, tasks: Readonly<Record<string, number>>): PlanPart;
  free(): void;
}

/** The name under which a program's work is reported. */
function taskOf(plan: Plan, instruction: Instruction & { kind: "run" }): string {
  return instruction.task ?? plan.programs[instruction.program]?.label ?? instruction.program;
}

function visit(list: readonly Instruction[], see: (instruction: Instruction) => void): void {
  for (const instruction of list) {
    see(instruction);
    if (instruction.kind === "loop") visit(instruction.body, see);
  }
}

/** All tasks of a plan, each once. */
export function tasksOf(plan: Plan): string[] {
  const tasks = new Set<string>();
  for (const list of plan.lists) {
    visit(list, (instruction) => {
      if (instruction.kind === "run") tasks.add(taskOf(plan, instruction));
    });
  }
  return [...tasks];
}

function marksOf(plan: Plan): StoreMark[] {
  let word: number = planWord.first;
  return plan.lists.flatMap((list, rank) => {
    const marks: StoreMark[] = [];
    const makers = new Map<string, string>();
    visit(list, (instruction) => {
      if (instruction.kind === "run") {
        for (const output of instruction.outputs) makers.set(output, taskOf(plan, instruction));
      } else if (instruction.kind === "store") {
        const { region, buffer } = instruction;
        marks.push({ rank, word: word++, region, task: makers.get(buffer) ?? region });
      }
    });
    return marks;
  });
}

/** Places a verified plan. `constants` has the data of every region whose role is constant. */
export function placePlan(
  heap: Heap,
  plan: Plan,
  constants: Readonly<Record<string, Storage>>,
  sharesHeap: (rank: number) => boolean,
  label: string,
): PlacedPlan {
  const blocks: Block[] = [];
  const free = (): void => {
    for (const block of blocks.splice(0)) block.free();
  };
  const take = (bytes: number, what: string): number => {
    const block = heap.allocate(bytes, `${what} of ${label}`);
    blocks.push(block);
    return block.address;
  };
  try {
    const regions: Record<string, PlacedRegion> = {};
    for (const [name, { dtype, shape, role }] of Object.entries(plan.regions)) {
      const data = role === "constant" ? constants[name] : undefined;
      let address: number;
      if (data === undefined) address = take(byteSize({ dtype, shape }), name);
      else {
        const block = placeConstant(heap, data, `${name} of ${label}`);
        blocks.push(block);
        address = block.address;
      }
      regions[name] = { dtype, shape, role, address };
    }

    const marks = marksOf(plan);
    const traffic = trafficOf(plan);
    const firstTrafficWord = planWord.first + marks.length;
    const groupWords = [...traffic.groups.keys()].map((name) => 2 * (plan.groups[name]?.length ?? 0));
    const wordCount =
      firstTrafficWord + traffic.channels.size + groupWords.reduce((sum, count) => sum + count, 0);
    const words = take(4 * wordCount, "words");
    let next = words + 4 * firstTrafficWord;
    const channels: Record<string, ChannelRoom> = {};
    for (const [key, bytes] of traffic.channels) {
      channels[key] = { word: next, data: take(bytes, "a channel") };
      next += 4;
    }
    const rooms: Record<string, GroupRoom> = {};
    for (const [name, bytes] of traffic.groups) {
      const members = plan.groups[name] ?? [];
      rooms[name] = { words: next, data: members.map(() => take(bytes, "a collective")) };
      next += 8 * members.length;
    }

    return {
      regions,
      marks,
      words,
      wordCount,
      firstTrafficWord,
      free,
      part: (rank, number, tasks) => {
        const list = at(plan.lists, rank);
        const programs: Record<string, PlanProgram<Graph>> = {};
        visit(list, (instruction) => {
          if (instruction.kind !== "run") return;
          const program = plan.programs[instruction.program];
          // The plan does not know what its graphs are; the compiler of the rank's device checks them.
          if (program !== undefined) programs[instruction.program] = program as PlanProgram<Graph>;
        });
        const firstMark = marks.find((mark) => mark.rank === rank);
        return {
          plan: number,
          rank,
          list,
          programs,
          regions,
          groups: plan.groups,
          layout: layoutRank(plan, rank, { sharesHeap: sharesHeap(rank) }),
          words,
          storeWords: words + 4 * (firstMark?.word ?? 0),
          channels,
          rooms,
          heapBytes: heap.memory.buffer.byteLength,
          tasks,
        };
      },
    };
  } catch (error) {
    free();
    throw error;
  }
}
