/** Which flags of the process a rank's thread takes over. */
import { at } from "../base/at.js";

const flagsWithValue = /^(?:--import|--require|-r|--loader|--experimental-loader|--conditions|-C)$/;
const flags =
  /^(?:--import|--require|--loader|--experimental-loader|--conditions|--disable-warning)=|^--(?:enable-source-maps|preserve-symlinks|no-warnings|experimental-strip-types|experimental-transform-types)$/;

/**
 * The flags of this process that a rank takes over: those that say how modules are found and loaded. Others are the
 * whole process's already, or stop a worker from starting.
 */
export function workerFlags(execArgv: readonly string[]): string[] {
  return execArgv.filter((flag, i) => {
    const previous = i > 0 ? at(execArgv, i - 1) : "";
    return flags.test(flag) || flagsWithValue.test(flag) || flagsWithValue.test(previous);
  });
}
