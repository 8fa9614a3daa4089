// What the companion really sends: of python/tests/front_end.py, where it runs beside a fake tracer.

import { readFileSync } from "node:fs";

type Bundle = Record<string, any>;

export interface ISent {
  once: Bundle[];
  again: Bundle[];
  long: Bundle[];
  comm: { opened: Bundle[]; ran: Bundle[] };
}

/** Returns what was sent, another copy each time. */
export function companion(): ISent {
  return JSON.parse(readFileSync(process.env.COMPANION!, "utf8"));
}
