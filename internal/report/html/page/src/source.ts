// The source of a cell, with the need of each line and the part of the cell's peak that the line made.
import { Detail } from "./block";
import { MeterFigure, Session, estimated } from "./data";
import { bar, button, figure, h, size } from "./dom";
import { highlight } from "./highlight";
import { key } from "./list";
import { byLine } from "./tree";

const MANY = 400; // lines that are shown at once

/** Returns the source of a row's cell; figures of statements are of a meter, those of blocks of a detail. */
export function source(s: Session, row: number, meter: number, detail: Detail | null, line: number): HTMLElement {
  const text = s.source(row);
  if (text === undefined) return h("p", { class: "quiet" }, "…"); // it is still being read
  if (text === "") return h("p", { class: "quiet" }, "The source is not in this page.");
  const lines = highlight(text);
  const statements = new Map<number, number>(); // the heaviest of each line
  for (const one of s.statementsOf(row)) {
    const before = statements.get(s.line(one));
    if (before === undefined || s.weight(one, meter) > s.weight(before, meter)) statements.set(s.line(one), one);
  }
  const made = detail ? byLine(s, detail, s.execution(row)) : new Map<number, number>();
  const most = [...statements.values()].reduce((m, one) => Math.max(m, s.weight(one, meter)), 0);
  const summit = summitOf(s, row, meter);
  const id = detail ? s.page.meters[detail.meter].id : "";
  const body = h("tbody");
  const put = (from: number, to: number) => {
    for (let i = from; i < to; i++) {
      const one = statements.get(i + 1),
        bytes = made.get(i + 1);
      const tree = one === undefined ? null : s.tree(one, meter),
        own = one === undefined ? null : s.own(one, meter);
      const heavier = tree && tree.need > (own?.need ?? 0) ? tree : own;
      body.append(
        h(
          "tr",
          { class: i + 1 === line ? "sought" : one !== undefined && one === summit ? "summit" : "" },
          h("td", { class: "number quiet" }, String(i + 1)),
          h("td", {}, one !== undefined ? bar(most, heavier?.need ?? 0, heavier?.consumed ?? 0) : null),
          h(
            "td",
            { class: "number" },
            one !== undefined && one === summit
              ? h("span", { title: "where the cell rose to its highest" }, "▲ ")
              : null,
            one !== undefined
              ? figure(heavier, "need", key(s, one, meter, heavier === tree && tree ? "t" : "w"))
              : null,
          ),
          h(
            "td",
            { class: "number" },
            bytes ? size(bytes, `line:${s.id(row)}:${id}:${i + 1}`, estimated(detail)) : null,
          ),
          h("td", { class: "code" }, ...lines[i].map(([t, kind]) => (kind ? h("span", { class: "t-" + kind }, t) : t))),
        ),
      );
    }
  };
  const name = detail ? s.page.meters[detail.meter].name : "";
  const table = h(
    "table",
    { class: "source" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("td"),
        h("td"),
        h(
          "th",
          { class: "number", title: `${s.page.meters[meter]?.name}: highest − start while the statement ran` },
          "need",
        ),
        detail
          ? h(
              "th",
              { class: "number", title: `of ${name}: there at the cell's peak, made by this line and all it called` },
              name + " at peak",
            )
          : h("td"),
        h("td"),
      ),
    ),
    body,
  );
  put(0, Math.min(lines.length, MANY));
  const rest = lines.length - MANY;
  const more: HTMLElement | null =
    rest > 0
      ? button(
          `${rest} more lines`,
          () => {
            put(MANY, lines.length);
            more!.remove();
          },
          "",
          "link",
        )
      : null;
  const hooks = s.statementsOf(row).filter((one) => s.line(one) === 0 && s.weight(one, meter) > 0);
  return h(
    "div",
    { class: "source-box", tabindex: 0, role: "group", "aria-label": "source" },
    table,
    more,
    s.isCut(row) && h("p", { class: "quiet" }, "… the source goes on; it is cut here."),
    ...hooks.map((one) =>
      h("p", { class: "quiet" }, s.label(one) + ": need ", figure(s.own(one, meter), "need", key(s, one, meter, "w"))),
    ),
  );
}

/**
 * Returns the statement in which a cell rose to its highest, or -1: as in the text report, the first that came within a
 * tenth of the cell's need.
 */
export function summitOf(s: Session, row: number, meter: number): number {
  const own = s.own(row, meter),
    tree = s.tree(row, meter),
    together = (tree?.need ?? 0) > (own?.need ?? 0),
    weight = s.weight(row, meter);
  const of = (one: number): MeterFigure | null => {
    const alone = s.own(one, meter),
      all = s.tree(one, meter);
    return together || (all?.need ?? 0) > (alone?.need ?? 0) ? (all ?? alone) : alone;
  };
  const whole = together ? tree : own;
  if (!whole || weight <= 0) return -1;
  const least = whole.peak - weight / 10;
  return (
    s.statementsOf(row).find((one) => {
      const f = of(one);
      return f !== null && f.need > 0 && f.peak >= least;
    }) ?? -1
  );
}
