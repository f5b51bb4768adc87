/** The entry point of a rank's thread. It loads the whole library, so that loop bodies find heddle's exports by name. */
import "../src/index.js";

export { start } from "../src/rank/serve.js";
