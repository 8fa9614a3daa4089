// The memory that names hold, seen from one cell. Recordings have it for the end of a session, with the line that made
// the largest piece of each. From these follows the memory at the peak of a cell, but not the name that held it then.
import { Variable } from "./block";
import { Session } from "./data";
import { h, size } from "./dom";
import { treemap } from "./treemap";

/** When a name's largest piece was made, relative to a cell: before it, in it, after it, or unknown. */
export type When = "before" | "in" | "later" | "unknown";

const KINDS: Record<When, number> = { in: 0, before: 1, unknown: 5, later: 4 };
const LEGEND: [number, string][] = [
  [KINDS.before, "made before this cell: there at its highest moment"],
  [KINDS.in, "made in this cell"],
  [KINDS.unknown, "? not known when it was made"],
];

export function whenMade(s: Session, row: number, v: Variable): When {
  if (v.before) return "before"; // before the attach
  if (!v.execution) return "unknown";
  const by = v.execution - s.execution(row);
  return by < 0 ? "before" : by > 0 ? "later" : "in";
}

export function byName(s: Session, row: number, open: (row: number, line?: number) => void): HTMLElement {
  const all = s.page.variables.filter((v) => v.pid === s.pid(row) && v.bytes + (v.device ?? 0) > 0);
  if (all.length === 0)
    return h(
      "p",
      { class: "quiet" },
      "Nobody has looked at what names hold: the process had ended before the tracer did, " +
        "or the session was not recorded. By line says what made it.",
    );
  const sums: Record<When, number> = { before: 0, in: 0, unknown: 0, later: 0 };
  for (const v of all) sums[whenMade(s, row, v)] += v.bytes + (v.device ?? 0);
  const sum = (when: When, text: string) =>
    sums[when] > 0 ? [size(sums[when], `named:${s.id(row)}:${when}`), ` ${text}. `] : [];
  const there = all.filter((v) => whenMade(s, row, v) !== "later");
  const leaves = there.map((v) => ({
    name: v.name,
    where: [v.type, v.shape, v.maker].filter((t) => t !== "").join(" · "),
    bytes: v.bytes + (v.device ?? 0),
    kind: KINDS[whenMade(s, row, v)],
  }));
  return h(
    "div",
    {},
    h(
      "p",
      { class: "quiet" },
      "Names as of the session's end, with what goes with each, by when its largest piece was made. " +
        "Which names held it at this cell's highest moment is not recorded; what was freed since has none.",
    ),
    h(
      "p",
      {},
      ...sum("before", "made before this cell, so there at its highest moment"),
      ...sum("in", "made in this cell, before its highest moment or after"),
      ...sum("unknown", "not known when"),
      ...sum("later", "made after this cell: not in the graph"),
    ),
    leaves.length > 0 &&
      treemap(
        leaves,
        "what names hold at the end and was made by then",
        (at) => {
          const v = there[at];
          if (v?.execution) open(s.run(v.pid, v.execution), v.line);
        },
        LEGEND,
      ),
  );
}
