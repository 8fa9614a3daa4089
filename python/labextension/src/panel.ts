// The side panel: memory in use beside its limit, the session over time, cells by their need, results of a look at the
// kernel's objects (inspector.ts), and the lines that allocated in the chosen cell.

import { JSONObject } from "@lumino/coreutils";
import { Widget } from "@lumino/widgets";

import { button, Child, header, make } from "./dom";
import { IRun, ITable, text, truth } from "./figures";
import { Inspector } from "./inspector";
import { Link } from "./link";
import { timeline } from "./timeline";
import { difference, duration, label, limited, limitName, mark, percent, shown, together } from "./words";

const MOST_ROWS = 50;
const MOST_COLUMNS = 4; // beside each other, where one is text
const MOST_TRIES = 30; // questions whether a new session listens
const PAUSE = 1000; // ms between them

/** The small text below a figure. */
function below(said: string): HTMLElement {
  return make("div", "jp-ipytracer-below", said);
}

/** The panel's requests to the rest of the page. */
export interface IActions {
  /** Shows the cell that ran; reports whether there is one. */
  go: (link: Link, r: IRun) => boolean;
}

export class Panel extends Widget {
  constructor(private _actions: IActions) {
    super();
    this.id = "ipytracer-panel";
    this.addClass("jp-ipytracer-panel");
    this.title.caption = "ipytracer: memory of cells";
    this.node.tabIndex = -1;
    this._answers = make("div", "");
    this._top = make("div", "");
    this._inspector = new Inspector((r) => this._go(r));
    this._cells = make("div", "");
    this.node.append(this._top, this._inspector.node, this._cells, this._answers);
  }

  /** Shows a kernel's session. */
  tell(link: Link | null): void {
    if (link !== this._link || link?.hello?.session !== this._session) {
      this._answers.replaceChildren();
      this._wanted++;
    }
    this._link = link;
    this._session = link?.hello?.session;
    this._stale = true;
    this._inspector.tell(link, this.isVisible);
    this._soon();
  }

  protected onAfterShow(): void {
    const hello = this._link?.hello;
    if (hello && !hello.listens && hello.asks.includes("state")) {
      void this._link!.asks("state").catch(() => undefined); // a server may have come
    }
    this._inspector.tell(this._link, true);
    this._soon();
  }

  protected onAfterHide(): void {
    this._inspector.tell(this._link, false);
  }

  /** Draws when it can be seen, once for many changes. */
  private _soon(): void {
    if (!this.isVisible || this._timer) {
      return;
    }
    this._timer = window.setTimeout(() => {
      this._timer = 0;
      if (this._stale && this.isVisible) {
        this._stale = false;
        this._draw();
      }
    }, 100);
  }

  private _draw(): void {
    const link = this._link;
    if (!link || !link.hello) {
      const last = link?.runs.length ? this._ranking(link, [...link.runs], "Before the restart") : [];
      this._top.replaceChildren(
        make("p", "", "No figures come from this kernel. Load the companion in a cell: "),
        make("p", "", make("code", "", "%load_ext ipytracer")),
      );
      this._cells.replaceChildren(...last);
      return;
    }
    if (!link.hello.listens) {
      this._top.replaceChildren(...this._unheard(link));
      this._cells.replaceChildren(...this._ranking(link, link.current, "Cells so far"));
      return;
    }
    const runs = link.current;
    const picture = timeline(runs, link.hello.limit, (r) => this._go(r));
    this._top.replaceChildren(...this._summary(link), ...(picture ? [make("h3", "", "Over time"), picture] : []));
    this._cells.replaceChildren(...this._ranking(link, runs, "Cells by what they need"));
  }

  /** Returns the advice where no tracer listens: a button where a server runs, else a command to type. */
  private _unheard(link: Link): Child[] {
    const hello = link.hello!;
    const came = this._start?.of === hello.session ? this._start : null;
    if (came?.goes) {
      return [make("p", "jp-ipytracer-said", came.said)];
    }
    const before = came ? [make("p", "jp-ipytracer-said", came.said)] : [];
    if (!hello.starts || !hello.asks.includes("start")) {
      return [...before, make("p", "", `No tracer listens; ${hello.todo}`)];
    }
    const start = button(
      "jp-ipytracer-start",
      "Start tracing",
      "as %tracer start does: it takes no root",
      () => void this._starts(link),
    );
    return [
      ...before,
      make("p", "", "No tracer listens. A server on this machine can trace this kernel: "),
      make("p", "", start),
    ];
  }

