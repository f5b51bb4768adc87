/**
 * Reductions with vectors along the last index of the result: matrix products, and sums over leading axes. A tile of rows
 * and columns is accumulated in registers while the reduced indices run; what all rows read is copied once per block of
 * columns into a contiguous panel. Each element is summed in order, whatever the tile, so tiles do not change bits.
 */
import { at } from "../../base/at.js";
import type { Index, Scalar } from "../../ir/kernel.js";
import { addIndex, constIndex, flattenIndex, mulIndex, varIndex } from "../../ir/kernel.js";
import type { Loop, Panel, Statement } from "../lower/program.js";
import { operandsOf } from "../lower/program.js";
import { panelColumns, reductionForm } from "../lower/reduction.js";
import type { Emitter } from "./emitter.js";
import { isContiguous } from "./emitter.js";
import type { Lane } from "./lane.js";
import { shiftedLane, vectorLane } from "./lane.js";
import { pushCombine } from "./reduction.js";
import { pushConstant, pushLoad, pushStore, stackType } from "./scalar.js";
import type { Bound } from "./scope.js";
import type { Lanes } from "./vector.js";
import { combineInstructions, pushSplat, vectorLanes } from "./vector.js";

type For = Extract<Statement, { kind: "for" }>;
type Reduce = Extract<Statement, { kind: "reduce" }>;
type Store = Extract<Statement, { kind: "store" }>;
type Load = Extract<Scalar, { kind: "load" }>;

/** The loops of a tiled reduction. */
interface Tile {
  readonly rows: Loop | null;
  readonly columns: Loop;
  readonly reduce: Reduce;
  readonly stores: readonly Store[];
  readonly lanes: Lanes;
  /** The value with packed loads reading their panels. */
  readonly packed: Scalar;
}

/** Rows of a tile. */
const tileRows = 2;
/** Vectors of a row of a tile; 64 bytes, the columns of a panel. */
const tileVectors = 4;

/** The statements of a loop over columns that hold one reduction and its stores. */
function partsOf(statement: For): { reduce: Reduce; stores: Store[] } | null {
  const [reduce, ...rest] = statement.body;
  if (reduce?.kind !== "reduce") return null;
  const stores = rest.filter(
    (part): part is Store =>
      part.kind === "store" && part.value.kind === "local" && part.value.name === reduce.local,
  );
  return stores.length === rest.length && stores.length > 0 ? { reduce, stores } : null;
}

function panelOffset(reduce: Reduce, columns: Loop, panel: Panel): Index {
  const position = flattenIndex(
    reduce.loops.map((loop) => varIndex(loop.index)),
    reduce.loops.map((loop) => loop.extent),
  );
  const row = mulIndex(position, constIndex(panelColumns(panel.load.dtype)));
  return addIndex(row, varIndex(columns.index));
}

/** Replaces loads by loads of their panels. */
function readPanels(
  value: Scalar,
  panels: ReadonlyMap<Scalar, Load>,
  memo = new Map<Scalar, Scalar>(),
): Scalar {
  const known = memo.get(value) ?? panels.get(value);
  if (known !== undefined) return known;
  const again = (part: Scalar): Scalar => readPanels(part, panels, memo);
  let result = value;
  if (operandsOf(value).length > 0) {
    if (value.kind === "apply") result = { ...value, args: value.args.map(again) };
    else if (value.kind === "convert") result = { ...value, arg: again(value.arg) };
    else if (value.kind === "choose") {
      result = {
        ...value,
        when: again(value.when),
        then: again(value.then),
        otherwise: again(value.otherwise),
      };
    }
  }
  memo.set(value, result);
  return result;
}

function tileOf(emitter: Emitter, statement: For, outer: readonly Loop[]): Tile | null {
  const direct = partsOf(statement);
  const nested = statement.body.length === 1 && statement.body[0]?.kind === "for" ? statement.body[0] : null;
  const columns = direct === null ? nested : statement;
  const parts = direct ?? (nested === null ? null : partsOf(nested));
  if (columns === null || parts === null) return null;
  const { reduce, stores } = parts;
  const around = direct === null ? [...outer, statement.loop, columns.loop] : [...outer, columns.loop];
  const form = reductionForm(emitter.program.algebra, reduce, around);
  if (form.kind !== "tile" || form.rows !== (direct === null)) return null;
  const { index } = columns.loop;
  const panels = new Map<Scalar, Load>(
    reduce.panels.map((panel): [Scalar, Load] => [
      panel.load,
      { ...panel.load, buffer: panel.buffer, offset: panelOffset(reduce, columns.loop, panel) },
    ]),
  );
  const packed = readPanels(reduce.value, panels);
  const lanes = vectorLanes(
    [packed],
    (value) => emitter.dependencies(value).has(index),
    (load) => isContiguous(emitter.program, load, index),
  );
  const combines = combineInstructions(reduce.combine, reduce.dtype) !== undefined && reduce.dtype !== "bool";
  const same = stores.every(({ buffer }) => at(emitter.program.buffers, buffer).dtype === reduce.dtype);
  if (lanes === null || !combines || !same) return null;
  return { rows: form.rows ? statement.loop : null, columns: columns.loop, reduce, stores, lanes, packed };
}

