// The page: a headline, the timeline, the list of cells, and beside it the chosen cell or another part of the report.
import { Session } from "./data";
import { button, fill, h } from "./dom";
import { tip } from "./canvas";
import { cell, open } from "./cell";
import { plural, duration } from "./format";
import { help, keys } from "./keys";
import { live } from "./live";
import { list, printed, heaviest } from "./list";
import { sections } from "./sections";
import { timeline } from "./timeline";
import { more, pause, read, sources } from "./read";
import { word } from "./terms";
import { begin, get, listen, remember, remembered, set } from "./state";

function headline(s: Session): HTMLElement {
  const p = s.page;
  return h(
    "section",
    { class: "headline", "aria-label": "In short" },
    h(
      "dl",
      {},
      ...p.answers.flatMap(([question, text]) => [
        word("dt", question),
        h(
          "dd",
          { class: question === "highest" ? "first" : "" },
          ...linked(s, text, question === "highest" ? s.row(p.summit) : -1),
        ),
      ]),
    ),
    p.answers.length === 0 &&
      h("p", {}, s.cells.length === 0 ? "No cell ran while the tracer was attached." : "No figures."),
  );
}

/**
 * Returns a text with links that open the cells it names, at the lines it names. whole: the subject of the whole text.
 */
function linked(s: Session, text: string, whole: number): (HTMLElement | string)[] {
  if (whole >= 0) {
    const line = Number(/ line (\d+)/.exec(text)?.[1] ?? 0);
    return [button(text, () => open(whole, line), "open the cell", "link")];
  }
  return text.split(/(In\[\d+\](?:,? line \d+)?|tracer audit)/).map((part, i) => {
    if (i % 2 && part === "tracer audit")
      return s.page.audit ? button(part, () => set({ tab: "leaks" }), "its verdicts are under Leaks", "link") : part;
    const [, label, line] = /^(In\[\d+\])(?:,? line (\d+))?$/.exec(part) ?? [],
      row = i % 2 ? s.labelled(label) : -1;
    return row < 0 ? part : button(part, () => open(row, Number(line ?? 0)), "open the cell", "link");
  });
}

function about(s: Session): string {
  const kernels = s.page.processes.filter((p) => s.pids.includes(p.pid) || (s.pids.length === 0 && p.parent === 0));
  return [
    plural(s.cells.length, "cell") + " in " + duration(s.page.length),
    ...kernels.slice(0, 3).map((p) => `pid ${p.pid}${p.python ? " Python " + p.python : ""}`),
    ...(s.page.gpus ?? []),
    s.page.host.name,
    s.page.host.started.slice(0, 19).replace("T", " "),
  ]
    .filter((t) => t !== "")
    .join(" · ");
}

const THEMES = ["", "dark", "light"];
function theme(): () => void {
  let at = Math.max(0, THEMES.indexOf(remembered("theme") ?? ""));
  const apply = () => {
    document.documentElement.dataset.theme = THEMES[at];
    document.dispatchEvent(new Event("theme"));
  };
  apply();
  return () => {
    at = (at + 1) % THEMES.length;
    remember("theme", THEMES[at]);
    apply();
    set({ session: new Session(get().session.page) });
  };
}

function tabs(): HTMLElement {
  const element = h("nav", { class: "tabs main-tabs", role: "tablist" });
  const draw = () => {
    const { session, tab } = get();
    fill(
      element,
      ...[{ id: "cell", name: "Cell", count: () => "" }, ...sections].map((one) =>
        h(
          "button",
          {
            type: "button",
            role: "tab",
            "aria-selected": String(tab === one.id),
            "data-tab": one.id,
            onclick: () => set({ tab: one.id }),
          },
          one.name,
          one.count(session) && h("span", { class: "quiet" }, " " + one.count(session)),
        ),
      ),
    );
  };
  listen((changed) => {
    if (changed.has("tab") || changed.has("session")) draw();
  });
  draw();
  return element;
}

/** The part of the page beside the list: the chosen cell stays as it is while another part is shown. */
function panel(): HTMLElement {
  const one = cell(),
    other = h("div", { class: "section", tabindex: 0, role: "tabpanel" });
  const element = h("section", { class: "panel" }, tabs(), one, other);
  const draw = () => {
    const { session, tab } = get(),
      section = sections.find((x) => x.id === tab);
    one.hidden = section !== undefined;
    other.hidden = section === undefined;
    if (section) other.setAttribute("aria-label", section.name);
    fill(other, section ? section.draw(session) : null);
  };
  listen((changed) => {
    if (changed.has("tab") || (changed.has("session") && get().tab !== "cell")) draw();
  });
  draw();
  return element;
}

function meters(): HTMLElement {
  const choice = h("select", { "aria-label": "meter", onchange: () => set({ meter: Number(choice.value) }) });
  const draw = () => {
    const { session: s, meter } = get();
    fill(choice, ...s.moving().map((m) => h("option", { value: m, selected: m === meter }, s.page.meters[m].name)));
  };
  listen((changed) => {
    if (changed.has("session") || changed.has("meter")) draw();
  });
  draw();
  return h("label", {}, "by ", choice);
}

function paper(): void {
  const before = h("div", { class: "paper" });
  window.addEventListener("beforeprint", () => {
    fill(before, printed(), ...sections.map((x) => x.draw(get().session)));
    document.body.append(before);
  });
  window.addEventListener("afterprint", () => before.remove());
}

async function start(): Promise<void> {
  const data = document.getElementById("data")!;
  const page = await read(data.textContent!);
  data.remove();
  await more(page); // the sources of the heaviest cells come first
  await pause();
  const session = new Session(page);
  await pause();
  begin({ session, meter: 0, row: session.row(page.summit), query: "", tab: "cell", view: "icicle", read: 0 });
  const search = h("input", {
    type: "search",
    placeholder: "search cells and calls ( / )",
    "aria-label": "search",
    oninput: () => set({ query: search.value }),
  });
  const turn = theme();
  const heading = h("span", { class: "about quiet" }, about(session));
  const top = h(
    "header",
    {},
    h("h1", {}, "ipytracer"),
    heading,
    meters(),
    search,
    button("◐", turn, "dark, light, as the system has it (d)"),
    button("?", help, "keys (?)"),
  );
  const lead = h("div", {}, headline(session));
  listen((changed) => {
    if (changed.has("session")) {
      fill(lead, headline(get().session));
      fill(heading, about(get().session));
    }
  });
  const over = timeline();
  await pause();
  const left = list(),
    right = panel();
  await pause();
  const root = document.getElementById("page")!;
  fill(
    root,
    top,
    lead,
    over.element,
    h("div", { class: "columns" }, left, right),
    keys({ theme: turn, search, tabs: ["cell", ...sections.map((x) => x.id)], zoom: over.zoom }),
    tip,
  );
  if (get().row < 0 && heaviest() >= 0) set({ row: heaviest() });
  document.title = page.answers.length > 0 ? "ipytracer: " + page.answers[0][1].slice(0, 80) : "ipytracer";
  paper();
  if (page.version) live(page.version, heading);
  document.documentElement.dataset.ready = "true";
  await sources(page);
  document.documentElement.dataset.complete = "true"; // every source is read
}

start().catch((e) => {
  const why =
    "DecompressionStream" in window ? String(e) : "this browser is older than 2023 and cannot inflate what is in it";
  document.getElementById("page")!.textContent =
    `The page could not be read: ${why}. \u2018tracer report FILE\u2019 prints the same figures as text.`;
});
