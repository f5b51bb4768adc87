/**
 * Runs a plan without its arithmetic, to prove that it ends: sends meet receives of the same type, members of a group
 * enter the same collectives in the same order, and no ranks wait for each other in a circle. A send counts as done only
 * when it is received, the strictest reading, so no amount of buffering is relied on. Along the way it records which
 * accesses to regions are ordered, by vector clocks.
 */
import { at } from "../base/at.js";
import { PlanError } from "../base/errors.js";
import { definitions } from "./flow.js";
import type { Place } from "./place.js";
import { formatPlace, planError } from "./place.js";
import type { BufferName, BufferType, CollectiveInstruction, Instruction, Plan, Window } from "./plan.js";
import { entryOf, formatType, sameType, windowOf } from "./plan.js";
import { collectiveParameters } from "./print.js";

/** More than this many simulated instructions are not verified. */
const longest = 5_000_000;

/** One load or store, as the simulation met it. */
export interface RegionAccess {
  readonly place: Place;
  readonly region: string;
  readonly window: Window;
  readonly writes: boolean;
  /** How many communications each rank had finished when this one happened, as far as this rank could know. */
  readonly clock: readonly number[];
}

/** True if `a` certainly happened before `b`. */
export function happenedBefore(a: RegionAccess, b: RegionAccess): boolean {
  if (a.place.rank === b.place.rank) return comparePaths(a.place.path, b.place.path) < 0;
  // Local time is counted in communications: `a` is before `b` if b knows of a communication of a's rank after a.
  return at(b.clock, a.place.rank) > at(a.clock, a.place.rank);
}