/** Prints a loop as a tiled reduction, if it is one. */
export function pushTiled(emitter: Emitter, statement: For, outer: readonly Loop[]): boolean {
  const tile = tileOf(emitter, statement, outer);
  if (tile === null) return false;
  const { columns, rows, lanes, reduce, stores } = tile;
  const extent = emitter.bound(columns.extent);
  const rowExtent = rows === null ? null : emitter.bound(rows.extent);
  const writes = new Set([
    ...stores.map(({ buffer }) => buffer),
    ...reduce.panels.map(({ buffer }) => buffer),
  ]);
  const blocks = emitter.roundDown(extent, tileVectors * lanes);
  const whole = emitter.roundDown(extent, lanes);
  const run = (from: Bound, to: Bound, vectors: number): void => {
    emitter.loop(columns.index, from, to, vectors === 0 ? 1 : vectors * lanes, writes, () => {
      const body = (): void => {
        if (vectors > 0) for (const panel of reduce.panels) pack(emitter, tile, panel, vectors);
        if (rows === null || rowExtent === null) return accumulate(emitter, tile, 1, vectors);
        const full = emitter.roundDown(rowExtent, tileRows);
        const step = (start: Bound, end: Bound, count: number): void =>
          emitter.loop(rows.index, start, end, count, writes, () =>
            accumulate(emitter, tile, count, vectors),
          );
        step({ constant: 0 }, full, tileRows);
        step(full, rowExtent, 1);
      };
      const rebased = reduce.panels.reduceRight<() => void>(
        (inner, { buffer }) =>
          () =>
            emitter.rebase(buffer, columns.index, inner),
        body,
      );
      rebased();
    });
  };
  run({ constant: 0 }, blocks, tileVectors);
  run(blocks, whole, 1);
  run(whole, extent, 0);
  return true;
}

function nest(emitter: Emitter, loops: readonly Loop[], writes: ReadonlySet<number>, body: () => void): void {
  const [loop, ...rest] = loops;
  if (loop === undefined) return body();
  const extent = emitter.bound(loop.extent);
  emitter.loop(loop.index, { constant: 0 }, extent, 1, writes, () => nest(emitter, rest, writes, body));
}

/** Copies what a load reads for a block of columns into its panel. */
function pack(emitter: Emitter, tile: Tile, panel: Panel, vectors: number): void {
  const { code } = emitter;
  const { columns, lanes, reduce } = tile;
  const { load, buffer } = panel;
  const offset = panelOffset(reduce, columns, panel);
  const vectorized = isContiguous(emitter.program, load, columns.index);
  nest(emitter, reduce.loops, new Set([buffer]), () => {
    for (let column = 0; column < vectors * lanes; column += vectorized ? lanes : 1) {
      const shift = new Map([[columns.index, column]]);
      const lane = vectorized ? vectorLane(columns.index, lanes, shift) : shiftedLane(shift);
      const to = emitter.pushAddress(buffer, offset, lane);
      const from = emitter.pushAddress(load.buffer, load.offset, lane);
      if (vectorized) {
        code.memory("v128.load", 3, from);
        code.memory("v128.store", 3, to);
      } else {
        pushLoad(code, load.dtype, from);
        pushStore(code, load.dtype, to);
      }
    }
  });
}

/** Accumulates and stores one tile. `vectors` is 0 for a single column. */
function accumulate(emitter: Emitter, tile: Tile, rowCount: number, vectors: number): void {
  const { code } = emitter;
  const { rows, columns, reduce, lanes } = tile;
  const cells: { readonly lane: Lane; readonly sum: number }[] = [];
  for (let row = 0; row < rowCount; row++) {
    for (let vector = 0; vector < Math.max(1, vectors); vector++) {
      const shift = new Map([[columns.index, vector * lanes]]);
      if (rows !== null) shift.set(rows.index, row);
      const lane = vectors === 0 ? shiftedLane(shift) : vectorLane(columns.index, lanes, shift);
      cells.push({ lane, sum: code.local(vectors === 0 ? stackType[reduce.dtype] : "v128") });
    }
  }
  for (const { sum } of cells) {
    pushConstant(code, reduce.dtype, reduce.identity);
    if (vectors > 0) pushSplat(code, reduce.dtype);
    code.set(sum);
  }
  const combine = combineInstructions(reduce.combine, reduce.dtype) ?? [];
  nest(emitter, reduce.loops, new Set(), () => {
    for (const { lane, sum } of cells) {
      code.get(sum);
      if (vectors > 0) {
        emitter.pushVector(tile.packed, lane);
        code.op(...combine);
      } else {
        emitter.push(reduce.value, lane);
        pushCombine(code, reduce.combine, reduce.dtype);
      }
      code.set(sum);
    }
  });
  for (const { lane, sum } of cells) {
    for (const store of tile.stores) pushTileStore(emitter, tile, store, lane, sum, vectors);
  }
}

function pushTileStore(
  emitter: Emitter,
  tile: Tile,
  store: Store,
  lane: Lane,
  sum: number,
  vectors: number,
): void {
  const { code } = emitter;
  const { columns, lanes, reduce } = tile;
  const { dtype } = at(emitter.program.buffers, store.buffer);
  const probe: Load = { kind: "load", dtype, buffer: store.buffer, offset: store.offset };
  if (vectors === 0 || isContiguous(emitter.program, probe, columns.index)) {
    const fixed = emitter.pushAddress(store.buffer, store.offset, lane);
    code.get(sum);
    if (vectors === 0) pushStore(code, dtype, fixed);
    else code.memory("v128.store", 3, fixed);
    return;
  }
  const type = reduce.dtype === "float64" ? "f64x2" : reduce.dtype === "float32" ? "f32x4" : "i32x4";
  for (let part = 0; part < lanes; part++) {
    const shift = new Map(lane.shift);
    shift.set(columns.index, (shift.get(columns.index) ?? 0) + part);
    const fixed = emitter.pushAddress(store.buffer, store.offset, shiftedLane(shift));
    code.get(sum);
    code.lane(`${type}.extract_lane`, part);
    pushStore(code, dtype, fixed);
  }
}
