// Sizes, times and marks as the tracer's own reports write them: the same bytes give the same text (report: package
// words; companion: _words.py).

import { IFigure, IHello, IRun } from "./figures";

const UNITS = ["KiB", "MiB", "GiB", "TiB"];

/** Returns n bytes for people: "1023 B", "512.48 MiB"; powers of 1024, two decimals, half away from zero. */
export function size(n: number): string {
  const sign = n < 0 ? "-" : "";
  let rest = BigInt(Math.abs(n));
  if (rest < 1024n) {
    return `${sign}${rest} B`;
  }
  let unit = 1n;
  let hundredths = 0n;
  let name = "";
  for (name of UNITS) {
    unit <<= 10n;
    hundredths = (rest / unit) * 100n + ((rest % unit) * 100n + unit / 2n) / unit;
    if (hundredths < 102400n) {
      break;
    }
  }
  rest = hundredths % 100n;
  return `${sign}${hundredths / 100n}.${rest < 10n ? "0" : ""}${rest} ${name}`;
}

/** Returns a difference of bytes, with its sign: "+1.00 MiB", "-3.00 MiB", "±0". */
export function difference(n: number): string {
  return n === 0 ? "±0" : n > 0 ? "+" + size(n) : size(n);
}

function rounded(n: number, by: number): number {
  const rest = n % by;
  return (n - rest) / by + (rest >= by - rest ? 1 : 0);
}

function two(n: number): string {
  return n < 10 ? "0" + n : "" + n;
}

/** Returns a length of time in nanoseconds: "850 ns", "12 µs", "1.8 ms", "2.41 s", "3 min 05 s". */
export function duration(ns: number): string {
  if (ns < 1000) {
    return `${ns} ns`;
  }
  if (rounded(ns, 1e3) < 1000) {
    return `${rounded(ns, 1e3)} µs`;
  }
  const tenths = rounded(ns, 1e5);
  if (tenths < 100) {
    return `${(tenths - (tenths % 10)) / 10}.${tenths % 10} ms`;
  }
  if (rounded(ns, 1e6) < 1000) {
    return `${rounded(ns, 1e6)} ms`;
  }
  const hundredths = rounded(ns, 1e7);
  if (hundredths < 6000) {
    return `${(hundredths - (hundredths % 100)) / 100}.${two(hundredths % 100)} s`;
  }
  const seconds = rounded(ns, 1e9);
  if (seconds < 3600) {
    return `${(seconds - (seconds % 60)) / 60} min ${two(seconds % 60)} s`;
  }
  const minutes = rounded(seconds, 60);
  const hours = (minutes - (minutes % 60)) / 60;
  return hours < 24 ? `${hours} h ${two(minutes % 60)} min` : `${(hours - (hours % 24)) / 24} d ${two(hours % 24)} h`;
}

/**
 * Returns the mark of a figure: "" if it is exact, "≈" if it may be off, "≥" if it rests on a peak and is at least
 * that.
 */
export function mark(f: IFigure, high = false): string {
  return f.exact ? "" : high && f.bound === null ? "≥" : "≈";
}

/** Returns peak - start, in bytes. */
export function needed(f: IFigure): number {
  return f.peak - f.start;
}

/** Returns a meter's name for people: "resident", "numpy", "GPU 0 active". */
export function meterName(meter: string): string {
  if (meter.startsWith("gpu.")) {
    return "GPU " + meter.slice(4).replace(/\./g, " ");
  }
  return (meter.startsWith("cpu.") ? meter.slice(4) : meter).replace(/\./g, " ");
}

/** Returns a run's name for people: "In[3]". */
export function label(r: IRun): string {
  return r.count === null ? "-" : `In[${r.count}]`;
}

/** Returns the memory of the process and its children together, its own where it has none. */
export function together(r: IRun): IFigure | undefined {
  return r.tree.get("cpu.resident") ?? r.meters.get("cpu.resident");
}

/** Returns the memory that the limit counts: mapped memory for an rlimit, else resident. */
export function limited(r: IRun, of: IHello): IFigure | undefined {
  const meter = of.limitOf.toLowerCase().includes("rlimit") ? "cpu.mapped" : "cpu.resident";
  return r.tree.get(meter) ?? r.meters.get(meter);
}

/** Returns a share: "37 %", "<1 %". */
export function percent(share: number): string {
  return share > 0 && share < 0.01 ? "<1 %" : `${Math.floor(share * 100)} %`;
}

/** Returns a limit: "23.54 GiB (machine)". */
export function limitName(of: IHello): string {
  const kind = of.limitOf === "cgroup" ? "container" : of.limitOf;
  return of.limit === null ? "" : size(of.limit) + (kind ? ` (${kind})` : "");
}

/** From this share of a limit on a figure has an exclamation mark. */
export const FULL = 0.9;
