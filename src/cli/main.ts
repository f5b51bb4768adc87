#!/usr/bin/env node
/** The command line. Each command is loaded when it is asked for, so that `--help` does not wait for the library. */
import { Command, CommanderError, InvalidArgumentError } from "commander";
import { HeddleError } from "../base/errors.js";
import { version } from "../base/version.js";
import type { RunFlags } from "./run.js";

/** Exit codes: all went well; what was asked for failed; the command line itself is wrong. */
const exitCode = { fine: 0, failed: 1, usage: 2 } as const;

function ranksOption(text: string): number {
  const ranks = Number(text);
  if (!Number.isSafeInteger(ranks) || ranks < 1)
    throw new InvalidArgumentError("Not an integer of at least 1.");
  return ranks;
}

interface JsonOption {
  readonly json?: boolean;
}

/** Prints a result: as JSON, or as the text that it makes of itself. */
function print<T>(result: T, text: (result: T) => string, { json }: JsonOption): void {
  console.log(json === true ? JSON.stringify(result, null, 2) : text(result));
}

function build(): Command {
  const program = new Command("heddle")
    .description(
      "Parallel numerical optimization for Node.js: what this machine has, and what a program did on it.",
    )
    .version(version)
    .option("--verbose", "print the stacks of errors")
    .showHelpAfterError("(see heddle --help)")
    // Options after the program's name are the program's.
    .enablePositionalOptions()
    .exitOverride();

  program
    .command("devices")
    .description("list the kinds of devices that ranks can have here")
    .option("--json", "print as JSON")
    .action(async (options: JsonOption) => {
      const { listDevices, formatDevices } = await import("./devices.js");
      print(listDevices(), formatDevices, options);
    });

  program
    .command("run")
    .description("run a program with other defaults for its pools")
    .argument("<program>", "a JavaScript or TypeScript file")
    .argument("[args...]", "what the program is given")
    .option("--ranks <n>", "ranks of pools that do not say how many (HEDDLE_NUM_RANKS)", ranksOption)
    .option("--device <kind>", "device of pools that do not name one (HEDDLE_DEVICE)")
    .option(
      "--isolation <kind>",
      'where ranks of pools that do not say so live: "thread" or "process" (HEDDLE_ISOLATION)',
    )
    .option("--trace <file>", "write a trace for chrome://tracing and Perfetto (HEDDLE_TRACE)")
    .option("--json", "print exit code and seconds as JSON to the standard error, at the end")
    .passThroughOptions()
    .action(async (file: string, args: string[], options: RunFlags & JsonOption) => {
      const { runProgram, UsageError } = await import("./run.js");
      const ended = await runProgram(file, args, options).catch((error: unknown) => {
        // The words of a command line that cannot be carried out are the parser's to print.
        if (error instanceof UsageError)
          return program.error(`heddle: ${error.message}`, { exitCode: exitCode.usage });
        throw error;
      });
      if (options.json === true) console.error(JSON.stringify(ended));
      process.exitCode = ended.exitCode;
    });
  program
    .command("bench")
    .description("measure what calls and kernels cost on this machine")
    .option("--ranks <n>", "ranks at most; the number of processors by default", ranksOption)
    .option("--json", "print as JSON")
    .action(async (options: JsonOption & { readonly ranks?: number }) => {
      const { measure, formatMeasures } = await import("./bench.js");
      print(await measure(options.ranks), formatMeasures, options);
    });

  program
    .command("trace")
    .description("summarise a trace that a pool has written")
    .argument("<file>", "what createPool({ trace }) or heddle run --trace wrote")
    .option("--json", "print as JSON")
    .action(async (file: string, options: JsonOption) => {
      const { readTrace, summarise, formatSummary } = await import("./trace.js");
      print(summarise(readTrace(file)), formatSummary, options);
    });

  return program;
}

const program = build();
try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    // Help and version are errors of this kind too, with the code 0.
    process.exitCode = error.exitCode === 0 ? exitCode.fine : exitCode.usage;
  } else {
    const verbose = program.opts<{ verbose?: boolean }>().verbose === true;
    const known = error instanceof HeddleError && !verbose;
    console.error(known ? `heddle: ${error.message}` : error);
    process.exitCode = exitCode.failed;
  }
}
