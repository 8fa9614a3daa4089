// The figure in the status bar: the memory of the current notebook's process, beside its limit.

import { Signal, ISignal } from "@lumino/signaling";
import { Widget } from "@lumino/widgets";

import { IRun } from "./figures";
import { Link } from "./link";
import { FULL, label, limited, limitName, mark, percent, shown, together } from "./words";

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
    const f = r && together(r);
    let said = "no tracer";
    let title = `ipytracer: no tracer listens; ${hello.starts ? "click for the panel: it can start one" : hello.todo}`;
    let full = false;
    if (hello.listens && hello.silent) {
      said = "no answer";
      title = `ipytracer: a tracer listens, but ${hello.silent}: it is stopped, or very busy`;
    } else if (hello.listens && (!r || !f)) {
      said = "memory: –";
      title = "ipytracer: a tracer listens; no cell has run yet that it tells of";
    } else if (hello.listens && r && f) {
      const counted = limited(r, hello) ?? f;
      const share = hello.limit ? counted.end / hello.limit : 0;
      full = hello.limit !== null && counted.peak >= FULL * hello.limit;
      const runs = r === link.running;
      said = `${runs ? "▶ " : ""}${full ? "! " : ""}${shown(f, "end")}`;
      said += hello.limit ? ` of ${limitName(hello)} · ${mark(counted, "end")}${percent(share)}` : "";
      const peak = `peak ${shown(f, "peak")}`;
      const when = runs ? "while a cell runs" : "after " + label(r);
      title = `ipytracer: resident memory ${when}${r.children ? ", with its children" : ""}; ${peak}`;
    }
    this.node.textContent = said;
    this.node.title = title;
    this.node.dataset.window = r ? String(r.window) : "";
    this.node.dataset.total = f ? String(f.end) : "";
    this.node.dataset.limit = hello.limit === null ? "" : String(hello.limit);
    this.node.classList.toggle("jp-mod-full", full);
  }

  private _active = false;
  private _activeChanged = new Signal<this, void>(this);
}
