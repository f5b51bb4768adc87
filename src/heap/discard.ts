/**
 * Gives the memory of a buffer back now. The collector knows little of what buffers weigh and comes to them late; a buffer
 * that is sent to where nobody is goes at once.
 */
import { MessageChannel } from "node:worker_threads";

const { port1: nowhere, port2: nobody } = new MessageChannel();
nobody.close();

/** Detaches a buffer that nobody reads any more, and frees its memory. */
export function discard(buffer: ArrayBuffer): void {
  nowhere.postMessage(undefined, [buffer]);
}
