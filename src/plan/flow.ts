/**
 * Follows the buffers of one rank through its list: defined before use, freed exactly once, never overwritten while
 * alive, and every instruction given the types that it takes.
 */
import { at } from "../base/at.js";
import type { Place } from "./place.js";
import { planError } from "./place.js";
import type { BufferName, BufferType, CollectiveInstruction, Instruction, Plan, PlanTables } from "./plan.js";
import { entryOf, formatType, sameType, windowOf } from "./plan.js";

interface Buffer {
  readonly type: BufferType;
  readonly definedAt: Place;
}

interface State {
  readonly live: Map<BufferName, Buffer>;
  readonly freed: Map<BufferName, Place>;
}

function use(state: State, name: BufferName, place: Place): BufferType {
  const buffer = state.live.get(name);
  if (buffer !== undefined) return buffer.type;
  const freed = state.freed.get(name);
  if (freed !== undefined) throw planError(`buffer "${name}" is used after it was freed`, [place, freed]);
  throw planError(`buffer "${name}" is used before it is defined`, [place]);
}

function define(state: State, name: BufferName, type: BufferType, place: Place): void {
  const previous = state.live.get(name);
  if (previous !== undefined) {
    throw planError(
      `buffer "${name}" is overwritten while it is alive`,
      [place, previous.definedAt],
      "free it first, or use another name",
    );
  }
  state.live.set(name, { type, definedAt: place });
  state.freed.delete(name);
}

function free(state: State, name: BufferName, place: Place): void {
  if (!state.live.delete(name)) {
    const freed = state.freed.get(name);
    if (freed !== undefined) throw planError(`buffer "${name}" is freed twice`, [place, freed]);
    throw planError(`buffer "${name}" is freed but never defined`, [place]);
  }
  state.freed.set(name, place);
}

function checkWindow(plan: Plan, place: Place & { instruction: { kind: "load" | "store" } }): BufferType {
  const { instruction } = place;
  const region = entryOf(plan.regions, "region", instruction.region);
  const { start, extent } = windowOf(instruction, region);
  const fits =
    start.length === region.shape.length &&
    extent.length === region.shape.length &&
    start.every((first, axis) => first + at(extent, axis) <= at(region.shape, axis));
  if (!fits) {
    throw planError(`the window leaves region "${instruction.region}", which is ${formatType(region)}`, [
      place,
    ]);
  }
  return { dtype: region.dtype, shape: extent };
}

/** The type that a collective leaves, for an input type; throws if the parameters do not fit it. */
function collectiveResult(
  plan: Plan,
  instruction: CollectiveInstruction,
  input: BufferType,
  place: Place,
): BufferType {
  const members = entryOf(plan.groups, "group", instruction.group);
  if (!members.includes(place.rank)) {
    throw planError(`rank ${place.rank} is not a member of group "${instruction.group}"`, [place]);
  }
  const scaled = (axis: number, factor: (extent: number) => number): BufferType => {
    const extent = input.shape[axis];
    if (extent === undefined) throw planError(`axis ${axis} does not exist in ${formatType(input)}`, [place]);
    return { dtype: input.dtype, shape: input.shape.map((old, i) => (i === axis ? factor(old) : old)) };
  };
  const divided = (extent: number): number => {
    if (extent % members.length !== 0) {
      throw planError(`${extent} elements do not divide among ${members.length} members`, [place]);
    }
    return extent / members.length;
  };
  switch (instruction.operation) {
    case "allReduce":
      return input;
    case "allGather":
      return scaled(instruction.axis, (extent) => extent * members.length);
    case "reduceScatter":
      return scaled(instruction.axis, divided);
    case "allToAll":
      scaled(instruction.axis, divided);
      return input;
    case "broadcast":
      if (!members.includes(instruction.root)) {
        throw planError(`root ${instruction.root} is not a member of group "${instruction.group}"`, [place]);
      }
      return input;
    case "permute": {
      const ends = instruction.pairs.flat();
      if (!ends.every((rank) => members.includes(rank))) {
        throw planError(`a pair names a rank that is not a member of group "${instruction.group}"`, [place]);
      }
      const targets = instruction.pairs.map(([, to]) => to);
      if (new Set(targets).size !== targets.length)
        throw planError("two pairs end at the same rank", [place]);
      return input;
    }
  }
}

