// One cell: its figures, its source, and the memory at its peak, as graphs.
import { Detail } from "./block";
import { CELL, Session, estimated, figuresIn } from "./data";
import { button, figure, fill, h, size, table } from "./dom";
import { duration, plural, share } from "./format";
import { Flame, flame } from "./flame";
import { key, name } from "./list";
import { source } from "./source";
import { get, listen, set } from "./state";
import { byName } from "./names";
import { byOwnLine, treeOf } from "./tree";
import { treemap } from "./treemap";

let graph: Flame | null = null;
let sought = 0; // the line of the cell to show
const VIEWS: [string, string][] = [
  ["icicle", "Icicle"],
  ["flame", "Flame graph"],
  ["lines", "By line"],
  ["names", "By variable"],
  ["children", "Children"],
];

export function cell(): HTMLElement {
  const element = h("div", { class: "cell", tabindex: 0, role: "tabpanel", "aria-label": "Cell" });
  let chosen = -1; // the index of the chosen meter's detail
  let waits = false; // for its source
  const draw = () => {
    const { session: s, row, meter, view, query } = get();
    graph = null;
    if (row < 0) {
      fill(element, h("p", { class: "quiet" }, "No cell ran while the tracer was attached."));
      return;
    }
    const details = s.detailsOf(row);
    const detail = details.find((d) => d.meter === chosen) ?? best(s, details, meter);
    const pick = (d: Detail) => {
      chosen = d.meter;
      draw();
    };
    fill(
      element,
      title(s, row),
      ...s.remarksOf(row).map((r) => h("p", { class: "remark" }, "! " + r)),
      figures(s, row),
      s.kind(row) === CELL ? source(s, row, meter, detail, sought) : null,
      s.kind(row) === CELL ? atPeak(s, row, detail, details, view, pick) : null,
    );
    waits = s.source(row) === undefined;
    if (!waits) sought = 0;
    graphOf()?.search(query);
  };
  listen((changed) => {
    if (
      changed.has("row") ||
      changed.has("meter") ||
      changed.has("view") ||
      changed.has("session") ||
      (waits && changed.has("read"))
    )
      draw();
    else if (changed.has("query")) graphOf()?.search(get().query);
  });
  draw();
  return element;
}

const graphOf = (): Flame | null => graph;

/** Opens a cell, at a line. */
export function open(row: number, line = 0): void {
  if (row < 0) return;
  sought = line;
  if (get().row === row) set({ row: -1 });
  set({ row, tab: "cell" });
}

/** Returns the first meter to show: that of the page if it has blocks, else the largest except mapped memory. */
function best(s: Session, details: Detail[], meter: number): Detail | null {
  const own = details.find((d) => d.meter === meter);
  if (own) return own;
  const inner = details.filter((d) => s.page.meters[d.meter].id !== "cpu.mapped" && d.atPeak > 0);
  return (inner.length > 0 ? inner : details).reduce<Detail | null>(
    (b, d) => (!b || d.atPeak > b.atPeak ? d : b),
    null,
  );
}

function title(s: Session, row: number): HTMLElement {
  const status = s.status(row);
  return h(
    "h2",
    {},
    name(s, row),
    " ",
    status ? h("span", { class: "bad" }, "✗ " + status) : null,
    h("span", { class: "quiet" }, ` ${duration(s.duration(row))}, from +${duration(s.start(row))}`),
  );
}

function figures(s: Session, row: number): HTMLElement {
  const rows = s.moving().flatMap((m) => {
    const own = s.own(row, m),
      tree = s.tree(row, m);
    if (!own && !tree) return [];
    const line = (f: typeof own, label: string, which: "w" | "t") => [
      label,
      ...(["start", "need", "consumed", "peaked", "peak", "end"] as const).map((q) =>
        figure(f, q, key(s, row, m, which)),
      ),
    ];
    const label = s.page.meters[m].name;
    return tree ? [line(own, label, "w"), line(tree, label + " with children", "t")] : [line(own, label, "w")];
  });
  return h(
    "details",
    {},
    h("summary", {}, "Figures"),
    table(["meter", ">start", ">need", ">consumed", ">peaked", ">highest", ">end"], rows, "figures"),
  );
}

