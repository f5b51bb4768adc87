/** The entry point of the supervisor's thread. */
import { workerData } from "node:worker_threads";
import type { SupervisorStart } from "../src/transports/supervisor.js";
import { supervise } from "../src/transports/supervisor.js";

supervise(workerData as SupervisorStart); // What `Supervision` starts this thread with.
