// Access to the block of data that the page shows. Nothing here draws.
import { Child, Detail, Numbers, Page } from "./block";
import { Figure } from "./format";

/** The mark of sizes that are estimated from samples, or may be. */
export const estimated = (of: { sampled?: string | boolean } | null): string => (of?.sampled ? "~" : "");

/** Kinds of rows. */
export const SESSION = 0,
  EXPERIMENT = 1,
  CELL = 2,
  STATEMENT = 3,
  BETWEEN = 4;

/** A figure of a meter, by the meter's place in the page. */
export interface MeterFigure extends Figure {
  meter: number;
}

/** Returns a figure of the numbers that the block of data has. */
function figureOf(meter: number, start: number, need: number, consumed: number, off: number): MeterFigure {
  const peaked = need - Math.max(0, consumed);
  return { meter, start, need, consumed, off, peak: start + need, end: start + consumed, peaked };
}

/** One session, with indexes for frequent look-ups. Made once, and again for a newer page of a running session. */
export class Session {
  readonly cells: number[] = []; // rows
  readonly between: number[] = [];
  readonly experiments: number[] = [];
  readonly pids: number[] = []; // of processes that ran cells
  private readonly statements = new Map<number, number[]>(); // by the id of the cell
  private readonly ids = new Map<number, number>();
  private readonly runs = new Map<string, number>();
  private readonly remarks = new Map<number, string[]>();
  private readonly details = new Map<number, Detail[]>();
  private readonly cut: Set<number>;
  private readonly labels = new Map<string, number>();

  constructor(readonly page: Page) {
    const rows = page.rows,
      pids = new Set<number>();
    this.cut = new Set(rows.cut);
    for (let row = 0; row < rows.kind.length; row++) {
      const kind = rows.kind[row];
      if (rows.id[row] > 0) this.ids.set(rows.id[row], row);
      if (kind === CELL) {
        this.cells.push(row);
        pids.add(rows.pid[row]);
        this.runs.set(rows.pid[row] + ":" + rows.execution[row], row);
        const label = page.texts[rows.label[row]];
        this.labels.set(label, (this.labels.get(label) ?? 0) + 1);
      } else if (kind === BETWEEN) this.between.push(row);
      else if (kind === EXPERIMENT) this.experiments.push(row);
      else if (kind === STATEMENT) push(this.statements, rows.parent[row], row);
    }
    this.pids = [...pids];
    const remarks = rows.remarks;
    for (let i = 0; i < remarks.length; i += 2) push(this.remarks, remarks[i], page.texts[remarks[i + 1]]);
    for (const d of page.details) push(this.details, d.row, d);
  }

  /** Returns the row of a window, or -1. */
  row(id: number): number {
    return this.ids.get(id) ?? -1;
  }
  /** Returns the row of a run of a cell, or -1. */
  run(pid: number, execution: number): number {
    return this.runs.get(pid + ":" + execution) ?? -1;
  }
  kind(row: number): number {
    return this.page.rows.kind[row];
  }
  id(row: number): number {
    return this.page.rows.id[row];
  }
  pid(row: number): number {
    return this.page.rows.pid[row];
  }
  line(row: number): number {
    return this.page.rows.line[row];
  }
  start(row: number): number {
    return this.page.rows.start[row];
  }
  duration(row: number): number {
    return this.page.rows.duration[row];
  }
  execution(row: number): number {
    return this.page.rows.execution[row];
  }
  /** Returns the source of a cell; undefined if it is not read yet. */
  source(row: number): string | undefined {
    return this.page.sources[this.page.rows.source[row]];
  }
  isCut(row: number): boolean {
    return this.cut.has(row);
  }
  status(row: number): string {
    return this.page.texts[this.page.rows.status[row]];
  }
  remarksOf(row: number): string[] {
    return this.remarks.get(row) ?? [];
  }
  statementsOf(row: number): number[] {
    return this.statements.get(this.id(row)) ?? [];
  }
  detailsOf(row: number): Detail[] {
    return this.details.get(row) ?? [];
  }
  childrenOf(row: number): Child[] {
    return this.page.rows.children.filter((c) => c.row === row);
  }
  unlistedOf(row: number): number {
    const { row: rows, more } = this.page.rows.unlisted,
      at = first(rows, row);
    return rows[at] === row ? more[at] : 0;
  }

  /** Returns the cell with a label, if there is only one; else -1. */
  labelled(label: string): number {
    return this.labels.get(label) === 1
      ? (this.cells.find((row) => this.page.texts[this.page.rows.label[row]] === label) ?? -1)
      : -1;
  }

  /** Returns a text that distinguishes a row from the others. */
  label(row: number): string {
    const label = this.page.texts[this.page.rows.label[row]];
    return this.kind(row) === CELL && (this.labels.get(label) ?? 0) > 1 ? `${label} #${this.execution(row)}` : label;
  }

  /** Returns the process's own figure. */
  own(row: number, meter: number): MeterFigure | null {
    const c = this.page.rows.figures[meter];
    if (!c || row < 0) return null;
    const off = c.off ? c.off[row] : 0;
    return off === -2 ? null : figureOf(meter, c.start[row], c.need[row], c.consumed[row], off);
  }

  /** Returns the figure with children, where it differs. */
  tree(row: number, meter: number): MeterFigure | null {
    const t = this.page.rows.trees;
    for (let at = first(t.row, row); t.row[at] === row; at++) {
      if (t.meter[at] === meter) return figureOf(meter, t.start[at], t.need[at], t.consumed[at], t.off[at]);
    }
    return null;
  }

  /** Returns the rank of a row: its own need or, if that is more, the need with its children. */
  weight(row: number, meter: number): number {
    return Math.max(this.own(row, meter)?.need ?? 0, this.tree(row, meter)?.need ?? 0);
  }

  /**
   * Returns the meters with a figure other than 0 in a cell or between cells, and the first meter, which is always
   * there.
   */
  moving(): number[] {
    return this.page.meters
      .map((_, i) => i)
      .filter((i) => {
        const c = this.page.rows.figures[i];
        return c && (i === 0 || c.need.some((n) => n !== 0) || c.start.some((n) => n !== 0));
      });
  }
}

/** Returns the index of the first number that is not less than another, among sorted numbers. */
function first(all: Numbers, than: number): number {
  let low = 0,
    high = all.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (all[middle] < than) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the figures of a list of numbers: meter, start, need, consumed, off; meter … */
export function figuresIn(all: number[]): MeterFigure[] {
  const out: MeterFigure[] = [];
  for (let i = 0; i < all.length; i += 5) out.push(figureOf(all[i], all[i + 1], all[i + 2], all[i + 3], all[i + 4]));
  return out;
}

export function push<K, V>(to: Map<K, V[]>, key: K, value: V): void {
  const known = to.get(key);
  if (known) known.push(value);
  else to.set(key, [value]);
}
