// The line at a cell: a widget in the cell's own layout, below its input. The text carries all information; symbols
// stand beside colours.

import { CodeCell } from "@jupyterlab/cells";
import { PanelLayout, Widget } from "@lumino/widgets";

import { IHello, IRun } from "./figures";
import { INeeded } from "./needed";
import { difference, duration, FULL, label, limited, limitName, mark, meterName, percent, shown } from "./words";

/** The content of a badge. */
export interface IShown {
  last: IRun | null;
  previous: IRun | null;
  running: IRun | null;
  past: boolean; // the kernel has been restarted since
  edited: boolean; // the text differs from the one that ran
  hello: IHello | null;
  needed: INeeded | null; // by a run of a cell with this very text
}

interface IPart {
  name: string;
  value: string;
  note?: string; // stands behind the text, in brackets
  kind?: string;
}

const WORTH = 65536; // bytes

/** The parts of a badge, as text. */
export function parts(s: IShown): IPart[] {
  if (s.running) {
    return runningParts(s.running, s.last);
  }
  return [...(s.last ? [...own(s.last, s.previous), ...doubts(s, s.last)] : []), ...before(s.needed)];
}

/** What to know before the cell runs. */
function before(n: INeeded | null): IPart[] {
  return n ? [{ name: "", value: (n.fits ? "" : "! ") + n.says, kind: n.fits ? "old" : "bad" }] : [];
}

function runningParts(r: IRun, before: IRun | null): IPart[] {
  const out: IPart[] = [{ name: "▶ runs", value: duration(r.duration) }];
  const now = r.meters.get("cpu.resident");
  if (now) {
    out.push({ name: "resident", value: shown(now, "end") }, { name: "at most", value: shown(now, "peak") });
  }
  const last = before?.meters.get("cpu.resident");
  if (last) {
    out.push({ name: "before: need", value: shown(last, "need") });
  }
  return out;
}

function own(r: IRun, before: IRun | null): IPart[] {
  const out: IPart[] = [];
  const f = r.meters.get("cpu.resident");
  if (f) {
    out.push({ name: "need", value: shown(f, "need") });
    const last = before?.meters.get("cpu.resident");
    if (last) {
      const both = f.off || last.off ? "≈" : "";
      const change = f.need - last.need;
      const way = change > 0 ? "▲ " : change < 0 ? "▼ " : "";
      out.push({ name: "Δ", value: way + both + difference(change), note: "to the run before" });
    }
    out.push({ name: "consumed", value: shown(f, "consumed") });
    out.push({ name: "peaked", value: shown(f, "peaked") }, { name: "total", value: shown(f, "end") });
  }
  out.push(...beside(r), { name: "", value: duration(r.duration) });
  if (r.status !== "ok") {
    out.push({ name: "", value: "✗ " + r.status + (r.error ? ` (${r.error})` : ""), kind: "bad" });
  }
  return out;
}

/** Arrays, tensors and GPUs, with the line that held most; negligible ones are left out. */
function beside(r: IRun): IPart[] {
  const out: IPart[] = [];
  for (const [meter, g] of r.meters) {
    const gpu = meter.startsWith("gpu.");
    if (gpu ? g.peak > 0 : meter !== "cpu.resident" && meter !== "cpu.mapped" && g.need >= WORTH) {
      const where = (r.where.get(meter) ?? "").replace(`${label(r)} `, "").replace(/^\((.*)\)$/, "$1");
      out.push({ name: meterName(meter), value: shown(g, "need"), note: where });
    }
  }
  return out;
}

function doubts(s: IShown, r: IRun): IPart[] {
  const out: IPart[] = [];
  const high = s.hello && limited(r, s.hello);
  if (s.hello?.limit && high && high.peak >= FULL * s.hello.limit) {
    out.push({
      name: "",
      value: `! ${mark(high, "peak")}${percent(high.peak / s.hello.limit)} of ${limitName(s.hello)}`,
      kind: "bad",
    });
  }
  if (s.past) {
    out.push({ name: "", value: "↺ before the restart", kind: "old" });
  } else if (s.edited) {
    out.push({ name: "", value: "✎ edited since", kind: "old" });
  }
  return out;
}

/** The text of the tooltip: all other figures. */
export function details(r: IRun): string {
  const out = [`${label(r)} · ${duration(r.duration)} · ${r.status}`];
  for (const [meter, f] of r.meters) {
    const where = r.where.get(meter);
    out.push(
      `${meterName(meter)}: need ${shown(f, "need")} · consumed ${shown(f, "consumed")} · ` +
        `peaked ${shown(f, "peaked")} · total ${shown(f, "end")}${where ? " · " + where : ""}`,
    );
  }
  const tree = r.tree.get("cpu.resident");
  if (tree) {
    out.push(`with its children: peak ${shown(tree, "peak")}`);
  }
  if ([...r.meters.values()].some((f) => f.off !== 0)) {
    out.push("≈ may be off, ≥ at least");
  }
  return r.note ? [...out, r.note].join("\n") : out.join("\n");
}

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
