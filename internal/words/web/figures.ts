// Sizes, times and the marks of inexact figures as package words writes them, for the report's page and for
// JupyterLab's extension. ../testdata/figures.json has the cases that Go, Python and this file are tested with.

/** The sizes of a figure. */
export type Quantity = "start" | "peak" | "end" | "need" | "consumed" | "peaked";

/** One meter in one window, in bytes. off: 0 for an exact figure, else the most bytes it can be off, -1: not known. */
export interface Figure extends Record<Quantity, number> {
  off: number;
}

/** These rest on the peak: a loss can only make them larger. */
const RESTS_ON_PEAK: Quantity[] = ["peak", "need", "peaked"];

/** Returns bytes up to 1023 B, then KiB, MiB, GiB, TiB with two decimals, rounded half away from zero. */
export function bytes(n: number): string {
  const sign = n < 0 ? "-" : "";
  const size = Math.abs(n);
  if (size < 1024) return sign + size + " B";
  let unit = 1;
  for (const name of ["KiB", "MiB", "GiB", "TiB"]) {
    unit *= 1024;
    const hundredths = Math.floor(size / unit) * 100 + Math.floor(((size % unit) * 100 + unit / 2) / unit);
    if (hundredths < 1024 * 100 || name === "TiB") return `${sign}${decimal(hundredths)} ${name}`;
  }
  return "";
}

/** Returns a difference of bytes, with its sign: "+1.00 MiB", "-3.00 MiB", "±0". */
export function difference(n: number): string {
  return n === 0 ? "±0" : n > 0 ? "+" + bytes(n) : bytes(n);
}

/** Returns a length of time in nanoseconds: 850 ns, 12 µs, 1.8 ms, 180 ms, 2.41 s, 3 min 05 s, 2 h 07 min, 3 d 04 h. */
export function duration(ns: number): string {
  if (ns < 0) return "-" + duration(-ns);
  if (ns < 1e3) return ns + " ns";
  if (rounded(ns, 1e3) < 1000) return rounded(ns, 1e3) + " µs";
  const tenths = rounded(ns, 1e5);
  if (tenths < 100) return `${Math.floor(tenths / 10)}.${tenths % 10} ms`;
  if (rounded(ns, 1e6) < 1000) return rounded(ns, 1e6) + " ms";
  if (rounded(ns, 1e7) < 6000) return decimal(rounded(ns, 1e7)) + " s";
  const seconds = rounded(ns, 1e9),
    minutes = rounded(seconds, 60);
  if (seconds < 3600) return pair(seconds, 60, "min", "s");
  if (minutes < 1440) return pair(minutes, 60, "h", "min");
  return pair(rounded(minutes, 60), 24, "d", "h");
}

/** Returns the mark of a figure: "" if it is exact, "≈" if it is off by a known bound, "≥" if it is at least this. */
export function mark(f: Figure, q: Quantity): string {
  if (f.off === 0) return "";
  return f.off < 0 && RESTS_ON_PEAK.includes(q) ? "≥" : "≈";
}

/** Returns a size of a figure, with its mark. */
export function shown(f: Figure, q: Quantity): string {
  return mark(f, q) + bytes(f[q]);
}

/** Divides and rounds half up. */
function rounded(n: number, by: number): number {
  const rest = n % by;
  return (n - rest) / by + (rest >= by - rest ? 1 : 0);
}

function decimal(hundredths: number): string {
  return `${Math.floor(hundredths / 100)}.${two(hundredths % 100)}`;
}

/** Returns n of a small unit as so many of the large one, and the rest. */
function pair(n: number, per: number, large: string, small: string): string {
  return `${Math.floor(n / per)} ${large} ${two(n % per)} ${small}`;
}

function two(n: number): string {
  return String(n).padStart(2, "0");
}
