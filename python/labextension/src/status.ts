// The figure in the status bar: the memory of the current notebook's process, beside its limit.

import { Signal, ISignal } from "@lumino/signaling";
import { Widget } from "@lumino/widgets";

import { IRun } from "./figures";
import { Link } from "./link";
import { state } from "./state";
import { together } from "./words";

export class Status extends Widget {
  constructor(open: () => void) {
    super({ node: document.createElement("button") });
    this.addClass("jp-ipytracer-status");
    this.node.addEventListener("click", open);
  }

  /** Emits when the figure appears or disappears. */
  get activeChanged(): ISignal<this, void> {
    return this._activeChanged;
  }

  get isActive(): boolean {
    return this._active;
  }

  /** Shows a kernel's memory, as last reported; nothing, where no companion is known. */
  tell(link: Link | null): void {
    const active = link !== null && link.hello !== null;
    if (active) {
      const current = link.current;
      this._draw(link, link.running ?? current[current.length - 1] ?? null);
    }
    if (active !== this._active) {
      this._active = active;
      this._activeChanged.emit();
    }
  }

  private _draw(link: Link, r: IRun | null): void {
    const hello = link.hello!;
    const more = hello.starts ? "click for the panel: it can start one" : hello.todo;
    const said = state(hello, r, r !== null && r === link.running, more);
    const f = r && together(r);
    this.node.textContent = said.text;
    this.node.title = said.title;
    this.node.dataset.window = r ? String(r.window) : "";
    this.node.dataset.total = f ? String(f.end) : "";
    this.node.dataset.limit = hello.limit === null ? "" : String(hello.limit);
    this.node.classList.toggle("jp-mod-full", said.full);
  }

  private _active = false;
  private _activeChanged = new Signal<this, void>(this);
}
