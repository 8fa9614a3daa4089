// The line at a cell: a widget in the cell's own layout, below its input.

import { CodeCell } from "@jupyterlab/cells";
import { PanelLayout, Widget } from "@lumino/widgets";

import { details, IPart, IShown, parts } from "./parts";

export class Badge extends Widget {
  constructor() {
    super();
    this.addClass("jp-ipytracer-badge");
    this.node.setAttribute("role", "note");
  }

  /** Shows a content; before the badge is in a cell that can be seen, only remembers it. */
  tell(shown: IShown): void {
    this._shown = shown;
    this._stale = true;
    if (this.isAttached) {
      this._draw();
    }
  }

  protected onAfterAttach(): void {
    this._draw();
  }

  /** Puts the badge into the cell, below its input; if it is there already nothing happens. */
  static into(cell: CodeCell, badge: Badge): void {
    const layout = cell.layout as PanelLayout;
    if (badge.parent === cell) {
      return;
    }
    const input = layout.widgets.findIndex((w) => w.hasClass("jp-Cell-inputWrapper"));
    layout.insertWidget(input < 0 ? layout.widgets.length - 1 : input + 1, badge);
  }

  private _draw(): void {
    const shown = this._shown;
    if (!shown || !this._stale) {
      return;
    }
    this._stale = false;
    const found = parts(shown);
    const r = shown.running ?? shown.last;
    this.node.replaceChildren(...found.map(drawn));
    this.node.title = r ? details(r) : "";
    this.node.classList.toggle("jp-mod-old", shown.past || shown.edited);
    this.node.setAttribute("aria-label", "memory: " + found.map((p) => `${p.name} ${p.value}`.trim()).join(", "));
    const f = r?.meters.get("cpu.resident");
    this.node.dataset.window = r ? String(r.window) : "";
    this.node.dataset.need = f ? String(f.need) : "";
    this.node.dataset.consumed = f ? String(f.consumed) : "";
  }

  private _shown: IShown | null = null;
  private _stale = false;
}

function drawn(part: IPart): HTMLElement {
  const node = document.createElement("span");
  node.className = "jp-ipytracer-part" + (part.kind ? ` jp-mod-${part.kind}` : "");
  if (part.name) {
    const name = document.createElement("span");
    name.className = "jp-ipytracer-name";
    name.textContent = part.name + " ";
    node.append(name);
  }
  const value = document.createElement("b");
  value.textContent = part.value;
  node.append(value);
  if (part.note) {
    node.append(` (${part.note})`);
  }
  return node;
}
