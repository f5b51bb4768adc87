/**
 * Peers that benchmarks compare with. Those that the product does not need are installed apart from it, under bench/peers;
 * one that is not there becomes a row that says how to get it.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const fromPeers = createRequire(join(root, "bench/peers/package.json"));

/** What to do about packages that are not there. */
export const installation = "not installed: npm --prefix bench/peers ci";

/** The file of a peer's package, if it is installed. */
export function peerPath(name: string): string | undefined {
  try {
    return fromPeers.resolve(name);
  } catch {
    return undefined;
  }
}

/** What a peer's package exports. */
export function loadPeer(path: string): unknown {
  return fromPeers(path);
}

/** A C++ program of bench/peers, compiled if need be; a text says why there is none. */
export function compiledPeer(name: string, flags: readonly string[]): { path: string } | { missing: string } {
  const source = join(root, "bench/peers", `${name}.cpp`);
  const folder = join(root, ".cache/bench");
  const path = join(folder, name);
  if (existsSync(path) && statSync(path).mtimeMs > statSync(source).mtimeMs) return { path };
  mkdirSync(folder, { recursive: true });
  try {
    execFileSync("g++", [...flags, "-o", path, source], { stdio: ["ignore", "ignore", "pipe"] });
  } catch (error) {
    const absent = error instanceof Error && "code" in error && error.code === "ENOENT";
    return {
      missing: absent ? "g++ was not found: install it" : `g++ refused ${name}.cpp: ${String(error)}`,
    };
  }
  return { path };
}
