// Results of a look at a kernel's objects: its variables, and the memory that stays behind. They are checked before
// anything is made of them, as all data from the kernel. A look takes a while: the kernel is asked again and again, and
// never waits itself.

import { JSONObject } from "@lumino/coreutils";

import { bag, integer, list, text, truth } from "./figures";
import { Link } from "./link";

const MOST_ROWS = 200;
const MOST_ENTRIES = 60;
const MOST_LINES = 40; // of an entry
const MOST_SAID = 1000; // characters
const FIRST_PAUSE = 200; // ms between two questions whether it has ended
const LONGEST_PAUSE = 1000;

/**
 * A name. alone says in words how much would be freed with it. Sizes are in bytes. execution is the run of the cell
 * that made it, or 0.
 */
export interface IVariable {
  name: string;
  alone: string;
  bytes: number;
  reaches: number;
  device: number;
  exact: boolean;
  type: string;
  shaped: string;
  made: string;
  execution: number;
}

export interface IVariables {
  rows: IVariable[];
  notes: string[];
}

/** Memory that stays behind, in words; execution: the run of the cell to change, 0: none. */
export interface IEntry {
  title: string;
  size: string;
  rows: [string, string][];
  execution: number;
}

export interface IAudit {
  head: string;
  entries: IEntry[];
  rest: string[];
}

export function variables(value: unknown): IVariables {
  const v = bag(value);
  const rows = list(v.rows, MOST_ROWS).map((one) => {
    const row = bag(one);
    return {
      name: text(row.name),
      alone: text(row.alone, 60),
      bytes: integer(row.bytes),
      reaches: integer(row.reaches),
      device: integer(row.device),
      exact: truth(row.exact),
      type: text(row.type),
      shaped: text(row.shaped),
      made: text(row.made),
      execution: integer(row.execution),
    };
  });
  return { rows, notes: list(v.notes, 10).map((n) => text(n, MOST_SAID)) };
}

export function audit(value: unknown): IAudit {
  const a = bag(value);
  const entries = list(a.entries, MOST_ENTRIES).map((one) => {
    const e = bag(one);
    const rows = list(e.rows, MOST_LINES).map((row): [string, string] => {
      const [name, said] = list(row, 2);
      return [text(name, 60), text(said, MOST_SAID)];
    });
    return { title: text(e.title), size: text(e.size), rows, execution: integer(e.execution) };
  });
  return { head: text(a.head, MOST_SAID), entries, rest: list(a.rest, 20).map((n) => text(n, MOST_SAID)) };
}

/**
 * Has the tracer look at a kernel's objects. goes reports whether the look is still wanted; said gets a text while it
 * takes its time.
 */
export async function look<T>(
  link: Link,
  what: string,
  read: (value: unknown) => T,
  key: string,
  goes: () => boolean,
  said: (text: string) => void,
): Promise<T | null> {
  let more: JSONObject = {};
  for (let pause = FIRST_PAUSE; goes(); pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    const data = await link.asks(what, more);
    if (!("looking" in data)) {
      return read(data[key]);
    }
    more = { look: integer(data.looking) };
    const wait = integer(data.wait_ns);
    said(
      wait > 0
        ? `… looks have taken their share of the time: the next begins in ${Math.ceil(wait / 1e9)} s`
        : "… looking",
    );
    await new Promise((done) => window.setTimeout(done, pause));
  }
  return null;
}
