// The variables of a kernel as a table that is sorted by a click on a column's name.

import { button, make } from "./dom";
import { IRun } from "./figures";
import { Link } from "./link";
import { IVariable, IVariables } from "./looks";
import { bytes, label } from "./words";

interface IColumn {
  name: string;
  title: string;
  text: boolean;
  value: (v: IVariable) => number | string;
}

const COLUMNS: IColumn[] = [
  {
    name: "name",
    title: "the variable, and other names of the same object",
    text: true,
    value: (v) => v.name.toLowerCase(),
  },
  { name: "made", title: "by which cell, in the order in which they ran", text: false, value: (v) => v.execution },
  { name: "alone", title: "what would be freed with it", text: false, value: (v) => v.bytes },
  { name: "GPU", title: "of that on GPUs", text: false, value: (v) => v.device },
  { name: "reaches", title: "all that it leads to, shared or not", text: false, value: (v) => v.reaches },
];

export class VariableTable {
  constructor(private _go: (r: IRun) => void) {
    this._head = make("tr", "");
    this._body = make("tbody", "");
    this.node = make(
      "div",
      "jp-ipytracer-wide",
      make("table", "jp-ipytracer-variables", make("thead", "", this._head), this._body),
    );
    for (const column of COLUMNS) {
      const cell = make(
        "th",
        column.text ? "jp-mod-text" : "",
        button("jp-ipytracer-sort", column.name, column.title, () => this._sort(column)),
      );
      cell.dataset.column = column.name;
      this._head.append(cell);
    }
  }

  readonly node: HTMLElement;

  tell(found: IVariables, link: Link): void {
    this._found = found;
    this._link = link;
    this._draw();
  }

  /** Sorts by another column, or the other way round. Sizes begin with the largest. */
  private _sort(column: IColumn): void {
    this._descending = column === this._by ? !this._descending : !column.text;
    this._by = column;
    this._draw();
  }

  private _draw(): void {
    const gpu = this._found.rows.some((v) => v.device > 0);
    COLUMNS.forEach((column, i) => {
      const cell = this._head.children[i] as HTMLElement;
      cell.hidden = column.name === "GPU" && !gpu;
      cell.setAttribute("aria-sort", column !== this._by ? "none" : this._descending ? "descending" : "ascending");
    });
    const sign = this._descending ? -1 : 1;
    const value = this._by.value;
    const sorted = [...this._found.rows].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      return x < y ? -sign : x > y ? sign : 0;
    });
    this._body.replaceChildren(...sorted.map((v) => this._row(v, gpu)));
  }

  private _row(v: IVariable, gpu: boolean): HTMLElement {
    const row = make("tr", "");
    row.dataset.name = v.name;
    row.dataset.bytes = String(v.bytes);
    const r = v.execution > 0 ? this._link?.current.find((one) => one.execution === v.execution) : undefined;
    const made = r ? [button("jp-ipytracer-go", label(r), `${v.made}: go to the cell`, () => this._go(r))] : [];
    if (v.made) {
      row.title = v.made;
    }
    row.append(
      make("td", "jp-mod-text", v.name, make("div", "jp-ipytracer-type", v.shaped ? `${v.type} ${v.shaped}` : v.type)),
      make("td", "", ...made),
      make("td", "", v.alone),
      ...(gpu ? [make("td", "", v.device ? bytes(v.device) : "")] : []),
      make("td", "", v.reaches > v.bytes ? bytes(v.reaches) : ""),
    );
    return row;
  }

  private _found: IVariables = { rows: [], notes: [] };
  private _link: Link | null = null;
  private _by = COLUMNS[2];
  private _descending = true;
  private _head: HTMLElement;
  private _body: HTMLElement;
}