function atPeak(
  s: Session,
  row: number,
  detail: Detail | null,
  details: Detail[],
  view: string,
  pick: (d: Detail) => void,
): HTMLElement {
  const children = s.childrenOf(row);
  const tabs = h(
    "div",
    { class: "tabs", role: "tablist" },
    ...VIEWS.filter(([id]) => id !== "children" || children.length > 0).map(([id, text]) =>
      h(
        "button",
        { type: "button", role: "tab", "aria-selected": String(view === id), onclick: () => set({ view: id }) },
        text,
      ),
    ),
  );
  const meters = h(
    "div",
    { class: "tabs", role: "tablist" },
    ...details.map((d) =>
      h(
        "button",
        { type: "button", role: "tab", "aria-selected": String(d === detail), onclick: () => pick(d) },
        s.page.meters[d.meter].name,
      ),
    ),
  );
  const head = h("h3", {}, "At its highest moment");
  if (children.length > 0 && (view === "children" || (!detail && (view === "flame" || view === "icicle"))))
    return h("section", {}, head, tabs, childTable(s, row));
  if (view === "names") return h("section", {}, head, tabs, byName(s, row, open));
  if (!detail)
    return h(
      "section",
      {},
      head,
      tabs,
      h(
        "p",
        { class: "quiet" },
        s.cells.length > 300
          ? "Who allocated in this cell is not in this page: it is one of the lighter cells of a long session, " +
              "or no block was made in it."
          : "No block was made or freed in this cell: what was there is what earlier cells had left.",
      ),
    );
  return h(
    "section",
    {},
    head,
    h("div", { class: "tab-row" }, tabs, meters),
    graphOfDetail(s, row, detail, view),
    coverage(s, row, detail),
  );
}

function graphOfDetail(s: Session, row: number, d: Detail, view: string): HTMLElement {
  const own = s.own(row, d.meter),
    peak = own ? own.peak : d.atPeak;
  const title = `${s.label(row)} ${s.page.meters[d.meter].name}`;
  if (view === "lines") {
    const leaves = byOwnLine(s, d);
    return h(
      "div",
      {},
      treemap(leaves, title),
      leafTable(leaves, `leaf:${s.id(row)}:${s.page.meters[d.meter].id}`, estimated(d)),
    );
  }
  graph = flame(
    treeOf(s, d, peak, title),
    view !== "icicle",
    `match:${s.id(row)}:${s.page.meters[d.meter].id}`,
    estimated(d),
  );
  return graph.element;
}

function leafTable(leaves: { name: string; where: string; bytes: number }[], of: string, before: string): HTMLElement {
  const whole = leaves.reduce((n, l) => n + l.bytes, 0);
  return table(
    [">at the peak", ">share", "line", "file"],
    leaves
      .slice(0, 30)
      .map((l) => [size(l.bytes, of, before), share(l.bytes, whole), l.name, h("span", { class: "quiet" }, l.where)]),
  );
}

function coverage(s: Session, row: number, d: Detail): HTMLElement {
  const of = `cover:${s.id(row)}:${s.page.meters[d.meter].id}`;
  return h(
    "p",
    { class: "quiet" },
    size(d.atPeak, of + ":at_peak"),
    " of the peak are in blocks that are known",
    d.rest > 0 && "; ",
    d.rest > 0 && size(d.rest, of + ":rest"),
    d.rest > 0 && " are not: made before the attach, or lost",
    d.unlisted! > 0 && `; ${plural(d.unlisted!, "stack")} more, with `,
    d.unlisted! > 0 && size(d.unlistedAtPeak ?? 0, of + ":unlisted_at_peak"),
    d.sampled
      ? h("span", { class: "inexact" }, "; " + d.sampled)
      : !d.exact &&
          h("span", { class: "inexact" }, "; ≈ the lines do not add up to the byte: stacks or changes were missed"),
    !d.sampled && ".",
  );
}

function childTable(s: Session, row: number): HTMLElement {
  const meters = s.page.meters
    .map((_, i) => i)
    .filter(
      (m) =>
        !s.page.meters[m].part &&
        s.childrenOf(row).some((c) => figuresIn(c.figures).some((f) => f.meter === m && f.peak > 0)),
    );
  const rows = s.childrenOf(row).map((c) => {
    const all = figuresIn(c.figures);
    return [
      String(c.pid),
      ...meters.map((m) =>
        figure(all.find((f) => f.meter === m) ?? null, "peak", `c:${s.id(row)}:${c.pid}:${s.page.meters[m].id}`),
      ),
      s.page.texts[c.command],
    ];
  });
  const more = s.unlistedOf(row);
  return h(
    "div",
    {},
    h(
      "p",
      { class: "quiet" },
      "The highest of each in this cell. What forked processes share counts once in the figures with children.",
    ),
    table([">pid", ...meters.map((m) => ">" + s.page.meters[m].name), "process"], rows),
    more > 0 && h("p", { class: "quiet" }, `… and ${plural(more, "process", "processes")} more`),
  );
}

/** Returns the button that opens a cell, where it is in the page. */
export function opener(s: Session, pid: number, execution: number, text: string, line = 0): HTMLElement | string {
  const row = execution > 0 ? s.run(pid, execution) : -1;
  return row < 0 ? text : button(text, () => open(row, line), "open the cell", "link");
}
