// The block of data that internal/report/html writes (types.go). Types only.

export interface Meter {
  id: string;
  name: string;
  source: string;
  part?: boolean;
  gpu?: boolean;
  blocks?: boolean;
}
export type Numbers = Float64Array;
interface Column {
  start: Numbers;
  need: Numbers;
  consumed: Numbers;
  off?: Numbers;
}
/** Unread sources: their places in the table, and their texts. */
export interface Part {
  at: Numbers;
  data: string;
}
export interface Child {
  row: number;
  pid: number;
  command: number;
  figures: number[];
}
export interface Detail {
  row: number;
  meter: number;
  stacks: Numbers;
  atPeak: number;
  rest: number;
  unlisted?: number;
  unlistedAtPeak?: number;
  more?: number;
  moreAtPeak?: number;
  exact: boolean;
  sampled?: string;
}
export interface Line {
  at: number;
  pid: number;
  meter: number;
  frame: number;
  atPeak: number;
  allocated: number;
  freed: number;
  left: number;
  count: number;
  sampled?: boolean;
}
export interface Variable {
  at: number;
  pid: number;
  name: string;
  also?: string;
  kind: string;
  type: string;
  shape: string;
  bytes: number;
  reaches: number;
  device?: number;
  exact: boolean;
  maker: string;
  before?: boolean;
  execution?: number;
  line?: number;
}
/** Code that frees memory, and the names that go with it. */
export interface Freeing {
  at: number;
  pid: number;
  type: string;
  bytes: number;
  device?: number;
  exact: boolean;
  objects?: boolean;
  names: string;
}
export interface Limit {
  meter: number;
  bytes: number;
  text: string;
}
export interface Process {
  at: number;
  pid: number;
  parent: number;
  command: string;
  python?: string;
  ipython?: string;
  start: number;
  end: number;
  ended?: string;
  late?: boolean;
  limits: Limit[];
  figures: number[];
}
export interface Verdict {
  title: string;
  meter: string;
  bytes: number;
  count: number;
  line: string;
  cells: string;
  age: number;
  holder: string;
  probable?: boolean;
  evidence: string;
  advice: string;
  fix: string;
  pid: number;
  execution: number;
}
export interface Held {
  meter: string;
  by: string;
  holder: string;
  bytes: number;
  count: number;
}
export interface Advice {
  highest: string;
  none?: string;
  items: Piece[];
  left?: string;
  not: string[];
}
export interface Piece {
  title: string;
  saves: number;
  how: string;
  peak: number;
  then: string;
  place: string;
  diff: string;
  changes: string[];
  unknown: string[];
  try: string;
  pid: number;
  execution: number;
  line: number;
}
/** A word of the page, by all its names, and what it means. */
export interface Term {
  names: string[];
  text: string;
}
export interface Page {
  schema: string;
  version?: number;
  answers: [string, string][];
  terms: Term[];
  doubts: string[];
  unnamed: string[];
  summit: number;
  gpus?: string[]; // the GPUs in use, each with its size
  host: { name: string; kernel: string; cpus: number; memory: number; tracer: string; started: string };
  length: number;
  meters: Meter[];
  texts: string[];
  sources: (string | undefined)[];
  parts: Part[]; // of cells: those that are read, and the others
  rows: {
    kind: Numbers;
    id: Numbers;
    parent: Numbers;
    pid: Numbers;
    execution: Numbers;
    label: Numbers;
    line: Numbers;
    source: Numbers;
    cut: Numbers;
    status: Numbers;
    start: Numbers;
    duration: Numbers;
    cpu: Numbers;
    remarks: Numbers;
    figures: Column[];
    trees: Column & { row: Numbers; meter: Numbers; off: Numbers };
    children: Child[];
    unlisted: { row: Numbers; more: Numbers };
    statements?: number;
    between?: number;
  };
  details: Detail[];
  nodes: { parent: Numbers; frame: Numbers };
  frames: {
    function: Numbers;
    file: Numbers;
    line: Numbers;
    execution: Numbers;
    count: Numbers;
    kind: Numbers;
    kernel?: Numbers;
  };
  timeline?: {
    pid: number;
    meter: number;
    tree?: boolean;
    ns: Numbers;
    bytes: Numbers;
    kinds: string;
    gaps: Numbers;
  }[];
  lines: Line[];
  variables: Variable[];
  toFree: Freeing[];
  names: { unlisted: number; bytes: number; complete: boolean };
  resident: {
    at: number;
    pid: number;
    total: number;
    trim: number;
    complete: boolean;
    parts: { text: string; bytes: number }[];
  }[];
  tensors: { at: number; meter: number; size: number; count: number; bytes: number; who: string }[];
  processes: Process[];
  advice?: Advice;
  audit?: {
    allClear?: string;
    least: number;
    verdicts: Verdict[];
    more?: number;
    held: Held[];
    moreHeld?: number;
    not: string[];
  };
  proof: {
    complete: boolean;
    finished: string;
    made: number;
    delivered: number;
    losses: string;
    defects?: number;
    frees: [string, string][];
    meters: [string, string, string, string][];
    probes: { name: string; site: string; hits: number }[];
    problems: string[];
  };
  left: string[];
}
