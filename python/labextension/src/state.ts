// The figure of the status bar as text: the memory of the current notebook's process, beside its limit.

import { IHello, ILimit, IRun } from "./figures";
import { FULL, label, limited, limitName, mark, percent, shown, together } from "./words";

/** A text and its tooltip; full: the peak was 90 % of the limit or more. */
export interface ISaid {
  text: string;
  title: string;
  full: boolean;
}

/** Returns what to say of a tracer and the last run, null: none. runs: that cell still runs; more: what to do. */
export function state(hello: IHello, r: IRun | null, runs: boolean, more: string): ISaid {
  if (!hello.listens) {
    return { text: "no tracer", title: `ipytracer: no tracer listens; ${more}`, full: false };
  }
  if (hello.silent) {
    const title = `ipytracer: a tracer listens, but ${hello.silent}: it is stopped, or very busy`;
    return { text: "no answer", title, full: false };
  }
  const title = "ipytracer: a tracer listens; no cell has run yet that it tells of";
  return (r && memory(hello, r, runs)) ?? { text: "memory: –", title, full: false };
}

/** Returns the memory of a process after a run, or while it runs; null where the run does not have it. */
export function memory(of: ILimit, r: IRun, runs: boolean): ISaid | null {
  const f = together(r);
  if (!f) {
    return null;
  }
  const counted = limited(r, of) ?? f;
  const share = of.limit ? counted.end / of.limit : 0;
  const full = of.limit !== null && counted.peak >= FULL * of.limit;
  let text = `${runs ? "▶ " : ""}${full ? "! " : ""}${shown(f, "end")}`;
  text += of.limit ? ` of ${limitName(of)} · ${mark(counted, "end")}${percent(share)}` : "";
  const peak = `peak ${shown(f, "peak")}`;
  const when = runs ? "while a cell runs" : "after " + label(r);
  const title = `ipytracer: resident memory ${when}${r.children ? ", with its children" : ""}; ${peak}`;
  return { text, title, full };
}
