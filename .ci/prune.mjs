// The compiler never deletes: a source that was renamed or removed would leave its old output in dist/ for ever, where
// tests and the packed tarball could still find it. This runs after each build and removes outputs without a source.
import { existsSync, readdirSync, rmSync, rmdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const outputs = /\.(?:js|d\.ts|js\.map|d\.ts\.map)$/;

function prune(folder) {
  for (const entry of readdirSync(join(root, "dist", folder), { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) prune(path);
    else if (outputs.test(path) && !existsSync(join(root, path.replace(outputs, ".ts")))) {
      rmSync(join(root, "dist", path));
    }
  }
  if (folder !== "" && readdirSync(join(root, "dist", folder)).length === 0)
    rmdirSync(join(root, "dist", folder));
}

if (existsSync(join(root, "dist"))) prune("");
