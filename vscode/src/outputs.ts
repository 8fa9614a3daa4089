// What the outputs of a cell carry: the figures that the companion puts beside the line under a cell. A notebook is a
// stranger's: sizes are bounded before anything is read, and each value is checked by figures.ts, as JupyterLab's
// extension does.

import { bag, ILimit, integer, IRun, orNull, PROTOCOL, run, text } from "../../python/labextension/src/figures";

export const MIME = "application/x-ipytracer+json";

const MOST_BYTES = 64 << 10; // of one item
const MOST_OUTPUTS = 200; // the last ones of a cell
const MOST_ITEMS = 20; // of one output

/** The figures of a cell; runs: it still runs. */
export interface ITold {
  run: IRun;
  runs: boolean;
  limit: ILimit;
}

interface IOutput {
  readonly items: readonly { readonly mime: string; readonly data: Uint8Array }[];
}

const known = new WeakMap<Uint8Array, ITold | null>();

/** Returns the figures of a cell's outputs, the last ones of several; null where none has any. */
export function told(outputs: readonly IOutput[]): ITold | null {
  for (let at = outputs.length - 1; at >= Math.max(0, outputs.length - MOST_OUTPUTS); at--) {
    const found = outputs[at].items.slice(0, MOST_ITEMS).find((item) => item.mime === MIME);
    const read = found && once(found.data);
    if (read) {
      return read;
    }
  }
  return null;
}

function once(data: Uint8Array): ITold | null {
  let read = known.get(data);
  if (read === undefined) {
    read = parsed(data);
    known.set(data, read);
  }
  return read;
}

function parsed(data: Uint8Array): ITold | null {
  if (data.byteLength > MOST_BYTES) {
    return null;
  }
  try {
    const line = bag(JSON.parse(new TextDecoder().decode(data)));
    if (line.protocol !== PROTOCOL) {
      return null;
    }
    const runs = "running" in line;
    const limit = { limit: orNull(integer, line.limit), limitOf: text(line.limit_of, 100) };
    return { run: run(runs ? line.running : line.cell, ""), runs, limit };
  } catch {
    return null; // another program's, or broken
  }
}
