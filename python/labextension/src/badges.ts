// The badges of one notebook: the run of each cell, and the places of badges.

import { CodeCell } from "@jupyterlab/cells";
import { NotebookPanel } from "@jupyterlab/notebook";
import { IDisposable } from "@lumino/disposable";
import { Signal } from "@lumino/signaling";

import { Badge } from "./badge";
import { IRun } from "./figures";
import { Link } from "./link";
import { Links } from "./links";
import { IPair, pairs, same } from "./matches";
import { Needed } from "./needed";
import { INeeded, IShown } from "./parts";
import { ISum, sum } from "./source";

/** The code cells of a notebook. */
export function codeCells(panel: NotebookPanel): CodeCell[] {
  return panel.content.widgets.filter((w): w is CodeCell => w instanceof CodeCell);
}

/** Returns the last runs of the cells of a notebook, by the cells' ids. */
export function pairsOf(link: Link, cells: CodeCell[]): Map<string, IPair> {
  return pairs(link.runs, () => cells.map((c) => ({ id: c.model.id, text: c.model.sharedModel.getSource() })));
}

export class Badges implements IDisposable {
  constructor(
    private _panel: NotebookPanel,
    private _links: Links,
  ) {
    _panel.sessionContext.kernelChanged.connect(this.refresh, this);
    _panel.content.modelContentChanged.connect(this.refresh, this);
    _panel.content.cellInViewportChanged.connect(this._seen, this);
    _links.changed.connect(this._linkChanged, this);
    _panel.disposed.connect(this.dispose, this);
    this.refresh();
  }

  /** Reports whether there are badges at all. */
  set on(on: boolean) {
    this._on = on;
    this.refresh();
  }

  get isDisposed(): boolean {
    return this._disposed;
  }

  dispose(): void {
    if (this._disposed) {
      return;
    }
    this._disposed = true;
    window.clearTimeout(this._timer);
    this._needed.dispose();
    Signal.clearData(this);
  }

  /** Brings the badges up to date, soon: many changes come at once. */
  refresh(): void {
    if (!this._timer && !this._disposed) {
      this._timer = window.setTimeout(() => {
        this._timer = 0;
        this._refresh();
      }, 50);
    }
  }

  private _linkChanged(_: Links, link: Link): void {
    if (link === this._links.of(this._panel.sessionContext.session?.kernel)) {
      this.refresh();
    }
  }

  private _seen(): void {
    if (this._waiting.size > 0) {
      this.refresh();
    }
  }

  private _refresh(): void {
    if (this._disposed || this._panel.isDisposed) {
      return;
    }
    const link = this._links.of(this._panel.sessionContext.session?.kernel);
    const cells = codeCells(this._panel);
    const found = link && this._on ? pairsOf(link, cells) : new Map<string, IPair>();
    const running = link && this._on ? link.running : null;
    this._waiting.clear();
    this._needed.look(this._on ? link : null, cells);
    for (const cell of cells) {
      const pair = found.get(cell.model.id);
      const needed = link && this._on ? this._needed.of(cell.model.sharedModel.getSource()) : null;
      const runs = running !== null && running.cell === cell.model.id ? running : null;
      if (link && (pair || runs || needed)) {
        this._show(cell, this._shown(link, cell, pair, runs, needed));
      } else {
        this._remove(cell);
      }
    }
  }

  private _shown(
    link: Link,
    cell: CodeCell,
    pair: IPair | undefined,
    running: IRun | null,
    needed: INeeded | null,
  ): IShown {
    const last = pair?.last ?? null;
    const past = last !== null && !link.isCurrent(last);
    const edited = last !== null && !same(last, this._sum(cell));
    return { last, previous: pair?.previous ?? null, running, past, edited, hello: link.hello, needed };
  }

  /** Makes nothing for a cell that cannot be seen: that waits until it can. */
  private _show(cell: CodeCell, shown: IShown): void {
    if (!cell.inViewport || cell.isPlaceholder()) {
      this._waiting.add(cell);
      // Waits once for each cell, and only while the cell is not drawn: ready stays true when a cell leaves the view,
      // and the notebook reports each cell that enters it.
      if (cell.isPlaceholder() && !this._awaited.has(cell)) {
        this._awaited.add(cell);
        void cell.ready.then(() => this._seen());
      }
      return;
    }
    let badge = this._badges.get(cell);
    if (!badge || badge.isDisposed) {
      badge = new Badge();
      this._badges.set(cell, badge);
    }
    badge.tell(shown);
    Badge.into(cell, badge);
  }

  private _remove(cell: CodeCell): void {
    this._badges.get(cell)?.dispose();
    this._badges.delete(cell);
  }

  private _sum(cell: CodeCell): ISum {
    const source = cell.model.sharedModel.getSource();
    const known = this._sums.get(cell);
    if (known && known.source === source) {
      return known.sum;
    }
    const fresh = sum(source);
    this._sums.set(cell, { source, sum: fresh });
    return fresh;
  }

  private _needed = new Needed(() => this.refresh());
  private _on = true;
  private _disposed = false;
  private _timer = 0;
  private _badges = new WeakMap<CodeCell, Badge>();
  private _sums = new WeakMap<CodeCell, { source: string; sum: ISum }>();
  private _waiting = new Set<CodeCell>();
  private _awaited = new WeakSet<CodeCell>();
}
