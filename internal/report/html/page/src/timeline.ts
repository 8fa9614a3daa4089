// The timeline: a lane for each meter of a process, GPUs below the CPU, cells as bands behind. One canvas with zoom,
// move, and a tooltip for the place under the pointer.
import { Session } from "./data";
import { Sheet, say } from "./canvas";
import { button, fill, h, size } from "./dom";
import { bytes, duration } from "./format";
import { LANE, Lane, TOP, paint } from "./lanes";
import { firstLine, name } from "./list";
import { open } from "./cell";
import { get, listen, set } from "./state";
import { Track, highest, indexAt, tracksOf } from "./tracks";

export interface Timeline {
  element: HTMLElement;
  zoom(by: number): void;
}

export function timeline(): Timeline {
  let pid = 0,
    from = 0,
    to = 1,
    lanes: Lane[] = [],
    cells: number[] = [],
    drag: { x: number; from: number; moved: boolean } | null = null,
    pointer = -1;
  const processes = h("select", {
    "aria-label": "process",
    onchange: () => {
      pid = Number(processes.value);
      load();
    },
  });
  const about = h("span", { class: "quiet" });
  const sheet = new Sheet("timeline", "timeline of memory; the list of cells has the same figures", (c, s) =>
    paint(c, s, get().session, { lanes, cells, from, to, row: get().row, pointer }),
  );
  const canvas = sheet.canvas;
  const whole = () => Math.max(1, get().session.page.length);

  function load(): void {
    const s = get().session;
    lanes = lanesOf(s, tracksOf(s, pid), pid);
    cells = s.cells.filter((row) => s.pid(row) === pid);
    if (cells.length === 0) cells = [...s.cells]; // cells of the processes it has started
    cells.sort((a, b) => s.start(a) - s.start(b));
    canvas.style.height = TOP + Math.max(1, lanes.length) * LANE + 4 + "px";
    const peaks = lanes.flatMap((l) =>
      l.tracks
        .filter((t) => !t.tree && highest(t) >= 0)
        .flatMap((t) => [
          h(
            "button",
            {
              type: "button",
              class: "link peak",
              "data-meter": s.page.meters[l.meter].id,
              title: "open the cell of this moment",
              onclick: () => goTo(l.meter, t),
            },
            `${l.name} `,
            size(t.bytes[highest(t)], `top:${pid}:${s.page.meters[l.meter].id}`),
          ),
          " · ",
        ]),
    );
    fill(
      about,
      "▲ go to the highest: ",
      ...peaks,
      lanes.some((l) => l.tracks.some((t) => /[mf]/.test(t.kinds))) && "light: reached at some time in it",
    );
    sheet.draw();
  }
  /** Opens the cell in which a track is highest; where none ran then, the timeline shows that moment. */
  function goTo(meter: number, t: Track): void {
    const s = get().session,
      at = highest(t),
      top = t.bytes[at];
    const own =
      cells.find((row) => {
        const f = s.own(row, meter);
        return f !== null && f.peak === top;
      }) ?? cellAt(t.ns[at]);
    set({ meter });
    if (own >= 0) open(own);
    const width = Math.min(to - from, own >= 0 ? Math.max(s.duration(own) * 4, whole() / 50) : whole() / 20),
      middle = own >= 0 ? s.start(own) + s.duration(own) / 2 : t.ns[at];
    if (middle < from || middle > to || own < 0) show(middle - width / 2, middle + width / 2);
  }
  function begin(): void {
    const s = get().session,
      all = [...new Set([...s.pids, ...s.page.processes.filter((p) => p.parent === 0).map((p) => p.pid)])];
    const summit = s.row(s.page.summit);
    if (!all.includes(pid)) pid = summit >= 0 ? s.pid(summit) : (all[0] ?? 0);
    fill(
      processes,
      ...all
        .slice(0, 100)
        .map((p) =>
          h(
            "option",
            { value: p, selected: p === pid },
            `pid ${p}${s.pids.length > 0 && !s.pids.includes(p) ? " and all it started" : ""}`,
          ),
        ),
    );
    processes.hidden = all.length < 2;
    load();
  }
  function show(a: number, b: number): void {
    const least = Math.min(whole(), 1e4),
      width = Math.min(whole(), Math.max(least, b - a));
    from = Math.max(0, Math.min(a, whole() - width));
    to = from + width;
    canvas.dataset.shown = `${Math.round(from)} ${Math.round(to)}`; // for tests: a canvas has nothing else to ask
    sheet.draw();
  }
  const zoom = (by: number, at = (from + to) / 2) =>
    by === 0 ? show(0, whole()) : show(at - (at - from) * by, at + (to - at) * by);
  const timeAt = (x: number) => from + ((to - from) * x) / Math.max(1, sheet.width);

  canvas.addEventListener(
    "wheel",
    (e) => {
      if (!e.ctrlKey && !e.metaKey && document.activeElement !== canvas) return; // the page scrolls
      e.preventDefault();
      if (Math.abs(e.deltaX) > Math.abs(e.deltaY) || e.shiftKey)
        show(
          from + ((e.deltaX || e.deltaY) / sheet.width) * (to - from),
          to + ((e.deltaX || e.deltaY) / sheet.width) * (to - from),
        );
      else zoom(Math.exp(Math.max(-1, Math.min(1, e.deltaY / 300))), timeAt(e.offsetX));
    },
    { passive: false },
  );
  canvas.addEventListener("pointerdown", (e) => {
    drag = { x: e.offsetX, from, moved: false };
    canvas.setPointerCapture(e.pointerId);
  });
  canvas.addEventListener("pointermove", (e) => {
    pointer = e.offsetX;
    if (drag && Math.abs(e.offsetX - drag.x) > 3) drag.moved = true;
    if (drag?.moved) {
      const width = to - from,
        a = drag.from - ((e.offsetX - drag.x) / sheet.width) * width;
      show(a, a + width);
      say(null);
      return;
    }
    sheet.draw();
    tell(e);
  });
  canvas.addEventListener("pointerup", (e) => {
    const row = cellAt(timeAt(e.offsetX));
    if (drag && !drag.moved && row >= 0) open(row);
    drag = null;
  });
  canvas.addEventListener("pointerleave", () => {
    pointer = -1;
    say(null);
    sheet.draw();
  });
  canvas.addEventListener("dblclick", () => zoom(0));
  canvas.addEventListener("keydown", (e) => {
    const by = (to - from) / 5,
      move = { ArrowLeft: -by, ArrowRight: by }[e.key];
    if (move === undefined) return;
    e.preventDefault();
    show(from + move, to + move);
  });

  function cellAt(ns: number): number {
    const s = get().session;
    let found = -1;
    for (const row of cells) {
      if (s.start(row) > ns) break;
      if (ns <= s.start(row) + s.duration(row)) found = row; // the innermost is the last that began
    }
    return found;
  }
  function tell(e: MouseEvent): void {
    const s = get().session,
      ns = timeAt(e.offsetX),
      row = cellAt(ns);
    const lines: string[] = ["+" + duration(Math.round(ns))];
    if (row < 0) lines.push("no cell ran");
    else {
      const statement = s
        .statementsOf(row)
        .find((one) => s.start(one) <= ns && ns <= s.start(one) + s.duration(one) && s.line(one) > 0);
      const text =
        statement === undefined
          ? firstLine(s, row)
          : ((s.source(row) ?? "").split("\n")[s.line(statement) - 1] ?? "").trim();
      lines.push(`${name(s, row)}${statement === undefined ? "" : ` line ${s.line(statement)}`}: ${text}`);
    }
    for (const l of lanes)
      for (const t of l.tracks) lines.push(`${l.name}${t.tree ? " with children" : ""}: ${valueAt(t, ns)}`);
    say(e, ...lines.slice(0, 14));
  }
  listen((changed) => {
    if (changed.has("session")) {
      const all = from === 0 && to >= lastWhole;
      begin();
      if (all) show(0, whole());
      lastWhole = whole();
    } else if (changed.has("row")) {
      const s = get().session,
        row = get().row;
      if (row >= 0 && s.pid(row) !== pid && s.pids.includes(s.pid(row))) {
        pid = s.pid(row);
        begin();
      }
      sheet.draw();
    }
  });
  // The printed page is light, and has the timeline as it is on the screen.
  let theme = "";
  window.addEventListener("beforeprint", () => {
    theme = document.documentElement.dataset.theme ?? "";
    document.documentElement.dataset.theme = "light";
    sheet.now();
  });
  window.addEventListener("afterprint", () => {
    document.documentElement.dataset.theme = theme;
    sheet.now();
  });
  let lastWhole = whole();
  begin();
  show(0, lastWhole);
  const element = h(
    "section",
    { class: "timeline-box", "aria-label": "Timeline" },
    h(
      "div",
      { class: "timeline-head" },
      processes,
      about,
      button("+", () => zoom(0.5), "zoom in (+)"),
      button("−", () => zoom(2), "zoom out (-)"),
      button("all", () => zoom(0), "the whole session (0)"),
    ),
    canvas,
  );
  return { element, zoom };
}

