// The smallest program against the shipped declarations: the package resolves by its own name and is typed.
import * as heddle from "heddle";

// @ts-expect-error There is no such export, and the namespace is not `any`.
heddle.noSuchExport;
