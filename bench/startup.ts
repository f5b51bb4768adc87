/** What is paid once: starting a pool, finding out what a loop's body captures, and taking captured data along. */
import { createPool } from "heddle";
import { captureBody } from "#heddle/closure/body";
import { Decoder, Encoder } from "#heddle/closure/codec";
import { timed } from "./interleaved.js";
import { median } from "./median.js";
import type { Row, Section } from "./rows.js";

const settings = { base: 2, names: ["a", "b"] };
const grown = (rate: number, year: number): number => settings.base * Math.sin(rate * year);

/** A body with captures of its own, made anew at every call as it is in programs. */
function alone(): unknown {
  const rates = [0.1, 0.2, 0.3];
  const body = (i: number): number => settings.base * (rates[i % 3] ?? 0);
  return captureBody("bench", body, {}, undefined);
}

/** The same with a function of the module and what that captures. */
function withFunction(): unknown {
  const rates = [0.1, 0.2, 0.3];
  const body = (i: number): number => grown(rates[i % 3] ?? 0, i);
  return captureBody("bench", body, {}, undefined);
}

/** The same with a function that is made anew as well. */
function withFreshFunction(): unknown {
  const years = 12;
  const rates = [0.1, 0.2, 0.3];
  const local = { base: 2, names: ["a", "b"] };
  const grow = (rate: number, year: number): number => local.base * Math.sin(rate * year);
  const body = (i: number): number => {
    let total = 0;
    for (let year = 0; year < years; year++) total += grow(rates[i % 3] ?? 0, year);
    return total;
  };
  return captureBody("bench", body, {}, undefined);
}

const records = Array.from({ length: 100_000 }, (_, id) => ({
  id,
  x: id / 3,
  y: id / 7,
  name: `record ${id}`,
}));

/** A captured list of objects on its way to a rank. */
function carry(): unknown {
  return new Decoder(new Map(), undefined, true).decode(
    structuredClone(new Encoder("bench").encode(records, "records")),
  );
}

/** Milliseconds from the call to the ranks that answer; closing is not counted. */
async function start(): Promise<number> {
  const begun = performance.now();
  const pool = await createPool({ ranks: 2 });
  const time = performance.now() - begun;
  await pool.close();
  return time;
}

/** Pools and captures. */
export async function run(): Promise<Section[]> {
  const first = await timed(withFreshFunction);
  const captures = [
    { what: "a body", capture: alone, times: [] as number[] },
    {
      what: "a body with a function of its module",
      capture: withFunction,

      times: [] as number[],
    },
    {
      what: "a body with a function made beside it",
      capture: withFreshFunction,

      times: [] as number[],
    },
  ];
  for (let i = 0; i < 600; i++) {
    for (const { capture, times } of captures) times.push(await timed(capture));
  }
  const carried: number[] = [];
  const cloned: number[] = [];
  for (let i = 0; i < 9; i++) {
    carried.push(await timed(carry));
    cloned.push(await timed(() => structuredClone(records)));
  }
  const starts: number[] = [];
  for (let i = 0; i < 15; i++) starts.push(await start());
  return [
    {
      title: "what is paid once",
      rows: [
        { name: "createPool({ ranks: 2 })", value: median(starts), unit: "ms", wanted: { most: 250 } },
        { name: "the first capture of a body", value: first, unit: "ms" },
        ...captures.map(({ what, times }): Row => ({
          name: `a capture of ${what}`,
          value: median(times.slice(100)),
          unit: "ms",
          wanted: { most: 0.15 },
        })),
      ],
    },
    {
      title: "a list of 100,000 objects to a rank",
      base: "structuredClone alone",
      rows: [
        { name: "captured", value: median(carried), unit: "ms" },
        { name: "structuredClone alone", value: median(cloned), unit: "ms" },
      ],
    },
  ];
}
