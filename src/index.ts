// The public face of heddle: whatever is exported here is reachable from "heddle", and nothing else is.

/** The version of this package. */
export const version = "0.1.0";