function visit(
  plan: Plan,
  rank: number,
  list: readonly Instruction[],
  state: State,
  path: readonly number[],
): void {
  list.forEach((instruction, position) => {
    const place = { rank, path: [...path, position], instruction };
    switch (instruction.kind) {
      case "run": {
        const program = entryOf(plan.programs, "program", instruction.program);
        const actual = instruction.inputs.map((name) => use(state, name, place));
        if (actual.length !== program.inputs.length) {
          throw planError(
            `program "${instruction.program}" takes ${program.inputs.length} inputs, not ${actual.length}`,
            [place],
          );
        }
        actual.forEach((type, i) => {
          const expected = at(program.inputs, i);
          if (sameType(type, expected)) return;
          const source = state.live.get(at(instruction.inputs, i));
          throw planError(
            `input ${i} of program "${instruction.program}" is ${formatType(type)}, expected ${formatType(expected)}`,
            source === undefined ? [place] : [place, source.definedAt],
          );
        });
        if (instruction.outputs.length !== program.outputs.length) {
          throw planError(
            `program "${instruction.program}" gives ${program.outputs.length} outputs, not ${instruction.outputs.length}`,
            [place],
          );
        }
        instruction.outputs.forEach((name, i) => define(state, name, at(program.outputs, i), place));
        return;
      }
      case "load":
        define(state, instruction.buffer, checkWindow(plan, { ...place, instruction }), place);
        return;
      case "store": {
        const type = use(state, instruction.buffer, place);
        const target = checkWindow(plan, { ...place, instruction });
        const { role } = entryOf(plan.regions, "region", instruction.region);
        if (role === "input" || role === "constant") {
          throw planError(`ranks do not write region "${instruction.region}", whose role is ${role}`, [
            place,
          ]);
        }
        if (!sameType(type, target)) {
          const source = state.live.get(instruction.buffer);
          throw planError(
            `buffer "${instruction.buffer}" is ${formatType(type)}, but the window is ${formatType(target)}`,
            source === undefined ? [place] : [place, source.definedAt],
          );
        }
        return;
      }
      case "send":
        use(state, instruction.buffer, place);
        if (instruction.to === rank) throw planError("a rank sends to itself", [place]);
        return;
      case "recv":
        if (instruction.from === rank) throw planError("a rank receives from itself", [place]);
        define(state, instruction.buffer, { dtype: instruction.dtype, shape: instruction.shape }, place);
        return;
      case "collective": {
        const input = use(state, instruction.input, place);
        define(state, instruction.output, collectiveResult(plan, instruction, input, place), place);
        return;
      }
      case "loop":
        visitLoop(plan, state, instruction, place);
        return;
      case "free":
        free(state, instruction.buffer, place);
        return;
    }
  });
}

function visitLoop(
  plan: Plan,
  state: State,
  instruction: Instruction & { kind: "loop" },
  place: Place,
): void {
  const before = new Map(state.live);
  visit(plan, place.rank, instruction.body, state, place.path);
  for (const [name, buffer] of state.live) {
    const old = before.get(name);
    if (old === undefined) {
      throw planError(
        `the loop's body leaves buffer "${name}" alive`,
        [buffer.definedAt, place],
        "free it in the body",
      );
    }
    if (!sameType(old.type, buffer.type)) {
      throw planError(
        `the loop's body changes buffer "${name}" from ${formatType(old.type)} to ${formatType(buffer.type)}`,
        [buffer.definedAt, place],
      );
    }
  }
  for (const [name, buffer] of before) {
    if (state.live.has(name)) continue;
    const freed = state.freed.get(name);
    throw planError(
      `the loop's body frees buffer "${name}", which the next round needs`,
      [freed ?? place, buffer.definedAt],
      "free it after the loop",
    );
  }
}

/** Checks the buffers and types of one rank's list. */
export function checkFlow(plan: Plan, rank: number): void {
  const state: State = { live: new Map(), freed: new Map() };
  visit(plan, rank, at(plan.lists, rank), state, []);
  for (const [name, buffer] of state.live) {
    throw planError(`buffer "${name}" is never freed`, [buffer.definedAt], "end its life with a free");
  }
}

/** The type of every buffer that an instruction defines, for lists that `checkFlow` has accepted. */
export function definitions(
  plan: PlanTables,
  instruction: Instruction,
  typeOf: (name: BufferName) => BufferType,
): [BufferName, BufferType][] {
  switch (instruction.kind) {
    case "run": {
      const { outputs } = entryOf(plan.programs, "program", instruction.program);
      return instruction.outputs.map((name, i) => [name, at(outputs, i)]);
    }
    case "load": {
      const region = entryOf(plan.regions, "region", instruction.region);
      return [[instruction.buffer, { dtype: region.dtype, shape: windowOf(instruction, region).extent }]];
    }
    case "recv":
      return [[instruction.buffer, { dtype: instruction.dtype, shape: instruction.shape }]];
    case "collective": {
      const input = typeOf(instruction.input);
      const members = entryOf(plan.groups, "group", instruction.group).length;
      const factor =
        instruction.operation === "allGather"
          ? members
          : instruction.operation === "reduceScatter"
            ? 1 / members
            : 1;
      const axis = "axis" in instruction ? instruction.axis : -1;
      const shape = input.shape.map((extent, i) => (i === axis ? Math.round(extent * factor) : extent));
      return [[instruction.output, { dtype: input.dtype, shape }]];
    }
    case "store":
    case "send":
    case "loop":
    case "free":
      return [];
  }
}
