/**
 * How an objective crosses to a rank: its compiled-to-be graphs and the places of its arrays in the shared heap. There,
 * its methods answer at once, with the bits that the function's own plans give.
 */
import { registerOwnCodec } from "../closure/codec.js";
import { WasmBackend } from "../backends/wasm/backend.js";
import type { Layout } from "./layout.js";
import { ObjectiveMethods } from "./methods.js";
import { Objective } from "./objective.js";
import type { Method } from "./programs.js";
import { residencyOf } from "./residency.js";
import type { PlacedProgram } from "./sync.js";
import { scratchBytes, SyncEvaluator } from "./sync.js";

const methods: readonly Method[] = ["residual", "jacobian", "linearize", "jvp", "vjp", "gradient"];

interface ObjectiveWire {
  readonly id: number;
  readonly name: string;
  readonly layout: Layout;
  readonly leaves: readonly { readonly start: number; readonly size: number }[];
  readonly dimX: number;
  readonly dimF: number;
  readonly data: readonly number[];
  readonly programs: Readonly<Record<Method, PlacedProgram>>;
}

/** Compiles for this thread, each program once. */
const backend = new WasmBackend();

/** What this thread has bound, the latest last. */
const bound = new Map<string, ObjectiveMethods>();
const mostBound = 256;

/** The layout without classes, which do not cross: coefficients of a class are passed flat. */
function crossingLayout(layout: Layout): Layout {
  const plain = (structure: Layout["structure"]): boolean =>
    structure.kind === "list" || structure.kind === "object"
      ? structure.children.every(plain)
      : structure.kind !== "class";
  if (plain(layout.structure)) return layout;
  const { size } = layout;
  return { structure: { kind: "leaf" }, leaves: [{ path: "", shape: [size], start: 0, size }], size };
}

registerOwnCodec<Objective>({
  name: "Objective",
  test: (value) => value instanceof Objective,
  shared: () => true,
  pin: (objective, pool) => residencyOf(objective, pool)?.rank,
  encode: (objective, context): ObjectiveWire => {
    const residency = residencyOf(objective);
    if (residency === undefined) {
      return context.refuse(
        `the objective "${objective.name}", which no rank holds`,
        "join it into a function on this pool first: await objectiveFunction([...], { x, pool })",
      );
    }
    const { id, entry, layout } = residency;
    const placed = residency.placed();
    context.reserve(Math.max(...methods.map((method) => scratchBytes(placed, method, backend))));
    const programs = Object.fromEntries(methods.map((method) => [method, placed.program(method)]));
    return {
      id,
      name: entry.name,
      layout: crossingLayout(layout),
      leaves: placed.leaves,
      dimX: placed.dimX,
      dimF: placed.dimF,
      data: placed.data,
      programs: programs as Record<Method, PlacedProgram>, // One entry per method.
    };
  },
  // The methods are those of an objective; a rank has no use for the rest.
  decode: (data, { scratch }) => {
    const wire = data as ObjectiveWire; // As encoded above.
    const address = scratch?.address ?? 0;
    const key = `${wire.id}@${address}`;
    let known = bound.get(key);
    if (known === undefined) {
      const placed = { ...wire, program: (method: Method) => wire.programs[method] };
      // The heap's memory, from the rank that runs the body.
      const memory = scratch?.memory as WebAssembly.Memory;
      const evaluator = new SyncEvaluator(placed, memory, backend, () => address);
      known = new ObjectiveMethods(wire.name, wire.layout, wire.dimF, (method, x, extra) =>
        evaluator.evaluate(method, x, extra),
      );
      bound.set(key, known);
      const [oldest] = bound.keys();
      if (bound.size > mostBound && oldest !== undefined) bound.delete(oldest);
    }
    return known as unknown as Objective;
  },
});
