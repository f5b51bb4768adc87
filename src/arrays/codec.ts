/** How arrays cross to a rank and back: their elements, or, on shared memory, the same elements. */
import type { DType, StorageOf } from "../base/dtype.js";
import type { Shape } from "../base/shape.js";
import { registerOwnCodec } from "../closure/codec.js";
import "../closure/codecs.js";
import { fromData, NDArray, payloadOf, elementsNow } from "./ndarray.js";

registerOwnCodec<NDArray>({
  name: "NDArray",
  test: (value) => value instanceof NDArray,
  encode: (value, context) => {
    if (value.traced)
      context.refuse("an array that is being traced", "return the array from the traced function first");
    const { dtype, shape } = value;
    const payload = payloadOf(value);
    // Memory of the heap changes under the array on the other side.
    const borrowed = payload.kind === "leased" || (payload.kind === "data" && payload.elements.moved);
    const data = borrowed ? elementsNow(value).slice() : value.data;
    return { dtype, shape, data: context.encode(data, ".data") };
  },
  decode: (wire, context) => {
    const { dtype, shape, data } = wire as { dtype: DType; shape: Shape; data: unknown }; // As encoded above.
    return fromData(dtype, shape, context.decode(data) as StorageOf[DType]);
  },
});
