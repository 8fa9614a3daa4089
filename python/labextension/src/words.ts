// Names, shares and limits in words, beside the sizes, times and marks that all reports write alike.

import { bytes, Figure } from "../../../internal/words/web/figures";
import { ILimit, IRun } from "./figures";

export { bytes, difference, duration, mark, shown } from "../../../internal/words/web/figures";

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
export function together(r: IRun): Figure | undefined {
  return r.tree.get("cpu.resident") ?? r.meters.get("cpu.resident");
}

/** Returns the memory that the limit counts: mapped memory for an rlimit, else resident. */
export function limited(r: IRun, of: ILimit): Figure | undefined {
  const meter = of.limitOf.toLowerCase().includes("rlimit") ? "cpu.mapped" : "cpu.resident";
  return r.tree.get(meter) ?? r.meters.get(meter);
}

/** Returns a share: "37 %", "<1 %". */
export function percent(share: number): string {
  return share > 0 && share < 0.01 ? "<1 %" : `${Math.floor(share * 100)} %`;
}

/** Returns a limit: "23.54 GiB (machine)". */
export function limitName(of: ILimit): string {
  const kind = of.limitOf === "cgroup" ? "container" : of.limitOf;
  return of.limit === null ? "" : bytes(of.limit) + (kind ? ` (${kind})` : "");
}

/** From this share of a limit on a figure has an exclamation mark. */
export const FULL = 0.9;