  /** Has a server begin a session, and asks until that listens, for a while at most. */
  private async _starts(link: Link): Promise<void> {
    const of = link.hello?.session;
    const say = (said: string, goes = false) => {
      this._start = said && of ? { of, said, goes } : null;
      this._stale = true;
      this._soon();
    };
    say("… starting", true);
    try {
      const answer = await link.asks("start");
      const said = text(answer.said, 1000);
      say(said, truth(answer.begins));
      for (
        let tries = 0;
        truth(answer.begins) && tries < MOST_TRIES && link.hello?.session === of && !link.hello?.listens;
        tries++
      ) {
        await new Promise((done) => window.setTimeout(done, PAUSE));
        await link.asks("state");
      }
      if (link.hello?.listens) {
        say("");
      } else if (truth(answer.begins)) {
        say(`${said}; it does not listen yet`);
      }
    } catch (why) {
      say((why as Error).message);
    }
  }

  private _summary(link: Link): Child[] {
    const hello = link.hello!;
    if (hello.silent) {
      return [
        make(
          "p",
          "",
          `The tracer listens, but ${hello.silent}: it is stopped, or very busy. ` +
            "What it has not told comes when it answers.",
        ),
      ];
    }
    const runs = link.current;
    const last = link.running ?? runs[runs.length - 1];
    const f = last && together(last);
    if (!f) {
      return [make("p", "", `Tracer ${hello.tracer ?? ""} listens. No cell has run yet that it tells of.`)];
    }
    const out: Child[] = [
      make(
        "p",
        "",
        make("b", "", shown(f, "end")),
        ` resident, ${last === link.running ? "while a cell runs" : "after " + label(last)}`,
      ),
    ];
    const counted = runs.map((r) => limited(r, hello)).filter((x) => x !== undefined);
    if (hello.limit !== null && counted.length) {
      const most = counted.reduce((a, b) => (b!.peak > a!.peak ? b : a))!;
      const share = most.peak / hello.limit;
      const bar = make("meter", "");
      Object.assign(bar, { min: 0, max: 100, high: 90, value: Math.min(100, Math.round(share * 100)) });
      out.push(
        bar,
        make(
          "p",
          "",
          `${share >= 0.9 ? "! " : ""}highest peak ${shown(most, "peak")}, ` +
            `${mark(most, "peak")}${percent(share)} of ${limitName(hello)}`,
        ),
      );
    }
    return out;
  }

  private _ranking(link: Link, runs: IRun[], heading: string): Child[] {
    const known = runs.filter((r) => r.meters.has("cpu.resident") && !r.asks);
    if (known.length === 0) {
      return [];
    }
    const need = (r: IRun) => r.meters.get("cpu.resident")!.need;
    const sorted = [...known].sort((a, b) => need(b) - need(a));
    const body = make("tbody", "");
    for (const r of sorted.slice(0, MOST_ROWS)) {
      body.append(this._row(link, r));
    }
    const out: Child[] = [
      make("h3", "", heading),
      make(
        "div",
        "jp-ipytracer-wide",
        make("table", "jp-ipytracer-ranking", header(["cell", "need, Δ", "consumed, time"], []), body),
      ),
    ];
    const hidden = sorted.length - MOST_ROWS;
    if (hidden > 0) {
      out.push(make("p", "", `… and ${hidden} more`));
    }
    if (link.cut) {
      out.push(make("p", "", "Not all cells of this session are here: %tracer table has them."));
    }
    if (known.some((r) => r.meters.get("cpu.resident")!.off !== 0)) {
      out.push(make("p", "", "≈ may be off, ≥ at least"));
    }
    return out;
  }

