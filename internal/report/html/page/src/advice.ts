// Changes of the notebook's source that would lower its highest moment.
import { Piece } from "./block";
import { opener } from "./cell";
import { Session } from "./data";
import { h, size } from "./dom";
import { code } from "./free";

/** Draws the section Advice. */
export function advice(s: Session): HTMLElement {
  const a = s.page.advice;
  if (!a)
    return h(
      "p",
      {},
      "Nobody looked for advice in this page: ",
      h("code", {}, "tracer advise FILE"),
      " of a recording does.",
    );
  return h(
    "div",
    {},
    h("h2", {}, a.highest),
    a.none ? h("p", {}, a.none) : null,
    ...a.items.map((item, i) => piece(s, item, i)),
    a.left ? h("p", { class: "quiet" }, "… and " + a.left) : null,
    a.not.length > 0 && h("h3", {}, "Not considered"),
    a.not.length > 0 && h("ul", {}, ...a.not.map((t) => h("li", {}, t))),
  );
}

function piece(s: Session, p: Piece, at: number): HTMLElement {
  const row = (name: string, ...value: (Node | string)[]) => [h("dt", {}, name), h("dd", {}, ...value)];
  return h(
    "article",
    { class: "verdict" },
    h("h3", {}, `${at + 1}. `, size(p.saves, `advice:${at}:saves`), " lower"),
    h("p", {}, p.title),
    p.diff ? diff(p.diff) : null,
    h(
      "dl",
      {},
      ...row("line", opener(s, p.pid, p.execution, p.place, p.line)),
      ...row("sure", p.how),
      ...row("then", size(p.peak, `advice:${at}:peak`), p.then ? " · " + p.then : ""),
      ...p.changes.flatMap((t) => row("changes", t)),
      ...p.unknown.flatMap((t) => row("not known", t)),
      ...(p.try ? row("try it", code(p.try)) : []),
    ),
  );
}

/** Returns a diff, its lines marked as put in or taken out. */
function diff(text: string): HTMLElement {
  const lines = text.replace(/\n$/, "").split("\n");
  const kind = (l: string) => (/^(---|\+\+\+|@@)/.test(l) ? "at" : l[0] === "+" ? "in" : l[0] === "-" ? "out" : "same");
  return h(
    "pre",
    { class: "diff", tabindex: 0, role: "group", "aria-label": "the change" },
    ...lines.map((l) => h("span", { class: kind(l) }, l + "\n")),
  );
}
