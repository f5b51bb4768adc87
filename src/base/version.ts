/** The version of this package, for those who must not load all of it to know. */

/** The version of this package. */
export const version = "0.1.0";