  private _row(link: Link, r: IRun): HTMLElement {
    const f = r.meters.get("cpu.resident")!;
    const before = r.cell === null ? undefined : link.before(r);
    const last = before?.meters.get("cpu.resident");
    const row = make("tr", "");
    row.dataset.window = String(r.window);
    row.dataset.need = String(f.need);
    const source = make("div", "jp-ipytracer-source", (r.status === "ok" ? "" : `✗ ${r.status} · `) + r.source);
    source.title = r.source;
    row.append(
      make(
        "td",
        "",
        button("jp-ipytracer-go", label(r), "go to the cell", () => this._go(r)),
        source,
      ),
      make(
        "td",
        "",
        shown(f, "need"),
        below(last ? `Δ ${f.off || last.off ? "≈" : ""}${difference(f.need - last.need)}` : ""),
      ),
      make("td", "", shown(f, "consumed"), below(duration(r.duration))),
    );
    return row;
  }

  private async _ask(what: string, heading: string, more: JSONObject = {}): Promise<void> {
    const link = this._link;
    const wanted = ++this._wanted;
    if (!link) {
      return;
    }
    this._answers.replaceChildren(make("h3", "", heading), make("p", "", "… looking"));
    let found: Child[];
    try {
      found = this._table(link, await link.ask(what, more));
    } catch (why) {
      found = [make("p", "", (why as Error).message)];
    }
    if (this._wanted === wanted) {
      this._answers.replaceChildren(make("h3", "", heading), ...found);
    }
  }

  private _table(link: Link, t: ITable): Child[] {
    const texts = t.head.map((h, i) => (h.endsWith("…") ? i : -1)).filter((i) => i >= 0);
    const wide = t.head.length > MOST_COLUMNS;
    // These are on a line of their own, so that all columns stay in sight.
    const under = t.head.map((_, i) => i).filter((i) => wide && i > 0 && (texts.includes(i) || i >= MOST_COLUMNS));
    const bodies = t.rows.map((cells, n) => {
      const r = link.current.find((one) => one.execution === t.executions[n]);
      const row = make("tr", "");
      const body = make("tbody", "", row);
      cells.forEach((c, i) => {
        if (!under.includes(i)) {
          row.append(
            make(
              "td",
              texts.includes(i) ? "jp-mod-text" : "",
              i === 0 && r ? button("jp-ipytracer-go", c, "go to the cell", () => this._go(r)) : c,
            ),
          );
        }
      });
      if (under.length) {
        const cell = make(
          "td",
          "jp-mod-text",
          under.map((i) => (texts.includes(i) ? cells[i] : `${t.head[i]} ${cells[i]}`)).join(" · "),
        );
        cell.colSpan = t.head.length - under.length;
        body.append(make("tr", "", cell));
      }
      return body;
    });
    const shown = t.head.filter((_, i) => !under.includes(i));
    const head = header(
      shown.map((h) => h.replace(/…$/, "")),
      shown.map((h, i) => (h.endsWith("…") ? i : -1)).filter((i) => i >= 0),
    );
    const out: Child[] = t.rows.length ? [make("div", "jp-ipytracer-wide", make("table", "", head, ...bodies))] : [];
    return t.note ? [...out, make("p", "", t.note)] : out;
  }

  /** Goes to a cell, and shows the lines that allocated in it. */
  private _go(r: IRun): void {
    const link = this._link;
    if (!link) {
      return;
    }
    const there = this._actions.go(link, r);
    if (link.hello?.listens && link.isCurrent(r)) {
      void this._ask("lines", `Who allocated in ${label(r)}` + (there ? "" : ", no cell of an open notebook"), {
        window: r.window,
      });
    } else if (!there) {
      this._answers.replaceChildren(make("p", "", `No cell of an open notebook is known to be ${label(r)}.`));
    }
  }

  private _link: Link | null = null;
  private _session: string | undefined;
  private _stale = true;
  private _timer = 0;
  private _start: { of: string; said: string; goes: boolean } | null = null; // the start of a session, and its result
  private _wanted = 0; // the number of the last request
  private _top: HTMLElement;
  private _cells: HTMLElement;
  private _inspector: Inspector;
  private _answers: HTMLElement;
}
