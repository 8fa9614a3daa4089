// Keys, and the list of them, and of words, that "?" shows.
import { fill, h } from "./dom";
import { heaviest, step } from "./list";
import { open } from "./cell";
import { get, set } from "./state";
import { glossary } from "./terms";

const KEYS: [string, string][] = [
  ["j  k", "the next, the previous cell"],
  ["g", "the cell of the highest moment"],
  ["h", "the heaviest cell"],
  ["/", "search; Escape leaves it"],
  ["m", "the next meter"],
  ["1 – 7", "cell, advice, leaks, variables, lines, processes, certificate"],
  ["f i l v", "flame graph, icicle, by line, by variable"],
  ["+  −  0", "zoom the timeline in, out, all of it; ← → move it while it has the focus"],
  ["d", "dark, light, as the system has it"],
  ["arrows, Enter, Escape", "in a graph: move, zoom in, zoom out"],
  ["?", "this list"],
];

const words = h("div");
const dialog = h(
  "dialog",
  { class: "help" },
  h("h2", {}, "Keys"),
  h("table", {}, ...KEYS.map(([k, text]) => h("tr", {}, h("td", {}, h("kbd", {}, k)), h("td", {}, text)))),
  h("details", {}, h("summary", {}, "What the words mean"), words),
  h("form", { method: "dialog" }, h("button", {}, "Close")),
);

/** The actions of keys. */
export interface Actions {
  theme(): void;
  search: HTMLInputElement;
  tabs: string[];
  zoom(by: number): void;
}

export function help(): void {
  fill(words, glossary());
  if (!dialog.open) dialog.showModal();
}

export function keys(a: Actions): HTMLElement {
  dialog.querySelector("form")!.addEventListener("submit", (e) => {
    e.preventDefault();
    dialog.close();
  });
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const typing = e.target instanceof HTMLInputElement || e.target instanceof HTMLSelectElement;
    if (typing) {
      if (e.key === "Escape") {
        a.search.value = "";
        set({ query: "" });
        a.search.blur();
      }
      return;
    }
    const { session: s, meter } = get();
    const moving = s.moving().filter((m) => !s.page.meters[m].part);
    const does: Record<string, () => void> = {
      j: () => step(1),
      k: () => step(-1),
      g: () => open(s.row(s.page.summit)),
      h: () => open(heaviest()),
      "/": () => a.search.focus(),
      "?": help,
      d: a.theme,
      m: () => set({ meter: moving[(moving.indexOf(meter) + 1) % moving.length] ?? 0 }),
      f: () => set({ view: "flame" }),
      i: () => set({ view: "icicle" }),
      l: () => set({ view: "lines" }),
      v: () => set({ view: "names" }),
      "+": () => a.zoom(0.5),
      "=": () => a.zoom(0.5),
      "-": () => a.zoom(2),
      "0": () => a.zoom(0),
    };
    a.tabs.forEach((tab, i) => {
      does[String(i + 1)] = () => set({ tab });
    });
    if (!Object.hasOwn(does, e.key)) return;
    e.preventDefault();
    does[e.key]();
  });
  return dialog;
}
