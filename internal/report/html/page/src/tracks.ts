// The values of meters over time, as points: of the recording's own timeline or, without one, of each window's figures.
import { Page } from "./block";
import { CELL, Session, STATEMENT } from "./data";

/**
 * Kinds of point, as in the report's timeline: a value; a value from which it fell; the most since the point before;
 * unknown from here on.
 */
export type Kind = "v" | "f" | "m" | "g";

export interface Track {
  pid: number;
  meter: number;
  tree: boolean;
  ns: ArrayLike<number>;
  bytes: ArrayLike<number>;
  kinds: string;
  gaps: { start: number; end: number; why: string }[];
}

type Packed = NonNullable<Page["timeline"]>[number];

/** Returns the tracks of a process. */
export function tracksOf(s: Session, pid: number): Track[] {
  const packed = (s.page.timeline ?? []).filter((t) => t.pid === pid);
  return packed.length > 0
    ? packed.map((t) => unpack(s, t))
    : s
        .moving()
        .filter((m) => !s.page.meters[m].part)
        .flatMap((m) => byWindows(s, pid, m));
}

function unpack(s: Session, t: Packed): Track {
  const gaps = [];
  for (let i = 0; i < t.gaps.length; i += 3)
    gaps.push({ start: t.gaps[i], end: t.gaps[i + 1], why: s.page.texts[t.gaps[i + 2]] });
  return { pid: t.pid, meter: t.meter, tree: t.tree ?? false, ns: t.ns, bytes: t.bytes, kinds: t.kinds, gaps };
}

/** Returns a track made of the figures of windows: the highest of each is at some time in it. */
function byWindows(s: Session, pid: number, meter: number): Track[] {
  const rows: number[] = [];
  for (const row of [...s.cells, ...s.between]) {
    if (s.pid(row) !== pid || !s.own(row, meter)) continue;
    const parts =
      s.kind(row) === CELL ? s.statementsOf(row).filter((one) => s.kind(one) === STATEMENT && s.own(one, meter)) : [];
    rows.push(...(parts.length > 0 ? parts : [row]));
  }
  rows.sort((a, b) => s.start(a) - s.start(b) || a - b);
  const ns: number[] = [],
    bytes: number[] = [];
  let kinds = "";
  const put = (at: number, value: number, kind: Kind) => {
    ns.push(at);
    bytes.push(value);
    kinds += kind;
  };
  for (const row of rows) {
    const f = s.own(row, meter)!,
      start = s.start(row),
      end = start + s.duration(row);
    put(start, f.start, "v");
    put(end, f.peak, "m");
    put(end, f.end, "v");
  }
  return ns.length > 0 ? [{ pid, meter, tree: false, ns, bytes, kinds, gaps: [] }] : [];
}

/** Returns the index of the last point that is not later than a time, or -1. */
export function indexAt(t: Track, ns: number): number {
  let low = 0,
    high = t.ns.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (t.ns[middle] <= ns) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Returns the index at which a track is highest, or -1. */
export function highest(t: Track): number {
  let best = -1;
  for (let i = 0; i < t.bytes.length; i++) if (t.kinds[i] !== "g" && (best < 0 || t.bytes[i] > t.bytes[best])) best = i;
  return best;
}
