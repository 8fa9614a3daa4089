// The allocations of a cell as a tree of calls: the data of the graphs and of the figures beside the source.
import { Detail } from "./block";
import { Session } from "./data";

export interface Call {
  name: string;
  where: string;
  kind: number; // 0 a cell's code, 1 the user's file, 2 a library, 3 machine code, 4 stands for many, 5 not known
  value: number; // bytes at the peak, including all calls below
  count: number;
  line: number;
  execution: number;
  children: Call[];
}

export const KINDS = [
  "In[N] a cell's code",
  "◆ your file",
  "○ library",
  "▽ machine code",
  "… more, in sum",
  "? not known who",
];
const SIGNS = ["", "◆ ", "○ ", "▽ ", "", "? "];

function call(name: string, where: string, kind: number, value = 0): Call {
  return { name, where, kind, value, count: 0, line: 0, execution: 0, children: [] };
}

/** Returns the displayed name of a call: a cell's by its In[N] and line. */
export function frameName(s: Session, frame: number): string {
  const f = s.page.frames,
    texts = s.page.texts;
  const function_ = texts[f.function[frame]],
    line = f.line[frame] > 0 ? ` line ${f.line[frame]}` : "";
  if (f.kind[frame] === 0) {
    const cell = f.count[frame] >= 0 ? `In[${f.count[frame]}]` : `a cell (run ${f.execution[frame]})`;
    const kernel = texts[f.kernel?.[frame] ?? 0];
    return (
      `${cell}${kernel ? " of " + kernel : ""}${line}` +
      `${function_ === "<module>" || function_ === "" ? "" : " " + function_}`
    );
  }
  return SIGNS[f.kind[frame]] + (function_ || "?");
}

export function frameWhere(s: Session, frame: number): string {
  const f = s.page.frames;
  const file = s.page.texts[f.file[frame]];
  return f.line[frame] > 0 ? `${file}:${f.line[frame]}` : file;
}

/** Returns the tree of one cell and meter: its root is the peak. */
export function treeOf(s: Session, d: Detail, peak: number, title: string): Call {
  const root = call(title, "", 4);
  const known = new Map<number, Call>([[0, root]]);
  const { parent, frame } = s.page.nodes;
  const at = (node: number): Call => {
    const there = known.get(node);
    if (there) return there;
    const of = at(parent[node]),
      f = frame[node];
    const one = call(frameName(s, f), frameWhere(s, f), s.page.frames.kind[f]);
    one.line = s.page.frames.line[f];
    one.execution = s.page.frames.execution[f];
    of.children.push(one);
    known.set(node, one);
    return one;
  };
  for (let i = 0; i < d.stacks.length; i += 5) {
    const bytes = d.stacks[i + 1];
    if (bytes <= 0) continue;
    if (d.stacks[i] === 0) {
      child(root, "calls not known", 5).value += bytes;
      root.value += bytes;
      continue;
    }
    for (let node = d.stacks[i]; node !== 0; node = parent[node]) {
      const one = at(node);
      one.value += bytes;
      one.count += d.stacks[i + 4];
    }
    root.value += bytes;
  }
  if (d.moreAtPeak! > 0) add(root, `${d.more} more stacks`, 4, d.moreAtPeak!);
  if (d.unlistedAtPeak! > 0) add(root, `${d.unlisted} more stacks that the report does not list`, 4, d.unlistedAtPeak!);
  if (d.rest > 0) add(root, "made before the attach, or lost", 5, d.rest);
  if (root.value < peak) add(root, "not accounted for", 5, peak - root.value);
  sort(root);
  return root;
}

function child(of: Call, name: string, kind: number): Call {
  const there = of.children.find((c) => c.kind === kind && c.name === name);
  if (there) return there;
  const one = call(name, "", kind);
  of.children.push(one);
  return one;
}

function add(root: Call, name: string, kind: number, value: number): void {
  root.children.push(call(name, "", kind, value));
  root.value += value;
}

function sort(c: Call): void {
  c.children.sort((a, b) => b.value - a.value);
  for (const one of c.children) sort(one);
}

/** Returns the memory of each line of a cell at the peak, of one meter: its own and with all calls below. */
export function byLine(s: Session, d: Detail, execution: number): Map<number, number> {
  const sums = new Map<number, number>();
  const { parent, frame } = s.page.nodes,
    f = s.page.frames;
  for (let i = 0; i < d.stacks.length; i += 5) {
    const seen = new Set<number>(); // recursion counts once
    for (let node = d.stacks[i]; node !== 0; node = parent[node]) {
      const at = frame[node];
      if (f.execution[at] === execution && f.kind[at] === 0 && f.line[at] > 0) seen.add(f.line[at]);
    }
    for (const line of seen) sums.set(line, (sums.get(line) ?? 0) + d.stacks[i + 1]);
  }
  return sums;
}

export interface Leaf {
  name: string;
  where: string;
  bytes: number;
  kind: number;
}

/** Returns the memory at the peak by the innermost line of the user's own: of a cell or a file. */
export function byOwnLine(s: Session, d: Detail): Leaf[] {
  const { parent, frame } = s.page.nodes,
    f = s.page.frames;
  const sums = new Map<string, Leaf>();
  const take = (name: string, where: string, kind: number, bytes: number) => {
    if (bytes <= 0) return;
    const there = sums.get(name + "\n" + where);
    if (there) there.bytes += bytes;
    else sums.set(name + "\n" + where, { name, where, bytes, kind });
  };
  for (let i = 0; i < d.stacks.length; i += 5) {
    let node = d.stacks[i];
    while (node !== 0 && f.kind[frame[node]] > 1) node = parent[node];
    if (node !== 0) take(frameName(s, frame[node]), frameWhere(s, frame[node]), f.kind[frame[node]], d.stacks[i + 1]);
    else if (d.stacks[i] !== 0)
      take(
        frameName(s, frame[d.stacks[i]]),
        frameWhere(s, frame[d.stacks[i]]),
        f.kind[frame[d.stacks[i]]],
        d.stacks[i + 1],
      );
    else take("calls not known", "", 5, d.stacks[i + 1]);
  }
  take("more stacks, in sum", "", 4, (d.moreAtPeak ?? 0) + (d.unlistedAtPeak ?? 0));
  take("made before the attach, or lost", "", 5, d.rest);
  return [...sums.values()].sort((a, b) => b.bytes - a.bytes);
}
