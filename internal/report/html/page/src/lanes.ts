// Draws the timeline: bands of cells, a lane for each meter, the highest of each, limits, and unknown times.
import { Limit } from "./block";
import { Session } from "./data";
import { Sheet, clipped, color } from "./canvas";
import { bytes, duration } from "./format";
import { Track, highest, indexAt } from "./tracks";

export const LANE = 62,
  TOP = 36; // pixels: one lane; the axis and the names of cells

export interface Lane {
  name: string;
  gpu: boolean;
  meter: number;
  tracks: Track[];
  top: number;
  limits: Limit[];
}
export interface View {
  lanes: Lane[];
  cells: number[];
  from: number;
  to: number;
  row: number;
  pointer: number;
}

export function paint(c: CanvasRenderingContext2D, sheet: Sheet, s: Session, v: View): void {
  const x = (ns: number) => ((ns - v.from) / (v.to - v.from)) * sheet.width;
  const ink = color("ink"),
    quiet = color("quiet"),
    line = color("line");
  bands(c, sheet, s, v, x);
  axis(c, sheet, v, x, quiet, line);
  v.lanes.forEach((l, i) => lane(c, sheet, l, TOP + i * LANE, v, x, { ink, quiet, line }));
  if (v.lanes.length === 0) {
    c.fillStyle = quiet;
    c.fillText("no figures over time", 8, TOP + 20);
  }
  if (v.pointer >= 0) {
    c.fillStyle = quiet;
    c.fillRect(v.pointer, TOP, 1, sheet.height - TOP);
  }
}

/**
 * Draws cells as bands behind the lanes, with their names where there is room. If there are too many to see, it draws
 * only the chosen one.
 */
function bands(c: CanvasRenderingContext2D, sheet: Sheet, s: Session, v: View, x: (ns: number) => number): void {
  const shade = color("shade"),
    chosen = color("chosen"),
    ink = color("ink"),
    bad = color("bad"),
    pixel = (v.to - v.from) / Math.max(1, sheet.width);
  let at = 0,
    free = 0,
    last = -1;
  for (const row of v.cells) {
    at++;
    const start = s.start(row),
      end = start + s.duration(row);
    if (end < v.from) continue;
    if (start > v.to) break;
    const left = Math.max(0, x(start)),
      right = Math.min(sheet.width, x(end));
    if (row !== v.row) {
      if (s.duration(row) < pixel / 2 && left - last < 1) continue; // one line for many
      last = left;
      c.fillStyle = at % 2 ? shade : color("band");
      c.fillRect(left, TOP - 18, Math.max(1, right - left), sheet.height - TOP + 18);
    }
    if (left < free && row !== v.row) continue;
    const label = clipped(c, (s.status(row) ? "✗ " : "") + s.label(row), Math.max(right - left - 4, 0));
    if (label && row !== v.row) {
      c.fillStyle = s.status(row) ? bad : ink;
      c.fillText(label, left + 3, TOP - 9);
      free = left + c.measureText(label).width + 6;
    }
  }
  if (v.cells.includes(v.row)) {
    const left = Math.max(0, x(s.start(v.row))),
      right = Math.min(sheet.width, x(s.start(v.row) + s.duration(v.row)));
    if (right < 0 || left > sheet.width) return;
    c.fillStyle = chosen;
    c.fillRect(left, TOP - 18, Math.max(2, right - left), sheet.height - TOP + 18);
    const text = s.label(v.row);
    // over its neighbours' names
    label(c, text, Math.min(left + 3, sheet.width - c.measureText(text).width - 4), TOP - 9, ink);
  }
}

function axis(
  c: CanvasRenderingContext2D,
  sheet: Sheet,
  v: View,
  x: (ns: number) => number,
  quiet: string,
  line: string,
): void {
  const rough = (v.to - v.from) / Math.max(2, sheet.width / 110),
    power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough) ?? rough;
  c.textAlign = "left";
  for (let t = Math.ceil(v.from / step) * step; t <= v.to; t += step) {
    c.fillStyle = line;
    c.fillRect(x(t), 0, 1, sheet.height);
    c.fillStyle = quiet;
    c.fillText(t === 0 ? "0" : "+" + duration(Math.round(t)), x(t) + 3, 8);
  }
}

