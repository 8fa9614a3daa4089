// The list of cells and of the times between them: only the rows that can be seen are elements.
import { BETWEEN, CELL, EXPERIMENT, Session } from "./data";
import { bar, button, figure, fill, h, size } from "./dom";
import { duration, plural } from "./format";
import { get, listen, set } from "./state";
import { meaning, word } from "./terms";

const ROW = 30; // pixels, as in style.css
type Order = "need" | "time" | "consumed";
let order: Order = "need";
let rows: number[] = [];
let most = 0;

const body = h("div", { class: "list-rows", role: "presentation" });
const scroller = h(
  "div",
  { class: "list-scroll", tabindex: 0, role: "listbox", "aria-label": "cells", onscroll: () => draw() },
  body,
);
const summary = h("p", { class: "quiet list-summary", "aria-live": "polite" });
const heading = h("div", { class: "list-head" });

export function list(): HTMLElement {
  listen((changed) => {
    if (changed.has("session") || changed.has("meter") || changed.has("query")) arrange();
    else if (changed.has("row")) {
      reveal();
      draw();
    } else if (changed.has("read")) {
      if (get().query === "") draw();
      else arrange();
    }
  });
  scroller.addEventListener("keydown", keys);
  new ResizeObserver(() => draw()).observe(scroller);
  const element = h("section", { class: "list", "aria-label": "Cells" }, heading, scroller, summary);
  arrange();
  return element;
}

/** Returns the label of a row of the list. */
export function name(s: Session, row: number): string {
  const label = s.label(row).replace(/^between (.*) and .*$/, "after $1");
  return s.pids.length > 1 ? `${label} · pid ${s.pid(row)}` : label;
}

export function firstLine(s: Session, row: number): string {
  if (s.kind(row) === BETWEEN) return "(no cell ran: hooks, threads, timers)";
  const source = s.source(row);
  if (source === undefined) return "…"; // it is still being read
  const text = source
    .split("\n")
    .map((l) => l.trim())
    .filter((l) => l !== "")
    .join(" ⏎ ");
  return text.length > 200 ? text.slice(0, 200) + "…" : text;
}

/** Returns the rows to show, in their order. */
function arrange(): void {
  const { session: s, meter, query } = get();
  const all = [
    ...s.cells,
    ...s.experiments,
    ...s.between.filter((row) => moved(s, row, meter) && (s.pids.length === 0 || s.pids.includes(s.pid(row)))),
  ];
  const wanted = query.toLowerCase();
  rows =
    wanted === ""
      ? all
      : all.filter((row) =>
          ((s.source(row) ?? "") + "\n" + s.label(row) + "\n" + s.status(row)).toLowerCase().includes(wanted),
        );
  const weight = (row: number) => (order === "consumed" ? (s.own(row, meter)?.consumed ?? 0) : s.weight(row, meter));
  if (order === "time") rows.sort((a, b) => s.start(a) - s.start(b) || a - b);
  else {
    const of = new Map(rows.map((row) => [row, weight(row)]));
    rows.sort((a, b) => of.get(b)! - of.get(a)! || s.start(a) - s.start(b));
  }
  most = all.reduce((m, row) => Math.max(m, s.kind(row) === EXPERIMENT ? 0 : s.weight(row, meter)), 0);
  head();
  const cells = rows.filter((row) => s.kind(row) === CELL).length;
  const consumed = rows.reduce(
    (sum, row) => sum + (s.kind(row) === EXPERIMENT ? 0 : (s.own(row, meter)?.consumed ?? 0)),
    0,
  );
  fill(
    summary,
    wanted === "" ? plural(cells, "cell") : `${plural(cells, "cell")} of ${s.cells.length} match, together `,
    wanted !== "" && size(consumed, "sum:consumed"),
    wanted !== "" && " consumed",
  );
  body.style.height = rows.length * ROW + "px";
  draw();
}

function moved(s: Session, row: number, meter: number): boolean {
  const f = s.own(row, meter);
  return !!f && (f.need !== 0 || f.consumed !== 0);
}

function head(): void {
  const sort = (by: Order, text: string, title: string) =>
    h(
      "button",
      {
        type: "button",
        class: "column",
        "aria-pressed": String(order === by),
        title,
        onclick: () => {
          order = by;
          arrange();
        },
      },
      text + (order === by ? " ▾" : ""),
    );
  fill(
    heading,
    sort("time", "cell", "in the order they ran"),
    h("span", {}, ""),
    sort("need", "need", meaning("need")),
    sort("consumed", "consumed", meaning("consumed")),
    word("span", "total", "number"),
    word("span", "time", "number"),
    word("span", "source"),
  );
}

