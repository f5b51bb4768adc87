// Removes everything that a build, a documentation run or a test run leaves behind; `npm run clean`.
import { rmSync } from "node:fs";

for (const folder of ["dist", "docs/api", "coverage", ".cache"]) {
  rmSync(new URL(`../${folder}`, import.meta.url), { recursive: true, force: true });
}
