// The panel's sections that look at the kernel's objects: its variables, and the memory that stays behind. The tracer
// looks when a section is opened. While it is open and can be seen, variables are updated after each cell. Closed
// sections cost nothing.

import { IRun } from "./figures";
import { Link } from "./link";
import { audit, IAudit, IEntry, look, variables } from "./looks";
import { button, Child, make } from "./dom";
import { VariableTable } from "./variables";

const QUIET = 1000; // ms without a cell's end before the next look

type Go = (r: IRun) => void;

/** One section: its element, its request, its message, its result. */
class Section {
  constructor(
    readonly what: string,
    title: string,
    private _explain: string,
    private _look: () => void,
  ) {
    this._again = button("jp-ipytracer-look", "look again", this._explain, this._look);
    this.said = make("p", "jp-ipytracer-said");
    this.said.setAttribute("role", "status");
    this.found = make("div", "");
    this.node = make("details", "jp-ipytracer-section", make("summary", "", title), this._again, this.said, this.found);
    this.node.dataset.look = what;
    this.node.addEventListener("toggle", () => {
      if (this.node.open && this.behind === null) {
        this._look();
      }
    });
  }

  say(...children: Child[]): void {
    this.said.replaceChildren(...children);
  }

  /** Forgets the result. */
  reset(): void {
    this.wanted++;
    this.behind = null;
    this.node.open = false;
    this.say();
    this.found.replaceChildren();
  }

  readonly node: HTMLDetailsElement;
  readonly said: HTMLElement;
  readonly found: HTMLElement;
  wanted = 0; // the number of the last requested look
  behind: number | null = null; // the window before the last look, null: never
  private _again: HTMLButtonElement;
}

export class Inspector {
  constructor(private _go: Go) {
    this._variables = new Section(
      "vars",
      "Variables",
      "have the tracer look at the kernel’s variables",
      () => void this._lookAt(this._variables),
    );
    this._audit = new Section(
      "audit",
      "What stays behind",
      "have the tracer look for what is leaked, and for what holds it",
      () => void this._lookAt(this._audit),
    );
    this._table = new VariableTable((r) => this._go(r));
    this.node = make("div", "", this._variables.node, this._audit.node);
    this.node.hidden = true;
  }

  readonly node: HTMLElement;

  /** Takes in that the kernel's state has changed, or that it is another kernel; visible: the panel can be seen. */
  tell(link: Link | null, visible: boolean): void {
    const session = link?.hello?.listens ? link.hello.session : null;
    if (link !== this._link || session !== this._session) {
      this._sections.forEach((s) => s.reset());
    }
    this._link = link;
    this._session = session;
    this._visible = visible;
    const asks = link?.hello?.asks ?? [];
    this._sections.forEach((s) => (s.node.hidden = !asks.includes(s.what)));
    this.node.hidden = session === null;
    if (this._behind(this._audit)) {
      this._audit.say("Cells have run since.");
    }
    for (const s of this._sections) {
      if (visible && !s.node.hidden && s.node.open && s.behind === null) {
        void this._lookAt(s); // the last look was given up while the panel could not be seen
      }
    }
    this._soon();
  }

  /** Reports whether cells have run since a section's look, which has ended. */
  private _behind(s: Section): boolean {
    return s.behind !== null && s.behind >= 0 && s.behind < newest(this._link);
  }

  /** Looks at the variables anew once no cell has ended for a moment, and none runs. */
  private _soon(): void {
    window.clearTimeout(this._timer);
    this._timer = 0;
    if (!this._visible || !this._variables.node.open || !this._behind(this._variables)) {
      return;
    }
    this._timer = window.setTimeout(() => {
      if (this._link?.kernel.status === "idle") {
        void this._lookAt(this._variables);
      } else {
        this._soon();
      }
    }, QUIET);
  }

  private async _lookAt(s: Section): Promise<void> {
    const link = this._link;
    if (!link || this._session === null) {
      return;
    }
    const wanted = ++s.wanted;
    const goes = () => s.wanted === wanted && s.node.open && this._visible;
    const behind = newest(link);
    s.behind = Number.MAX_SAFE_INTEGER; // under way
    s.say("… looking");
    const said = (text: string) => goes() && s.say(text);
    try {
      if (s === this._variables) {
        const found = await look(link, s.what, variables, "variables", goes, said);
        if (found) {
          this._table.tell(found, link);
          s.found.replaceChildren(this._table.node, ...found.notes.map((n) => make("p", "", n)));
        }
      } else {
        const found = await look(link, s.what, audit, "audit", goes, said);
        if (found) {
          s.found.replaceChildren(...this._verdicts(link, found));
        }
      }
      this._over(s, wanted, goes() ? behind : null);
    } catch (why) {
      this._over(s, wanted, behind, (why as Error).message);
    }
  }

  /** Takes in that a look has ended, or was given up. */
  private _over(s: Section, wanted: number, behind: number | null, said = ""): void {
    if (s.wanted !== wanted) {
      return;
    }
    s.behind = behind;
    s.say(said);
    this._soon();
  }

  private _verdicts(link: Link, found: IAudit): Child[] {
    return [
      make("p", "", make("b", "", found.head)),
      ...found.entries.map((e, i) => this._verdict(link, e, i)),
      ...found.rest.map((text) => make("p", "jp-ipytracer-rest", text)),
    ];
  }

  private _verdict(link: Link, e: IEntry, number: number): HTMLElement {
    const list = make("dl", "");
    for (const [name, said] of e.rows) {
      list.append(make("dt", "", name), make("dd", "", name === "type" || name === "" ? make("code", "", said) : said));
    }
    const r = link.current.find((one) => one.execution === e.execution);
    const goes = r ? [" ", button("jp-ipytracer-go", "go to the cell", "the cell to change", () => this._go(r))] : [];
    return make(
      "section",
      "jp-ipytracer-verdict",
      make("p", "", `${number + 1}. `, make("b", "", e.title), ` ${e.size}`, ...goes),
      list,
    );
  }

  private _link: Link | null = null;
  private _session: string | null = null;
  private _visible = false;
  private _timer = 0;
  private _variables: Section;
  private _audit: Section;
  private _table: VariableTable;

  private get _sections(): Section[] {
    return [this._variables, this._audit];
  }
}

/** Returns the last reported window. */
function newest(link: Link | null): number {
  const runs = link?.current ?? [];
  return runs.length ? runs[runs.length - 1].window : 0;
}
