// The test runner's settings. Tests load the built package by its own name, so `npm test` builds first; processes
// (not threads) isolate test files because heddle itself starts threads and shared memory.
import { defineConfig } from "vitest/config";

export default defineConfig({
  // `await using` is a syntax error on Node 20, so test files are lowered as the build lowers the sources.
  oxc: { target: "es2022" },
  test: {
    include: ["tests/**/*.test.ts"],
    pool: "forks",
    maxWorkers: 2,
    // The built files are loaded by Node itself, untransformed: the same text, and the same single copy, that workers load.
    server: { deps: { external: [/\/dist\/(?:src|workers|examples|bench)\//] } },
    testTimeout: 30_000,
    hookTimeout: 30_000,
    teardownTimeout: 10_000,
  },
});
