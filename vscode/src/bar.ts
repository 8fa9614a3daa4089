// The figure in the window's status bar: the memory of the current notebook's process, beside its limit.

import * as vscode from "vscode";

import { memory, state } from "../../python/labextension/src/state";
import { Kernels } from "./kernels";
import { ITold } from "./outputs";
import { lines, plain } from "./words";

export class Bar implements vscode.Disposable {
  constructor(private _kernels: Kernels) {
    this._item.name = "ipytracer";
    _kernels.changed(() => this.refresh());
  }

  dispose(): void {
    this._item.dispose();
  }

  /** Takes in the figures of a cell that has just run, or runs. */
  heard(notebook: vscode.NotebookDocument, told: ITold): void {
    this._last.set(notebook, told);
    this.refresh();
  }

  /** Shows the current notebook's figure; nothing, where none is known. Figures of a file are not the process's. */
  refresh(): void {
    const notebook = vscode.window.activeNotebookEditor?.notebook;
    const said = notebook ? this._said(notebook) : null;
    if (!said) {
      this._item.hide();
      return;
    }
    this._item.text = plain(said.text);
    this._item.tooltip = lines(said.title);
    this._item.backgroundColor = said.full ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
    this._item.accessibilityInformation = { label: plain("memory: " + said.text) };
    this._item.show();
  }

  private _said(notebook: vscode.NotebookDocument) {
    const link = this._kernels.of(notebook);
    if (link?.hello) {
      const current = link.current;
      const r = link.running ?? current[current.length - 1] ?? null;
      return state(link.hello, r, r !== null && r === link.running, link.hello.todo);
    }
    const told = this._last.get(notebook);
    return told ? memory(told.limit, told.run, told.runs) : null;
  }

  private _item = vscode.window.createStatusBarItem("ipytracer.memory", vscode.StatusBarAlignment.Right);
  private _last = new WeakMap<vscode.NotebookDocument, ITold>();
}
