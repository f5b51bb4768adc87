/** The kinds of devices that ranks compute with. */

/** `wasm` is the default; `reference` and `deferred` exist for tests. */
export type DeviceKind = "wasm" | "reference" | "deferred";

/** All kinds. */
export const deviceKinds = ["wasm", "reference", "deferred"] as const satisfies readonly DeviceKind[];
