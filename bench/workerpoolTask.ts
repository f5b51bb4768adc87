/**
 * What workerpool's workers are asked to do in the comparison: nothing.
 */
import { loadPeer } from "./peers.js";

/** The part of workerpool's interface that a worker needs. */
interface WorkerSide {
  worker(methods: Readonly<Record<string, (value: number) => number>>): void;
}

// By workerpool's documentation; its own declarations are there only where it is installed.
(loadPeer("workerpool") as WorkerSide).worker({ empty: (value) => value });
