// The line at a cell as text, which carries all information: symbols stand beside what a front end may colour. It is
// the same in JupyterLab and in VS Code.

import { ILimit, IRun } from "./figures";
import { difference, duration, FULL, label, limited, limitName, mark, meterName, percent, shown } from "./words";

/** What a cell needed, in a sentence; fits: as much is free. */
export interface INeeded {
  says: string;
  fits: boolean;
}

/** The content of a badge. */
export interface IShown {
  last: IRun | null;
  previous: IRun | null;
  running: IRun | null;
  past: boolean; // the kernel has been restarted since
  edited: boolean; // the text differs from the one that ran
  hello: ILimit | null;
  needed: INeeded | null; // by a run of a cell with this very text
}

export interface IPart {
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