/** Returns the value of a track at a time, in words. */
function valueAt(t: Track, ns: number): string {
  const gap = t.gaps.find((g) => g.start <= ns && ns < g.end && g.why !== "no descendants");
  const i = indexAt(t, ns);
  if (gap) return `${i < 0 ? "" : "≥"}${i < 0 ? "not known" : bytes(t.bytes[i])} (${gap.why})`;
  if (i < 0) return "–";
  const next = t.kinds[i + 1] === "m" ? `, at most ${bytes(t.bytes[i + 1])} until +${duration(t.ns[i + 1])}` : "";
  return (t.kinds[i] === "f" ? "less than " : "") + bytes(t.bytes[i]) + next;
}

function lanesOf(s: Session, tracks: Track[], pid: number): Lane[] {
  const own = s.page.processes.find((p) => p.pid === pid)?.limits ?? [];
  // the limits of its parent hold for it, too
  const limits = own.length > 0 ? own : s.page.processes.filter((p) => p.parent === 0).flatMap((p) => p.limits);
  const lanes: Lane[] = [];
  s.page.meters.forEach((m, meter) => {
    const own = tracks.filter((t) => t.meter === meter && t.ns.length > 0);
    if (own.length === 0 || m.part || own.every((t) => !(t.bytes[highest(t)] > 0))) return;
    own.sort((a, b) => Number(b.tree) - Number(a.tree)); // with children behind
    const top = own.reduce((n, t) => Math.max(n, t.bytes[highest(t)] ?? 0), 0);
    lanes.push({
      name: m.name,
      gpu: m.gpu ?? false,
      meter,
      tracks: own,
      top,
      limits: limits.filter((l) => l.meter === meter),
    });
  });
  const lead = s.page.meters[0]?.gpu ?? false; // the meter nearest to its limit is above
  return lanes.sort((a, b) => Number(a.gpu !== lead) - Number(b.gpu !== lead));
}