function comparePaths(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < a.length && i < b.length; i++) {
    const difference = at(a, i) - at(b, i);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

function communicates(list: readonly Instruction[]): boolean {
  return list.some((instruction) => {
    switch (instruction.kind) {
      case "send":
      case "recv":
      case "collective":
        return true;
      case "loop":
        return communicates(instruction.body);
      default:
        return false;
    }
  });
}

/** The instructions of a list in the order in which they run; loops that do not communicate run once. */
function* unroll(
  rank: number,
  list: readonly Instruction[],
  path: readonly number[],
): Generator<Place, void> {
  for (let position = 0; position < list.length; position++) {
    const instruction = at(list, position);
    const place = { rank, path: [...path, position], instruction };
    if (instruction.kind !== "loop") {
      yield place;
      continue;
    }
    const rounds = communicates(instruction.body) ? instruction.count : 1;
    for (let round = 0; round < rounds; round++) yield* unroll(rank, instruction.body, place.path);
  }
}

class SimulatedRank {
  readonly rank: number;
  readonly clock: number[];
  readonly types = new Map<BufferName, BufferType>();
  /** The instruction that it stands at; `undefined` when its list has ended. */
  place: Place | undefined;
  readonly #places: Generator<Place, void>;

  constructor(plan: Plan, rank: number) {
    this.rank = rank;
    this.clock = new Array<number>(plan.ranks).fill(0);
    this.#places = unroll(rank, at(plan.lists, rank), []);
    this.next();
  }

  next(): void {
    const result = this.#places.next();
    this.place = result.done === true ? undefined : result.value;
  }

  typeOf(name: BufferName): BufferType {
    const type = this.types.get(name);
    if (type === undefined) throw new RangeError(`simulated buffer ${name} has no type`);
    return type;
  }

  define(plan: Plan, instruction: Instruction): void {
    const typeOf = (name: BufferName): BufferType => this.typeOf(name);
    for (const [name, type] of definitions(plan, instruction, typeOf)) this.types.set(name, type);
  }
}

function join(into: number[], from: readonly number[]): void {
  from.forEach((time, rank) => {
    if (time > at(into, rank)) into[rank] = time;
  });
}

function signature(instruction: CollectiveInstruction, input: BufferType): string {
  return [instruction.operation, formatType(input), ...collectiveParameters(instruction)].join(" ");
}

/** The rank that `state` waits for, with its own place if it has one. */
function partner(
  plan: Plan,
  states: readonly SimulatedRank[],
  state: SimulatedRank,
): SimulatedRank | undefined {
  const instruction = state.place?.instruction;
  switch (instruction?.kind) {
    case "send":
      return states[instruction.to];
    case "recv":
      return states[instruction.from];
    case "collective":
      return entryOf(plan.groups, "group", instruction.group)
        .map((rank) => at(states, rank))
        .find((other) => {
          const there = other.place?.instruction;
          return there?.kind !== "collective" || there.group !== instruction.group;
        });
    default:
      return undefined;
  }
}

/** Tries to move `state` on; answers the ranks that moved. */
function advance(
  plan: Plan,
  states: readonly SimulatedRank[],
  state: SimulatedRank,
  accesses: Map<string, RegionAccess>,
): readonly SimulatedRank[] {
  const place = state.place;
  if (place === undefined) return [];
  const { instruction } = place;
  switch (instruction.kind) {
    case "send":
    case "recv": {
      const peer = at(states, instruction.kind === "send" ? instruction.to : instruction.from);
      const [sender, receiver] = instruction.kind === "send" ? [state, peer] : [peer, state];
      const send = sender.place?.instruction;
      const recv = receiver.place?.instruction;
      if (send?.kind !== "send" || recv?.kind !== "recv") return [];
      if (send.to !== receiver.rank || recv.from !== sender.rank || send.tag !== recv.tag) return [];
      const sent = sender.typeOf(send.buffer);
      if (!sameType(sent, recv)) {
        const places = [sender.place, receiver.place].filter((p) => p !== undefined);
        throw planError(`${formatType(sent)} is sent where ${formatType(recv)} is received`, places);
      }
      receiver.define(plan, recv);
      sender.clock[sender.rank] = at(sender.clock, sender.rank) + 1;
      join(receiver.clock, sender.clock);
      receiver.clock[receiver.rank] = at(receiver.clock, receiver.rank) + 1;
      sender.next();
      receiver.next();
      return [sender, receiver];
    }
    case "collective": {
      const members = entryOf(plan.groups, "group", instruction.group).map((rank) => at(states, rank));
      const own = signature(instruction, state.typeOf(instruction.input));
      for (const member of members) {
        const there = member.place?.instruction;
        if (there?.kind !== "collective" || there.group !== instruction.group) return [];
        const theirs = signature(there, member.typeOf(there.input));
        if (theirs !== own) {
          const places = [place, member.place].filter((p) => p !== undefined);
          throw planError(
            `members of group "${instruction.group}" enter different collectives: ${own}, and ${theirs}`,
            places,
            "all members enter the same collectives in the same order",
          );
        }
      }
      const clock = new Array<number>(plan.ranks).fill(0);
      for (const member of members) {
        member.clock[member.rank] = at(member.clock, member.rank) + 1;
        join(clock, member.clock);
      }
      for (const member of members) {
        join(member.clock, clock);
        const there = member.place?.instruction;
        if (there !== undefined) member.define(plan, there);
        member.next();
      }
      return members;
    }
    case "load":
    case "store": {
      const window = windowOf(instruction, entryOf(plan.regions, "region", instruction.region));
      const key = `${state.rank}/${place.path.join(".")}/${state.clock.join(",")}`;
      if (!accesses.has(key)) {
        accesses.set(key, {
          place,
          region: instruction.region,
          window,
          writes: instruction.kind === "store",
          clock: [...state.clock],
        });
      }
      state.define(plan, instruction);
      state.next();
      return [state];
    }
    case "run":
    case "free":
    case "loop":
      state.define(plan, instruction);
      state.next();
      return [state];
  }
}

/** Simulates the plan to its end; throws `PlanError` if it has none. Answers every access to a region. */
export function simulate(plan: Plan): readonly RegionAccess[] {
  const states = plan.lists.map((_, rank) => new SimulatedRank(plan, rank));
  const accesses = new Map<string, RegionAccess>();
  const ready = new Set(states);
  let steps = 0;
  for (const state of ready) {
    ready.delete(state);
    for (;;) {
      const moved = advance(plan, states, state, accesses);
      if (moved.length === 0) break;
      if (++steps > longest) {
        throw new PlanError({
          operation: "verify",
          found: `more than ${longest} communicating instructions`,
          remedy: "shorten the loops that communicate",
        });
      }
      for (const other of moved) if (other !== state) ready.add(other);
    }
  }
  const waiting = states.find((state) => state.place !== undefined);
  if (waiting?.place === undefined) return [...accesses.values()];
  const other = partner(plan, states, waiting);
  if (other?.place === undefined) {
    const ended = other === undefined ? "" : `; rank ${other.rank}, which it waits for, has ended its list`;
    throw planError(`the plan never ends: ${formatPlace(waiting.place)} waits for ever${ended}`, []);
  }
  throw planError("the plan never ends: two instructions wait for each other or for what cannot come", [
    waiting.place,
    other.place,
  ]);
}
