// The types of arrays and transformations: dtypes follow where that is cheap, and wrong calls are refused.
import type { NDArray } from "heddle";
import { grad, hessian, jacfwd, jit, jvp, np, valueAndGrad, vmap } from "heddle";

declare function exactly<T>(): <U extends T>(value: U & ([T] extends [U] ? unknown : never)) => void;

declare function takes(x: NDArray): void;

const f64 = np.ones(3);
const f32 = np.ones(3, "float32");
const i32 = np.ones(3, "int32");
const flag = np.ones(3, "bool");

exactly<NDArray<"float64">>()(f64.add(1));
exactly<NDArray<"float32">>()(f32.mul(2).exp());
exactly<NDArray<"float64">>()(np.add(f32, f64));
exactly<NDArray<"float64">>()(
  np.array([
    [1, 2],
    [3, 4],
  ]),
);
exactly<NDArray<"bool">>()(np.array([true, false]));
exactly<NDArray<"int32">>()(np.array(Int32Array.of(1)));
exactly<NDArray<"bool">>()(f64.less(2));
exactly<NDArray<"int32">>()(np.sum(flag));
exactly<NDArray<"float64">>()(i32.mean());
exactly<NDArray<"float64">>()(i32.div(2));
exactly<NDArray<"int32">>()(i32.astype("int32").reshape(3, 1).T);
exactly<Readonly<Float64Array>>()(f64.data);
exactly<boolean>()(flag.item());
exactly<number>()(f64.item());

// @ts-expect-error Elements are read only.
f64.data[0] = 1;
// @ts-expect-error Shapes are read only.
f64.shape[0] = 1;
// @ts-expect-error Arrays are made with np.array.
new NDArray();
// @ts-expect-error There is no such dtype.
np.zeros(3, "float16");
// @ts-expect-error Strings are no arrays.
np.add(f64, "1");
// @ts-expect-error JavaScript's operators do not see arrays.
f64 * 2;
// @ts-expect-error Nor do its comparisons.
f64 > 1;

// Parameters without types are arrays; trees are written out.
const g = grad((x) => x.mul(x).sum());
exactly<NDArray>()(g([1, 2]));
exactly<NDArray>()(g(f32));
// @ts-expect-error One argument.
g(1, 2);
// @ts-expect-error A string is no array.
g("1");

const loss = (p: { w: NDArray; b: NDArray }, x: NDArray) => np.dot(p.w, x).add(p.b).sum();
const gradient = grad(loss)({ w: [1, 2], b: 1 }, np.array([1, 2]));
exactly<NDArray>()(gradient.w);
// @ts-expect-error There is no such parameter.
gradient.v;
// @ts-expect-error A parameter is missing.
grad(loss)({ w: [1, 2] }, np.ones(2));
const [dp, dx] = grad(loss, { argnums: [0, 1] })({ w: 1, b: 2 }, 3);
exactly<NDArray>()(dp.b);
exactly<NDArray>()(dx);
const [value, both] = valueAndGrad(loss, { argnums: 1 })({ w: np.array(1), b: np.array(2) }, 3);
exactly<NDArray>()(value);
exactly<NDArray>()(both);
// @ts-expect-error The function of a gradient returns a scalar, not a tree.
grad((x: NDArray) => ({ x }));

const compiled = jit((p: { a: NDArray }, n: number) => ({ y: p.a.mul(n), n }));
takes(compiled({ a: [1] }, 2).y);
exactly<NDArray>()(compiled({ a: [1] }, 2).n);
const j = jacfwd((p: { a: NDArray; b: NDArray }) => [p.a, p.b.sum()] as const)({ a: 1, b: [2] });
exactly<NDArray>()(j[0].b);
exactly<NDArray>()(hessian((p: { a: NDArray }) => p.a.sum())({ a: 1 }).a.a);
const [out, tangent] = jvp((x: NDArray) => ({ y: x.mul(2) }), [1], [2]);
takes(out.y);
takes(tangent.y);
takes(vmap((x, y) => x.dot(y), { inAxes: [0, null] })([[1]], np.array([1])));
// @ts-expect-error What is not stacked is passed as it is declared.
vmap((x, y) => x.dot(y), { inAxes: [0, null] })([[1]], 1);
const power = (x: NDArray, n: number) => np.power(x, n);
grad(power)(1, 3);
// @ts-expect-error Nor is what is not differentiated in anything but declared.
grad((x: NDArray, y: NDArray) => x.mul(y))(1, 3);
