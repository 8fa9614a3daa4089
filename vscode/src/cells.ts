// The figures of each cell in its status bar. They are the companion's, by its comm where there is one, and else those
// that the cell's outputs carry.

import * as vscode from "vscode";

import { ILimit, IRun } from "../../python/labextension/src/figures";
import { Link } from "../../python/labextension/src/link";
import { ICell, IPair, pairs, same } from "../../python/labextension/src/matches";
import { details, IShown, parts } from "../../python/labextension/src/parts";
import { sum } from "../../python/labextension/src/source";
import { Kernels } from "./kernels";
import { ITold, told } from "./outputs";
import { lines, plain, said } from "./words";

const SAVED = { name: "", value: "saved" };
const MOST_SUMMED = 4 << 20; // characters of a notebook's cells that are compared with what ran

/** Returns the id that VS Code sends to the kernel with a cell, as the companion keeps it. */
function idOf(cell: vscode.NotebookCell): string {
  return cell.document.uri.toString().split("#")[1] ?? "";
}

function textOf(cell: vscode.NotebookCell): string {
  return cell.document.getText().replace(/\r\n/g, "\n"); // as it is sent
}

export class Cells implements vscode.NotebookCellStatusBarItemProvider, vscode.Disposable {
  constructor(private _kernels: Kernels) {
    _kernels.changed(() => this._changed.fire());
  }

  get onDidChangeCellStatusBarItems(): vscode.Event<void> {
    return this._changed.event;
  }

  dispose(): void {
    this._changed.dispose();
  }

  /** Reports whether there are figures at cells at all. */
  set on(on: boolean) {
    this._on = on;
    this._changed.fire();
  }

  /** Takes in that the outputs of a cell have changed while they are seen: its figures are not from a file. */
  heard(cell: vscode.NotebookCell): ITold | null {
    const found = told(cell.outputs);
    if (found) {
      this._keep(cell, found);
    }
    return found;
  }

  provideCellStatusBarItems(cell: vscode.NotebookCell): vscode.NotebookCellStatusBarItem[] {
    if (!this._on || cell.kind !== vscode.NotebookCellKind.Code) {
      return [];
    }
    const link = this._kernels.of(cell.notebook);
    const lent = link?.hello ? this._lent(link, cell) : null;
    const found = lent ?? this._carried(cell);
    return found ? drawn(found.shown, found.saved) : [];
  }

  /** Returns what a companion has sent of a cell. */
  private _lent(link: Link, cell: vscode.NotebookCell): { shown: IShown; saved: boolean } | null {
    const pair = this._pairs(link, cell.notebook).get(idOf(cell));
    const running = link.running?.cell === idOf(cell) ? link.running : null;
    const last = pair?.last ?? null;
    if (!last && !running) {
      return null;
    }
    const past = last !== null && !link.isCurrent(last);
    const edited = last !== null && !same(last, sum(textOf(cell)));
    const shown = { last, previous: pair?.previous ?? null, running, past, edited, hello: link.hello, needed: null };
    return { shown, saved: false };
  }

  private _pairs(link: Link, notebook: vscode.NotebookDocument): Map<string, IPair> {
    let left = MOST_SUMMED;
    const cells = (): ICell[] =>
      notebook
        .getCells()
        .filter((cell) => cell.kind === vscode.NotebookCellKind.Code)
        .map((cell) => ({ id: idOf(cell), text: textOf(cell) }))
        .filter((cell) => (left -= cell.text.length) >= 0);
    return pairs(link.runs, cells);
  }

  /** Returns what the outputs of a cell carry. */
  private _carried(cell: vscode.NotebookCell): { shown: IShown; saved: boolean } | null {
    const found = told(cell.outputs);
    if (!found) {
      return null;
    }
    const kept = this._kept.get(cell);
    const seen = kept !== undefined && kept.window === found.run.window;
    const [running, last] = found.runs ? [found.run, kept?.last ?? null] : [null, found.run];
    const edited = !found.runs && !same(found.run, sum(textOf(cell)));
    const previous = seen && !found.runs ? kept.previous : null;
    const hello: ILimit = found.limit;
    return { shown: { last, previous, running, past: false, edited, hello, needed: null }, saved: !seen };
  }

  private _keep(cell: vscode.NotebookCell, found: ITold): void {
    const kept = this._kept.get(cell);
    const again = kept?.window === found.run.window;
    if (found.runs) {
      this._kept.set(cell, { window: found.run.window, last: kept?.last ?? null, previous: kept?.previous ?? null });
      return;
    }
    const previous = again && kept.ended ? kept.previous : (kept?.last ?? null);
    this._kept.set(cell, { window: found.run.window, last: found.run, previous, ended: true });
  }

  private _on = true;
  private _changed = new vscode.EventEmitter<void>();
  private _kept = new WeakMap<vscode.NotebookCell, IKept>();
}

/** The runs of a cell that have been seen: the last that ended, and the one before; window is the last one's. */
interface IKept {
  window: number;
  last: IRun | null;
  previous: IRun | null;
  ended?: boolean; // of that window
}

/**
 * Returns the items of a cell, one for each part: VS Code cuts an item that is wider than 450 pixels, and items that
 * are beyond the cell's width. So warnings stand behind the first figure.
 */
function drawn(shown: IShown, saved: boolean): vscode.NotebookCellStatusBarItem[] {
  const [first, ...rest] = parts(shown);
  const late = rest.filter((part) => !part.kind);
  const found = [first, ...rest.filter((part) => part.kind), ...(saved ? [SAVED] : []), ...late];
  const r = shown.running ?? shown.last;
  const tooltip = r ? lines(details(r)) + (saved ? "\nsaved with the notebook" : "") : undefined;
  return found.map((part, at) => {
    const text = plain(said(part));
    const item = new vscode.NotebookCellStatusBarItem(text, vscode.NotebookCellStatusBarAlignment.Left);
    item.tooltip = tooltip;
    item.priority = -at; // they stand in this order
    item.accessibilityInformation = { label: "memory: " + text };
    return item;
  });
}
