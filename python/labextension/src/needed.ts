// What the cells of a notebook needed the last time, and how much is free now: asked of the companion after a cell has
// ended, and when a text has not changed for a moment.

import { CodeCell } from "@jupyterlab/cells";
import { IDisposable } from "@lumino/disposable";

import { bag, integer, list, text, truth } from "./figures";
import { Link } from "./link";
import { INeeded } from "./parts";

const CALM = 700; // ms without a change before the companion is asked
const MOST_CELLS = 200; // in one question: the companion's bounds
const MOST_CHARACTERS = 256 << 10;
const WORTH = 16 << 20; // bytes; a cell that needed less always runs

/** Returns the companion's answer, for each source that was sent. */
export function needs(value: unknown): (INeeded | null)[] {
  return list(value, MOST_CELLS).map((one) => {
    if (one === null) {
      return null;
    }
    const found = bag(one);
    const shown = { says: text(found.says), fits: truth(found.fits) };
    return shown.fits && integer(found.need) < WORTH ? null : shown;
  });
}

export class Needed implements IDisposable {
  /** changed: is called when there is an answer. */
  constructor(private _changed: () => void) {}

  get isDisposed(): boolean {
    return this._disposed;
  }

  dispose(): void {
    this._disposed = true;
    window.clearTimeout(this._timer);
  }

  /** Returns what a cell with that text needed, null where that is not known. */
  of(source: string): INeeded | null {
    return this._known.get(source) ?? null;
  }

  /** Takes in that a cell has ended, or that texts may have changed: the companion is asked, soon and once. */
  look(link: Link | null, cells: CodeCell[]): void {
    if (!link?.hello?.asks.includes("needed")) {
      this._known.clear();
      this._state = "";
      return;
    }
    const sources = texts(cells);
    const state = JSON.stringify([link.hello.session, link.current[link.current.length - 1]?.window ?? 0, sources]);
    if (state !== this._state) {
      this._state = state;
      window.clearTimeout(this._timer);
      this._timer = window.setTimeout(() => void this._ask(link, sources, state), CALM);
    }
  }

  private async _ask(link: Link, sources: string[], state: string): Promise<void> {
    if (this._disposed || sources.length === 0) {
      return;
    }
    try {
      const found = needs((await link.asks("needed", { sources })).needed);
      if (state !== this._state || this._disposed) {
        return; // an answer to another text
      }
      this._known = new Map(sources.map((source, i): [string, INeeded | null] => [source, found[i] ?? null]));
      this._changed();
    } catch {
      if (state === this._state) {
        this._state = ""; // it is asked again at the next change
      }
    }
  }

  private _known = new Map<string, INeeded | null>();
  private _state = "";
  private _timer = 0;
  private _disposed = false;
}

/** Returns the texts of cells, each once, within the bounds. */
function texts(cells: CodeCell[]): string[] {
  const found = new Set<string>();
  let left = MOST_CHARACTERS;
  for (const cell of cells) {
    const source = cell.model.sharedModel.getSource();
    if (found.size < MOST_CELLS && source.trim() && source.length <= left && !found.has(source)) {
      found.add(source);
      left -= source.length;
    }
  }
  return [...found];
}
