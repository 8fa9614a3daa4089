// Which run belongs to which cell: a cell is known by its id; one that ran before the companion was loaded, or in a
// front end that sends no ids, by its text, if only one cell has that text.

import { IRun } from "./figures";
import { ISum, sum } from "./source";

/** A cell of a notebook. */
export interface ICell {
  id: string;
  text: string;
}

/** The known runs of one cell: the last one, and the one before. */
export interface IPair {
  last: IRun;
  previous: IRun | null;
}

/** Returns the last runs of the cells of a notebook, by the cells' ids; runs are in the order in which they began. */
export function pairs(runs: readonly IRun[], cells: () => ICell[]): Map<string, IPair> {
  const found = new Map<string, IPair>();
  const byText = runs.some((r) => r.cell === null) ? uniqueTexts(cells()) : new Map<string, string>();
  for (const r of runs) {
    const id = r.cell ?? byText.get(`${r.crc}:${r.length}`);
    if (id !== undefined) {
      found.set(id, { last: r, previous: found.get(id)?.last ?? null });
    }
  }
  return found;
}

function uniqueTexts(cells: ICell[]): Map<string, string> {
  const found = new Map<string, string>();
  const twice = new Set<string>();
  for (const cell of cells) {
    const { crc, length } = sum(cell.text);
    const key = `${crc}:${length}`;
    if (found.has(key)) {
      twice.add(key);
    }
    found.set(key, cell.id);
  }
  twice.forEach((key) => found.delete(key));
  return found;
}

/** Reports whether a run's text is that one, as far as it is known. */
export function same(r: IRun, now: ISum): boolean {
  return r.crc === null || (r.crc === now.crc && r.length === now.length);
}
