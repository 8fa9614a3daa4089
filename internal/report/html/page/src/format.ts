// Counts, shares and the meaning of marks, beside the sizes and times that all reports write alike.
import { Figure, Quantity, bytes, mark } from "../../../../words/web/figures";

export { type Figure, type Quantity, bytes, duration, mark, shown } from "../../../../words/web/figures";

export const count = (n: number): string => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

export const plural = (n: number, one: string, many = one + "s"): string => `${count(n)} ${n === 1 ? one : many}`;

/** Returns the meaning of a figure's mark, in words. */
export function sureness(f: Figure, q: Quantity): string {
  if (f.off === 0) return "exact";
  if (f.off > Math.abs(f[q])) return "not known to within its own size";
  if (f.off > 0) return "can be off by " + bytes(f.off);
  return mark(f, q) === "≥"
    ? "at least this: the meter missed something"
    : "the meter missed something, and nobody can say how much";
}

export const share = (part: number, whole: number): string =>
  whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : "";