/** Puts the rows that can be seen into the list. */
function draw(): void {
  const { session: s, meter, row: chosen } = get();
  const first = Math.max(0, Math.floor(scroller.scrollTop / ROW) - 4);
  const last = Math.min(rows.length, Math.ceil((scroller.scrollTop + Math.max(400, scroller.clientHeight)) / ROW) + 4);
  const shown: HTMLElement[] = [];
  for (let i = first; i < last; i++) shown.push(one(s, rows[i], meter, i, rows[i] === chosen));
  fill(body, ...shown);
  const at = rows.indexOf(chosen);
  if (at >= first && at < last) scroller.setAttribute("aria-activedescendant", "row-" + chosen);
  else scroller.removeAttribute("aria-activedescendant");
}

function one(s: Session, row: number, meter: number, at: number, chosen: boolean): HTMLElement {
  const own = s.own(row, meter),
    tree = s.tree(row, meter);
  const heavier = tree && tree.need > (own?.need ?? 0) ? tree : own;
  const of = key(s, row, meter, heavier === tree && tree ? "t" : "w");
  const status = s.status(row);
  const e = h(
    "div",
    {
      class: `row kind-${s.kind(row)}${chosen ? " chosen" : ""}`,
      role: "option",
      id: "row-" + row,
      "aria-selected": String(chosen),
      "data-row": row,
      onclick: () => set({ row, tab: "cell" }),
    },
    h("span", { class: "row-name" }, (s.kind(row) === EXPERIMENT ? "⚑ " : status ? "✗ " : "") + name(s, row)),
    bar(most, heavier?.need ?? 0, heavier?.consumed ?? 0),
    h(
      "span",
      { class: "number" },
      heavier === tree && tree ? h("span", { class: "quiet", title: "with its children" }, "Σ ") : null,
      figure(heavier, "need", of),
    ),
    h("span", { class: "number" }, figure(own, "consumed", key(s, row, meter, "w"))),
    h("span", { class: "number" }, figure(own, "end", key(s, row, meter, "w"))),
    h("span", { class: "number quiet" }, duration(s.duration(row))),
    h("span", { class: "row-source" }, status ? h("span", { class: "bad" }, status + " · ") : null, firstLine(s, row)),
  );
  e.style.transform = `translateY(${at * ROW}px)`;
  return e;
}

/**
 * Returns the number of the report's JSON that a figure shows: of a window by its id, between cells by process and
 * start.
 */
export function key(s: Session, row: number, meter: number, which: "w" | "t"): string {
  const id = s.page.meters[meter]?.id ?? "";
  return s.kind(row) === BETWEEN ? `b:${s.pid(row)}:${s.start(row)}:${id}` : `${which}:${s.id(row)}:${id}`;
}

function reveal(): void {
  const at = rows.indexOf(get().row);
  if (at < 0) return;
  if (at * ROW < scroller.scrollTop) scroller.scrollTop = at * ROW;
  else if ((at + 1) * ROW > scroller.scrollTop + scroller.clientHeight)
    scroller.scrollTop = (at + 1) * ROW - scroller.clientHeight;
}

/** Chooses the row at a distance below the chosen one. */
export function step(by: number): void {
  if (rows.length === 0) return;
  const at = rows.indexOf(get().row);
  set({ row: rows[Math.max(0, Math.min(rows.length - 1, at + by))], tab: "cell" });
}

export const heaviest = (): number => rows[0] ?? -1;

function keys(e: KeyboardEvent): void {
  const page = Math.max(1, Math.floor(scroller.clientHeight / ROW) - 1);
  const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[e.key];
  if (by === undefined) return;
  e.preventDefault();
  e.stopPropagation();
  if (Number.isFinite(by)) step(by);
  else set({ row: rows[by < 0 ? 0 : rows.length - 1] ?? -1, tab: "cell" });
}

/** Returns all rows as a table, for printing. */
export function printed(): HTMLElement {
  const { session: s, meter } = get();
  const few = rows.slice(0, 200);
  return h(
    "div",
    { class: "printed" },
    h("h2", {}, "Cells, by what they need"),
    ...few.map((row) => {
      const own = s.own(row, meter),
        tree = s.tree(row, meter),
        together = tree !== null && tree.need > (own?.need ?? 0);
      return h(
        "p",
        {},
        h("b", {}, name(s, row)),
        " need ",
        figure(together ? tree : own, "need", key(s, row, meter, together ? "t" : "w")),
        together && " with its children",
        " · consumed ",
        figure(own, "consumed", key(s, row, meter, "w")),
        " · " + duration(s.duration(row)) + " · " + firstLine(s, row),
      );
    }),
    rows.length > few.length && h("p", {}, `… and ${plural(rows.length - few.length, "more row")}`),
  );
}

export const more = (text: string, does: () => void): HTMLElement => button(text, does, "", "link");
