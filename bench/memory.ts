/**
 * What processes take: the peak of the memory-bound problem, and what ten thousand steps leave behind. Each figure is of a
 * process of its own, which this file is the program of as well.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createPool, objectiveFunction } from "heddle";
import { memoryBound, memorySize, smallSteps } from "./cases.js";
import { pause } from "./interleaved.js";
import type { Row, Section } from "./rows.js";

const megabyte = 2 ** 20;
const steps = 10_000;

/** The largest resident size of a process that evaluates the memory-bound problem a few times, in megabytes. */
async function peak(): Promise<number> {
  const { list, c } = memoryBound();
  // What was only needed to make the matrices is not the function's.
  globalThis.gc?.();
  await using pool = await createPool({ ranks: 2 });
  const fun = await objectiveFunction(list, { x: c, pool });
  let live = await fun.linearize(c);
  for (let step = 0; step < 20; step++) live = await fun.linearize(c, { out: live });
  return process.resourceUsage().maxRSS / 1024;
}

/** Bytes that are in use after a collection: objects, and the arrays that they own. */
async function liveBytes(): Promise<number> {
  // What finalizers let go in a turn of their own is free in the next collection.
  for (let round = 0; round < 3; round++) {
    globalThis.gc?.();
    await pause(5);
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** What a process has more of at its last step than at its thousandth, in megabytes. */
interface Growth {
  /** In use. */
  readonly live: number;
  /** Resident: with what the collector has not come to yet. */
  readonly resident: number;
}

async function growth(keeps: boolean, blocks: boolean): Promise<Growth> {
  const { list, c } = smallSteps();
  await using pool = await createPool({ ranks: 2 });
  const fun = await objectiveFunction(list, { x: c, pool });
  let last = await fun.linearize(c);
  let before: { live: number; resident: number } | undefined;
  for (let step = 0; step < steps; step++) {
    const options = keeps ? { out: last } : {};
    last = blocks ? fun.sync.linearize(c, options) : await fun.linearize(c, options);
    if (step === 1000) before = { live: await liveBytes(), resident: process.memoryUsage.rss() };
  }
  const resident = process.memoryUsage.rss();
  return {
    live: ((await liveBytes()) - (before?.live ?? 0)) / megabyte,
    resident: (resident - (before?.resident ?? 0)) / megabyte,
  };
}

const measures: Readonly<Record<string, () => Promise<number | Growth>>> = {
  peak,
  "out blocking": () => growth(true, true),
  "out awaited": () => growth(true, false),
  "copies blocking": () => growth(false, true),
  "copies awaited": () => growth(false, false),
};

async function inProcessOfItsOwn(measure: string): Promise<unknown> {
  const program = fileURLToPath(import.meta.url);
  const { stdout } = await promisify(execFile)(process.execPath, ["--expose-gc", program, measure]);
  return JSON.parse(stdout);
}

/** Rows of how a process grows. The collector keeps up if little of the 1.3 GB stays that are made without `out`. */
async function growthRows(name: string, measure: string): Promise<Row[]> {
  const { live, resident } = (await inProcessOfItsOwn(measure)) as Growth; // What `growth` answers there.
  return [
    { name: `${name}: in use`, value: live, unit: "MB", wanted: { most: 1 } },
    { name: `${name}: resident`, value: resident, unit: "MB", wanted: { most: 100 } },
  ];
}

/** Peak and growth. */
export async function run(): Promise<Section[]> {
  const { count, rows, columns } = memorySize;
  const inputs = (count * rows * columns * 8) / megabyte;
  const outputs = (count * rows * (columns + 1) * 8) / megabyte;
  return [
    {
      title: `peak of ${count} objectives tanh(A·c), each with its own A ${rows}×${columns}`,
      rows: [
        { name: "inputs", value: inputs, unit: "MB" },
        { name: "outputs", value: outputs, unit: "MB" },
        {
          name: "peak of the process",
          value: Number(await inProcessOfItsOwn("peak")),
          unit: "MB",
          wanted: { most: Math.round(inputs + outputs + 150) },
        },
      ],
    },
    {
      title: `growth from step 1000 to ${steps}, with results of 130 KB`,
      rows: [
        ...(await growthRows("with out, blocking", "out blocking")),
        ...(await growthRows("with out, awaited", "out awaited")),
        ...(await growthRows("without out, blocking", "copies blocking")),
        ...(await growthRows("without out, awaited", "copies awaited")),
      ],
    },
  ];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const measure = measures[process.argv[2] ?? ""];
  if (measure === undefined) throw new RangeError(`one of ${Object.keys(measures).join(", ")} was expected`);
  console.log(JSON.stringify(await measure()));
}