function lane(
  c: CanvasRenderingContext2D,
  sheet: Sheet,
  l: Lane,
  top: number,
  v: View,
  x: (ns: number) => number,
  of: { ink: string; quiet: string; line: string },
): void {
  const room = LANE - 20,
    bottom = top + LANE - 4,
    near = l.limits.filter((m) => m.bytes <= l.top * 2.5);
  const most = Math.max(1, l.top, ...near.map((m) => m.bytes)),
    y = (n: number) => bottom - (Math.max(0, n) / most) * room;
  c.fillStyle = of.line;
  c.fillRect(0, bottom, sheet.width, 1);
  l.tracks.forEach((t) => curve(c, sheet, t, v, x, y, bottom, color(t.tree ? "tree" : l.gpu ? "gpu" : "kept"), t.tree));
  for (const m of near) {
    c.strokeStyle = color("bad");
    c.setLineDash([6, 4]);
    c.beginPath();
    c.moveTo(0, y(m.bytes) + 0.5);
    c.lineTo(sheet.width, y(m.bytes) + 0.5);
    c.stroke();
    c.setLineDash([]);
  }
  const limit = [...l.limits].sort((a, b) => a.bytes - b.bytes)[0];
  const text =
    `${l.name}${limit ? ` · limit ${bytes(limit.bytes)} (${limit.text})${near.length > 0 ? " - - -" : ""}` : ""}` +
    `${l.tracks.some((t) => t.tree) ? " · with children behind" : ""}`;
  label(c, text, 4, top + 7, of.ink);
  for (const t of l.tracks) {
    const i = highest(t);
    if (
      i < 0 ||
      (t.tree &&
        l.tracks.length > 1 &&
        t.bytes[i] === l.tracks[l.tracks.length - 1].bytes[highest(l.tracks[l.tracks.length - 1])])
    )
      continue;
    const at = x(t.ns[i]);
    if (at < 0 || at > sheet.width) continue;
    const peak = `▲ ${bytes(t.bytes[i])}`,
      width = c.measureText(peak).width;
    label(
      c,
      peak,
      Math.max(c.measureText(text).width + 16, Math.min(at - 5, sheet.width - width - 4)),
      top + 7,
      of.ink,
    );
    c.fillStyle = of.ink;
    c.beginPath();
    c.moveTo(at, y(t.bytes[i]));
    c.lineTo(at - 4, y(t.bytes[i]) + 6);
    c.lineTo(at + 4, y(t.bytes[i]) + 6);
    c.fill();
  }
}

/** Draws text that is readable on any background. */
function label(c: CanvasRenderingContext2D, text: string, x: number, y: number, ink: string): void {
  c.fillStyle = color("page");
  c.globalAlpha = 0.75;
  c.fillRect(x - 2, y - 7, c.measureText(text).width + 4, 14);
  c.globalAlpha = 1;
  c.fillStyle = ink;
  c.fillText(text, x, y);
}

/**
 * Draws a track as steps: it has the value of the last point. Of many points in one pixel the highest is drawn, so that
 * no peak is lost.
 */
function curve(
  c: CanvasRenderingContext2D,
  sheet: Sheet,
  t: Track,
  v: View,
  x: (ns: number) => number,
  y: (n: number) => number,
  bottom: number,
  ink: string,
  light: boolean,
): void {
  const first = Math.max(0, indexAt(t, v.from)),
    faint = light ? 0.35 : 0.55;
  c.fillStyle = ink;
  for (let i = first; i < t.ns.length; ) {
    if (t.ns[i] > v.to) break;
    const left = Math.floor(Math.max(0, x(t.ns[i])));
    let most = t.bytes[i],
      j = i,
      unknown = t.kinds[i] === "g";
    for (; j + 1 < t.ns.length && x(t.ns[j + 1]) < left + 1; j++) {
      most = Math.max(most, t.bytes[j + 1]);
      unknown = unknown && t.kinds[j + 1] === "g";
    }
    if (light && t.kinds[j] === "g") {
      i = j + 1;
      continue;
    } // no descendants: the process itself is the whole tree
    const next = j + 1 < t.ns.length ? x(t.ns[j + 1]) : x(t.ns[j]);
    c.globalAlpha = faint;
    c.fillRect(left, y(most), 1, bottom - y(most));
    const right = Math.min(sheet.width, Math.floor(next));
    if (right > left + 1) {
      const value = t.bytes[j];
      if (t.kinds[j + 1] === "m" && t.bytes[j + 1] > value) {
        c.globalAlpha = faint / 3;
        c.fillRect(left + 1, y(t.bytes[j + 1]), right - left - 1, y(value) - y(t.bytes[j + 1]));
      }
      const fell = t.kinds[j] === "f"; // how far is known only at the next point
      c.globalAlpha = unknown || fell || t.kinds[j] === "g" ? faint / 3 : faint;
      c.fillRect(left + 1, y(value), right - left - 1, bottom - y(value));
      c.globalAlpha = fell ? faint : 1;
      c.fillRect(left + 1, y(value), right - left - 1, 1);
    }
    c.globalAlpha = 1;
    i = j + 1;
  }
  for (const g of t.gaps) {
    if (g.end < v.from || g.start > v.to || g.why === "no descendants") continue;
    hatch(c, Math.max(0, x(g.start)), bottom - LANE + 20, Math.min(sheet.width, x(g.end)), bottom);
  }
}

/** Hatches unknown times. */
function hatch(c: CanvasRenderingContext2D, left: number, top: number, right: number, bottom: number): void {
  c.save();
  c.beginPath();
  c.rect(left, top, Math.max(1, right - left), bottom - top);
  c.clip();
  c.strokeStyle = color("warn");
  c.globalAlpha = 0.5;
  for (let at = left - (bottom - top); at < right; at += 8) {
    c.beginPath();
    c.moveTo(at, bottom);
    c.lineTo(at + bottom - top, top);
    c.stroke();
  }
  c.restore();
}
