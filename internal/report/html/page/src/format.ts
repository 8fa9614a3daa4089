// Sizes, times and counts as every other report of ipytracer writes them (package words), and the marks of inexact
// figures.
import { Figure, Quantity, quantity } from "./data";

/** Returns bytes up to 1023 B, then KiB, MiB, GiB, TiB with two decimals, rounded half away from zero. */
export function bytes(n: number): string {
  const sign = n < 0 ? "-" : "";
  const size = Math.abs(n);
  if (size < 1024) return sign + size + " B";
  let unit = 1;
  for (const name of ["KiB", "MiB", "GiB", "TiB"]) {
    unit *= 1024;
    const hundredths = Math.floor(size / unit) * 100 + Math.floor(((size % unit) * 100 + unit / 2) / unit);
    if (hundredths < 1024 * 100 || name === "TiB")
      return `${sign}${Math.floor(hundredths / 100)}.${String(hundredths % 100).padStart(2, "0")} ${name}`;
  }
  return "";
}

/** Returns a length of time in nanoseconds: 850 ns, 12 µs, 1.8 ms, 180 ms, 2.41 s, 3 min 05 s, 2 h 07 min, 3 d 04 h. */
export function duration(ns: number): string {
  if (ns < 0) return "-" + duration(-ns);
  const round = (by: number) => Math.floor(ns / by) + (ns % by >= by / 2 ? 1 : 0);
  if (ns < 1e3) return ns + " ns";
  if (round(1e3) < 1000) return round(1e3) + " µs";
  if (round(1e5) < 100) return `${Math.floor(round(1e5) / 10)}.${round(1e5) % 10} ms`;
  if (round(1e6) < 1000) return round(1e6) + " ms";
  if (round(1e7) < 6000) return `${Math.floor(round(1e7) / 100)}.${String(round(1e7) % 100).padStart(2, "0")} s`;
  const seconds = round(1e9),
    minutes = Math.floor(seconds / 60 + 0.5);
  const pair = (n: number, per: number, large: string, small: string) =>
    `${Math.floor(n / per)} ${large} ${String(n % per).padStart(2, "0")} ${small}`;
  if (seconds < 3600) return pair(seconds, 60, "min", "s");
  if (minutes < 1440) return pair(minutes, 60, "h", "min");
  return pair(Math.floor(minutes / 60 + 0.5), 24, "d", "h");
}

export const count = (n: number): string => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

export const plural = (n: number, one: string, many = one + "s"): string => `${count(n)} ${n === 1 ? one : many}`;

/** Returns the mark of a figure: ≈ is off by a known bound, ≥ is at least this much. */
export function mark(f: Figure, q: Quantity): string {
  if (f.off === 0) return "";
  return f.off < 0 && (q === "need" || q === "peak" || q === "peaked") ? "≥" : "≈";
}

/** Returns a quantity of a figure, with its mark. */
export const shown = (f: Figure, q: Quantity): string => mark(f, q) + bytes(quantity(f, q));

/** Returns the meaning of a figure's mark, in words. */
export function sureness(f: Figure, q: Quantity): string {
  if (f.off === 0) return "exact";
  if (f.off > Math.abs(quantity(f, q))) return "not known to within its own size";
  if (f.off > 0) return "can be off by " + bytes(f.off);
  return mark(f, q) === "≥"
    ? "at least this: the meter missed something"
    : "the meter missed something, and nobody can say how much";
}

export const share = (part: number, whole: number): string =>
  whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : "";
