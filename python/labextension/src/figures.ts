// The kernel's messages, checked: the data of a notebook's process is untrusted, so types, numbers and lengths are
// bounded before anything is made of them, and text is only ever shown as text.

import { Figure } from "../../../internal/words/web/figures";

export const TARGET = "ipytracer";
export const PROTOCOL = "ipytracer/lab/v1";

/** One run of a cell: the tracer's window, and the notebook's cell that it belongs to. */
export interface IRun {
  session: string;
  window: number;
  execution: number;
  count: number | null;
  status: string;
  error: string;
  note: string;
  start: number;
  duration: number;
  source: string;
  asks: boolean; // it only asks about other cells
  children: number;
  meters: Map<string, Figure>;
  tree: Map<string, Figure>;
  where: Map<string, string>;
  cell: string | null;
  crc: number | null;
  length: number | null;
}

/** What a process may have, in bytes, null where nothing limits it, and whose limit it is. */
export interface ILimit {
  limit: number | null;
  limitOf: string;
}

/** The tracer at the other end. */
export interface IHello extends ILimit {
  session: string;
  listens: boolean;
  command: string;
  todo: string; // advice where no tracer listens
  starts: boolean; // a server would begin a session
  silent: string; // why a tracer does not answer, '' for nothing
  tracer: string | null;
  pid: number | null; // as the tracer sees it
  asks: string[]; // the questions that it answers
}

/** A table that the companion has made: cells are text; executions has the execution of each row's cell (0: none). */
export interface ITable {
  head: string[];
  rows: string[][];
  executions: number[];
  note: string;
}

const MOST_METERS = 64;
const MOST_TEXT = 500;
const MOST_ROWS = 500;
const MOST_COLUMNS = 16;

type Bag = { [key: string]: unknown };

export function bag(value: unknown): Bag {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error("no object");
  }
  return value as Bag;
}

export function list(value: unknown, most: number): unknown[] {
  if (!Array.isArray(value)) {
    throw new Error("no list");
  }
  return value.slice(0, most);
}

export function integer(value: unknown): number {
  if (!Number.isSafeInteger(value)) {
    throw new Error("no integer");
  }
  return value as number;
}

export function text(value: unknown, most = MOST_TEXT): string {
  if (typeof value !== "string") {
    throw new Error("no text");
  }
  return value.length > most ? value.slice(0, most - 1) + "…" : value;
}

export function truth(value: unknown): boolean {
  if (typeof value !== "boolean") {
    throw new Error("neither true nor false");
  }
  return value;
}

export function orNull<T>(check: (value: unknown) => T, value: unknown): T | null {
  return value === null || value === undefined ? null : check(value);
}

function figure(value: unknown): Figure {
  const f = bag(value);
  const [start, peak] = [integer(f.start), integer(f.peak)];
  const bound = orNull(integer, f.bound);
  return {
    start,
    peak,
    end: integer(f.end),
    need: peak - start,
    consumed: integer(f.consumed),
    peaked: integer(f.peaked),
    off: truth(f.exact) ? 0 : bound !== null && bound > 0 ? bound : -1,
  };
}

function mapped<T>(check: (value: unknown) => T, value: unknown): Map<string, T> {
  const entries = Object.entries(bag(value)).slice(0, MOST_METERS);
  return new Map(entries.map(([meter, one]): [string, T] => [text(meter, 64), check(one)]));
}

/** Returns a run from a companion's message; throws where it breaks the protocol. */
export function run(value: unknown, session: string): IRun {
  const r = bag(value);
  return {
    session,
    window: integer(r.window),
    execution: integer(r.execution),
    count: orNull(integer, r.execution_count),
    status: text(r.status, 20),
    error: text(r.error),
    note: text(r.note),
    start: integer(r.start_ns),
    duration: integer(r.duration_ns),
    source: text(r.source),
    asks: r.asks === true,
    children: integer(r.children),
    meters: mapped(figure, r.meters),
    tree: mapped(figure, r.tree),
    where: mapped((v) => text(v), r.where),
    cell: orNull((v) => text(v, 64), r.cell),
    crc: orNull(integer, r.crc),
    length: orNull(integer, r.length),
  };
}

export function hello(value: unknown): IHello {
  const h = bag(value);
  if (h.protocol !== PROTOCOL) {
    throw new Error("another protocol");
  }
  return {
    session: text(h.session, 64),
    listens: truth(h.listens),
    command: text(h.command),
    todo: h.todo === undefined ? `in a terminal, type: ${text(h.command)}` : text(h.todo), // of an older companion
    starts: h.starts === true,
    silent: h.silent === undefined ? "" : text(h.silent),
    tracer: orNull((v) => text(v), h.tracer),
    pid: orNull(integer, h.pid),
    limit: orNull(integer, h.limit),
    limitOf: text(h.limit_of),
    asks: list(h.asks, 16).map((a) => text(a, 20)),
  };
}

export function table(value: unknown): ITable {
  const t = bag(value);
  const head = list(t.head, MOST_COLUMNS).map((h) => text(h));
  const rows = list(t.rows, MOST_ROWS).map((row) => list(row, head.length).map((c) => text(c)));
  const executions = list(t.executions, rows.length).map(integer);
  return { head, rows, executions, note: text(t.note, 2000) };
}
