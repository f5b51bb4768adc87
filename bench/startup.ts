/** What is paid once: starting a pool, and finding out what a loop's body captures. */
import { createPool } from "heddle";
import { captureBody } from "#heddle/closure/body";
import { timed } from "./interleaved.js";
import { median } from "./median.js";
import type { Section } from "./rows.js";

/** A body with captures of several kinds, made anew at every call as it is in programs. */
function capture(): unknown {
  const years = 12;
  const rates = [0.1, 0.2, 0.3];
  const settings = { base: 2, names: ["a", "b"] };
  const grow = (rate: number, year: number): number => settings.base * Math.sin(rate * year);
  const body = (i: number): number => {
    let total = 0;
    for (let year = 0; year < years; year++) total += grow(rates[i % 3] ?? 0, year);
    return total;
  };
  return captureBody("bench", body, {}, undefined);
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
  const first = await timed(capture);
  const captures: number[] = [];
  for (let i = 0; i < 600; i++) captures.push(await timed(capture));
  const starts: number[] = [];
  for (let i = 0; i < 15; i++) starts.push(await start());
  return [
    {
      title: "what is paid once",
      rows: [
        { name: "createPool({ ranks: 2 })", value: median(starts), unit: "ms", wanted: { most: 250 } },
        { name: "the first capture of a body", value: first, unit: "ms" },
        {
          name: "a capture of a body with a function",
          value: median(captures.slice(100)),
          unit: "ms",
          wanted: { most: 0.15 },
        },
      ],
    },
  ];
}
