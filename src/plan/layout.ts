/**
 * Decides, before a plan runs, where each buffer of a rank lies. Resident plans allocate nothing while they run: buffers
 * get fixed places in one workspace per rank, sharing bytes when their lives do not meet. On devices that work in the
 * shared heap, a buffer that is only loaded is the region itself, and one that is only stored is written in place.
 */
import { at } from "../base/at.js";
import { definitions } from "./flow.js";
import type { BufferName, BufferType, Instruction, Plan, StoreInstruction, Window } from "./plan.js";
import { byteSize, entryOf, isContiguous, overlap, windowOf } from "./plan.js";

/** Every private buffer starts at a multiple of this: one cache line, and what the widest vector units like. */
export const alignment = 64;

/** Where a buffer lies. */
export type BufferPlace =
  /** Bytes from the start of the rank's workspace. */
  | { readonly kind: "private"; readonly offset: number }
  /** A window of a region, in place. */
  | { readonly kind: "region"; readonly region: string; readonly window: Window };

/** The places of one rank's buffers. */
export interface RankLayout {
  /** Size of the workspace. */
  readonly bytes: number;
  readonly places: ReadonlyMap<BufferName, BufferPlace>;
  /** Private buffers that hold a constant and nothing else, ever: what was copied there once is still there. */
  readonly pinned: ReadonlySet<BufferName>;
}

interface Life {
  /** First and last position at which the buffer must keep its bytes. */
  first: number;
  last: number;
  bytes: number;
  readonly positions: number[];
  readonly definedBy: Instruction[];
  readonly usedBy: Instruction[];
}

interface Survey {
  readonly lives: Map<BufferName, Life>;
  readonly loops: { readonly begin: number; readonly end: number }[];
}

/** The buffers that an instruction reads. */
export function reads(instruction: Instruction): readonly BufferName[] {
  switch (instruction.kind) {
    case "run":
      return instruction.inputs;
    case "store":
    case "send":
      return [instruction.buffer];
    case "collective":
      return [instruction.input];
    case "load":
    case "recv":
    case "loop":
    case "free":
      return [];
  }
}

function survey(plan: Plan, list: readonly Instruction[]): Survey {
  const lives = new Map<BufferName, Life>();
  const loops: Survey["loops"] = [];
  const types = new Map<BufferName, BufferType>();
  let position = 0;
  const touch = (name: BufferName): Life => {
    let life = lives.get(name);
    if (life === undefined) {
      life = { first: position, last: position, bytes: 0, positions: [], definedBy: [], usedBy: [] };
      lives.set(name, life);
    }
    life.last = position;
    life.positions.push(position);
    return life;
  };
  const walk = (instructions: readonly Instruction[]): void => {
    for (const instruction of instructions) {
      position++;
      for (const name of reads(instruction)) touch(name).usedBy.push(instruction);
      const typeOf = (name: BufferName): BufferType => types.get(name) ?? { dtype: "bool", shape: [] };
      for (const [name, type] of definitions(plan, instruction, typeOf)) {
        types.set(name, type);
        const life = touch(name);
        life.definedBy.push(instruction);
        life.bytes = Math.max(life.bytes, byteSize(type));
      }
      if (instruction.kind === "free") touch(instruction.buffer);
      if (instruction.kind === "loop") {
        const begin = position;
        walk(instruction.body);
        loops.push({ begin, end: position });
      }
    }
  };
  walk(list);
  for (const life of lives.values()) {
    for (const { begin, end } of loops) {
      const inside = life.positions.some((p) => p >= begin && p <= end);
      const outside = life.positions.some((p) => p < begin || p > end);
      if (!inside || !outside) continue;
      life.first = Math.min(life.first, begin);
      life.last = Math.max(life.last, end);
    }
  }
  return { lives, loops };
}

interface Access {
  readonly instruction: Instruction & { readonly kind: "load" | "store" };
  readonly window: Window;
}

function accessesByRegion(plan: Plan): Map<string, Access[]> {
  const result = new Map<string, Access[]>();
  const walk = (list: readonly Instruction[]): void => {
    for (const instruction of list) {
      if (instruction.kind === "loop") walk(instruction.body);
      if (instruction.kind !== "load" && instruction.kind !== "store") continue;
      const window = windowOf(instruction, entryOf(plan.regions, "region", instruction.region));
      const known = result.get(instruction.region);
      if (known === undefined) result.set(instruction.region, [{ instruction, window }]);
      else known.push({ instruction, window });
    }
  };
  plan.lists.forEach(walk);
  return result;
}

/** The region that a buffer may simply be, if nobody can tell the difference. */
function alias(
  plan: Plan,
  life: Life,
  accesses: ReadonlyMap<string, readonly Access[]>,
): BufferPlace | undefined {
  const [definition] = life.definedBy;
  if (definition === undefined || life.definedBy.length > 1) return undefined;
  if (definition.kind === "load") {
    const region = entryOf(plan.regions, "region", definition.region);
    const window = windowOf(definition, region);
    const stable = region.role === "input" || region.role === "constant";
    if (!stable || !isContiguous(window, region.shape)) return undefined;
    return { kind: "region", region: definition.region, window };
  }
  if (definition.kind !== "run") return undefined;
  const stores = life.usedBy.filter((user): user is StoreInstruction => user.kind === "store");
  const [store] = stores;
  if (store === undefined || stores.length > 1) return undefined;
  const region = entryOf(plan.regions, "region", store.region);
  const window = windowOf(store, region);
  const readElsewhere = life.usedBy.length > 1;
  if (region.role !== "output" || (readElsewhere && !isContiguous(window, region.shape))) return undefined;
  // The elements are written when the program runs, earlier than the store: nobody else may touch them.
  const touched = (accesses.get(store.region) ?? []).some(
    (access) => access.instruction !== store && overlap(access.window, window),
  );
  return touched ? undefined : { kind: "region", region: store.region, window };
}

/** Places the buffers of `rank`. The plan's lists have passed `checkFlow`. */
export function layoutRank(plan: Plan, rank: number, options: { readonly sharesHeap: boolean }): RankLayout {
  const { lives } = survey(plan, at(plan.lists, rank));
  const places = new Map<BufferName, BufferPlace>();
  const accesses = options.sharesHeap ? accessesByRegion(plan) : new Map<string, Access[]>();
  const rest: [BufferName, Life][] = [];
  const pinned = new Set<BufferName>();
  for (const [name, life] of lives) {
    const place = options.sharesHeap ? alias(plan, life, accesses) : undefined;
    if (place !== undefined) {
      places.set(name, place);
      continue;
    }
    const [definition] = life.definedBy;
    if (
      life.definedBy.length === 1 &&
      definition?.kind === "load" &&
      entryOf(plan.regions, "region", definition.region).role === "constant"
    ) {
      pinned.add(name);
      rest.push([name, { ...life, first: 0, last: Infinity }]);
    } else rest.push([name, life]);
  }

  // First fit, in order of first use.
  rest.sort(([, a], [, b]) => a.first - b.first);
  let total = 0;
  let active: { readonly offset: number; readonly end: number; readonly last: number }[] = [];
  for (const [name, life] of rest) {
    active = active.filter((other) => other.last >= life.first);
    const size = Math.ceil(life.bytes / alignment) * alignment;
    let offset = 0;
    for (const other of active) {
      if (offset + size <= other.offset) break;
      offset = Math.max(offset, other.end);
    }
    active.push({ offset, end: offset + size, last: life.last });
    active.sort((a, b) => a.offset - b.offset);
    total = Math.max(total, offset + size);
    places.set(name, { kind: "private", offset });
  }
  return { bytes: total, places, pinned };
}
