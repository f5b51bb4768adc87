/** What a plan moves between ranks: how much room its channels and groups need, and how many stores it has. */
import { definitions } from "./flow.js";
import type { BufferName, BufferType, Instruction, Plan } from "./plan.js";
import { byteSize } from "./plan.js";

/** The name of the one-way channel that a send and its receive share. */
export function channelKey(from: number, to: number, tag: string): string {
  return `${from}>${to}:${tag}`;
}

/** Room that a plan's communication needs. */
export interface Traffic {
  /** Bytes of the largest message, by channel. */
  readonly channels: ReadonlyMap<string, number>;
  /** Bytes of the largest input of a collective, by group. */
  readonly groups: ReadonlyMap<string, number>;
  /** Store instructions per rank, counted depth first. */
  readonly stores: readonly number[];
}

/** Measures a verified plan. */
export function trafficOf(plan: Plan): Traffic {
  const channels = new Map<string, number>();
  const groups = new Map<string, number>();
  const raise = (map: Map<string, number>, key: string, bytes: number): void => {
    map.set(key, Math.max(map.get(key) ?? 0, bytes));
  };
  const stores = plan.lists.map((list, rank) => {
    const types = new Map<BufferName, BufferType>();
    const typeOf = (name: BufferName): BufferType => types.get(name) ?? { dtype: "bool", shape: [] };
    let count = 0;
    const walk = (instructions: readonly Instruction[]): void => {
      for (const instruction of instructions) {
        for (const [name, type] of definitions(plan, instruction, typeOf)) types.set(name, type);
        if (instruction.kind === "loop") walk(instruction.body);
        else if (instruction.kind === "store") count++;
        else if (instruction.kind === "send") {
          const bytes = byteSize(typeOf(instruction.buffer));
          raise(channels, channelKey(rank, instruction.to, instruction.tag), bytes);
        } else if (instruction.kind === "collective") {
          raise(groups, instruction.group, byteSize(typeOf(instruction.input)));
        }
      }
    };
    walk(list);
    return count;
  });
  return { channels, groups, stores };
}
