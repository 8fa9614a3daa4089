// Elements of the page. All content of the session enters the page through here: as text, never as markup.
import { Figure, Quantity, bytes, mark, shown, sureness } from "./format";
import { word } from "./terms";

type Content = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | ((e: any) => void)>;

/** Returns an element with attributes, functions for events (onclick), and content. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...content: Content[]
): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag);
  for (const name of Object.keys(attributes)) {
    const value = attributes[name];
    if (typeof value === "function") e.addEventListener(name.slice(2), value);
    else if (value === true) e.setAttribute(name, "");
    else if (value !== false) e.setAttribute(name, String(value));
  }
  for (const one of content) if (one !== null && one !== undefined && one !== false) e.append(one);
  return e;
}

/**
 * Empties an element and fills it anew. A control in it that had the focus is drawn anew, too: the control that has its
 * place now gets the focus, so that the next key goes there.
 */
export function fill(e: Element, ...content: Content[]): void {
  const before = document.activeElement,
    at = before && before !== e && e.contains(before) ? controls(e).indexOf(before) : -1;
  e.replaceChildren(...content.filter((c): c is Node | string => c !== null && c !== undefined && c !== false));
  const now = at < 0 ? undefined : controls(e)[at];
  if (now instanceof HTMLElement && now.tagName === before!.tagName) now.focus({ preventScroll: true });
}

/** Returns what can have the focus in an element, in order. */
const controls = (e: Element): Element[] => [...e.querySelectorAll("button, select, input, summary, [tabindex]")];

/** Returns a size. of: the number of the report's JSON that it shows; the tests of the page compare them. */
export function size(n: number, of: string, before = "", title = ""): HTMLElement {
  return h(
    "span",
    {
      class: before ? "size inexact" : "size",
      "data-bytes": n,
      "data-of": of,
      title: title || `${n.toLocaleString("en")} bytes`,
    },
    before + bytes(n),
  );
}

/** Returns a quantity of a figure, with its mark. */
export function figure(f: Figure | null, q: Quantity, of: string): HTMLElement {
  if (!f) return h("span", { class: "size none", title: "no figure" }, "–");
  const n = f[q];
  return h(
    "span",
    {
      class: f.off ? "size inexact" : n === 0 ? "size zero" : "size",
      "data-bytes": n,
      "data-of": `${of}:${q}`,
      "data-mark": mark(f, q),
      title: `${n.toLocaleString("en")} bytes, ${sureness(f, q)}`,
    },
    shown(f, q),
  );
}

/** Returns a bar: a share of the whole, and within it the part that stayed. The figures stand beside it. */
export function bar(whole: number, need: number, consumed: number): HTMLElement {
  const width = (n: number) => `${whole > 0 ? Math.max(0, Math.min(100, (100 * n) / whole)) : 0}%`;
  const outer = h("span", { class: "bar", "aria-hidden": "true" });
  const peak = h("span", { class: "bar-need" }),
    kept = h("span", { class: "bar-kept" });
  peak.style.width = width(need);
  kept.style.width = width(Math.min(consumed, need));
  outer.append(peak, kept);
  return outer;
}

export function button(text: string, does: () => void, title = "", kind = ""): HTMLButtonElement {
  return h("button", { type: "button", class: kind, title, onclick: does }, text);
}

/** Returns a table; cells are text or elements. Columns that begin with ">" are numbers. */
export function table(columns: string[], rows: Content[][], kind = ""): HTMLTableElement {
  const right = columns.map((c) => c.startsWith(">"));
  return h(
    "table",
    { class: kind },
    h(
      "thead",
      {},
      h("tr", {}, ...columns.map((c, i) => word("th", right[i] ? c.slice(1) : c, right[i] ? "number" : ""))),
    ),
    h(
      "tbody",
      {},
      ...rows.map((r) => h("tr", {}, ...r.map((c, i) => h("td", { class: right[i] ? "number" : "" }, c)))),
    ),
  );
}
