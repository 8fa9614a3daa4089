// Computes the figures of a page from the report's JSON alone, without the page's own program.
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Returns a size as package words writes it, in whole numbers only. */
export function written(value) {
  const n = BigInt(value),
    size = n < 0n ? -n : n,
    sign = n < 0n ? "-" : "";
  if (size < 1024n) return `${sign}${size} B`;
  let unit = 1n;
  for (const name of ["KiB", "MiB", "GiB", "TiB"]) {
    unit <<= 10n;
    const hundredths = (size / unit) * 100n + ((size % unit) * 100n + unit / 2n) / unit;
    if (hundredths < 102400n || name === "TiB")
      return `${sign}${hundredths / 100n}.${String(hundredths % 100n).padStart(2, "0")} ${name}`;
  }
  throw new Error("unreachable");
}

const derived = {
  start: (f) => f.start,
  end: (f) => f.end,
  peak: (f) => f.peak,
  consumed: (f) => f.consumed,
  peaked: (f) => f.peaked,
  need: (f) => f.peak - f.start,
};

/** Returns the mark in front of a quantity of a figure. */
export function markOf(f, quantity) {
  if (f.exact) return "";
  const high = ["need", "peak", "peaked"].includes(quantity);
  return (f.bound === null || f.bound <= 0) && high ? "≥" : "≈";
}

export class Truth {
  constructor(folder, name) {
    const read = (file) => JSON.parse(readFileSync(join(folder, file), "utf8"));
    this.report = read(name + ".json");
    const perhaps = (file) => {
      try {
        return read(file);
      } catch {
        return null;
      }
    };
    this.audit = perhaps(name + ".audit.json");
    this.advice = perhaps(name + ".advice.json");
    this.windows = new Map(this.report.windows.map((w) => [String(w.id), w]));
  }

  frames(stack) {
    return this.report.stacks[stack].frames.map((f) => this.report.frames[f]);
  }

  /**
   * Returns the number, and its mark if it has one, that an element with this data-of must show; undefined if there is
   * no such number.
   */
  of(key) {
    const [what, ...rest] = key.split(":");
    const quantity = rest.at(-1);
    const figure = (f) =>
      f && derived[quantity] ? { bytes: derived[quantity](f), mark: markOf(f, quantity) } : undefined;
    const own = (o, name) => (o && Object.hasOwn(o, name) ? o[name] : undefined);
    switch (what) {
      case "w":
        return figure(own(this.windows.get(rest[0])?.meters, rest[1]));
      case "t":
        return figure(own(this.windows.get(rest[0])?.tree, rest[1]));
      case "b":
        return this.report.between
          .filter((b) => b.pid === +rest[0] && b.start_ns === +rest[1])
          .map((b) => figure(own(b.meters, rest[2])));
      case "c":
        return figure(own(this.windows.get(rest[0])?.children.find((c) => c.pid === +rest[1])?.meters, rest[2]));
      case "p":
        return figure(own(this.report.processes[+rest[0]]?.meters, rest[1]));
      case "v":
        return {
          bytes: this.report.variables[+rest[0]][quantity] ?? 0,
          mark: quantity !== "reaches" && !this.report.variables[+rest[0]].exact ? "≥" : "",
        };
      case "l":
        return { bytes: this.report.lines[+rest[0]][quantity], mark: this.report.lines[+rest[0]].sampled ? "~" : "" };
      case "r":
        return quantity === "part"
          ? this.report.resident[+rest[0]].parts.map((p) => ({ bytes: p.bytes }))
          : { bytes: this.report.resident[+rest[0]][quantity] };
      case "tensor":
        return { bytes: this.report.tensors[+rest[0]][quantity] };
      case "host":
        return { bytes: this.report.host[quantity] };
      case "verdict":
        return { bytes: this.audit.verdicts[+rest[0]].bytes };
      case "advice":
        return { bytes: this.advice.items[+rest[0]][quantity] };
      case "free":
        return { bytes: this.report.to_free[+rest[0]][quantity], mark: this.report.to_free[+rest[0]].exact ? "" : "≥" };
      case "held":
        return { bytes: this.audit.held[+rest[0]].bytes };
      case "top":
        return { bytes: this.top(+rest[0], rest[1]) };
      case "limit":
        return [
          ...(this.report.gpus ?? []).map((g) => g.memory),
          ...this.report.processes.flatMap((p) => [...(p.limits ?? []).map((l) => l.bytes), p.soft_limit?.bytes]),
        ].map((bytes) => ({ bytes }));
      case "cover":
        return { bytes: this.windows.get(rest[0])?.coverage?.[rest[1]]?.[quantity] ?? 0 };
      case "line":
        return { bytes: this.line(rest[0], rest[1], +rest[2]), mark: this.estimated(rest[0], rest[1]) };
      case "named":
        return { bytes: this.named(rest[0], rest[1]) };
      case "names":
        return { bytes: (this.report.names ?? []).reduce((n, x) => n + x.bytes, 0) };
    }
    return undefined;
  }

  /** Returns the mark of the figures of a window's calls. */
  estimated(id, meter) {
    return this.windows.get(id)?.coverage?.[meter]?.sampled > 0 ? "~" : "";
  }

  /** Returns the most that a process has of a meter in the timeline; without one, in any window that it is made of. */
  top(pid, meter) {
    const tracks = (this.report.timeline ?? []).filter((t) => t.pid === pid);
    if (tracks.length === 0)
      return Math.max(
        ...[...this.report.windows.filter((w) => w.kind === "cell"), ...this.report.between]
          .filter((w) => w.pid === pid && w.meters[meter])
          .map((w) => w.meters[meter].peak),
      );
    let most = 0;
    for (const t of tracks) {
      let value = 0;
      if (t.meter === meter && !t.tree)
        t.change.forEach((by, i) => {
          value += by;
          if (t.kinds[i] !== "g") most = Math.max(most, value);
        });
    }
    return most;
  }

  /** Returns the memory held by names with a largest piece made at a time, seen from a cell. */
  named(id, when) {
    const cell = this.windows.get(id);
    const made = (v) =>
      v.before
        ? "before"
        : !v.execution
          ? "unknown"
          : v.execution < cell.execution
            ? "before"
            : v.execution > cell.execution
              ? "later"
              : "in";
    return this.report.variables
      .filter((v) => v.pid === cell.pid && made(v) === when)
      .reduce((n, v) => n + v.bytes + (v.device ?? 0), 0);
  }

  allocations(id, meter) {
    return (this.windows.get(id)?.allocations ?? []).filter((a) => a.meter === meter);
  }

  /** Returns the memory of a line of a cell, with the calls below it, at the cell's peak. */
  line(id, meter, line) {
    const execution = this.windows.get(id).execution;
    const on = (a) => this.frames(a.stack).some((f) => f.execution === execution && !f.native && f.line === line);
    return this.allocations(id, meter)
      .filter(on)
      .reduce((n, a) => n + a.at_peak, 0);
  }

  /** Returns the memory at the peak with a call of a function that has a text in its name. */
  matched(id, meter, text) {
    return this.allocations(id, meter)
      .filter((a) => this.frames(a.stack).some((f) => f.function.toLowerCase().includes(text)))
      .reduce((n, a) => n + a.at_peak, 0);
  }
}

/** Returns the windows of cells. */
export const cellsOf = (truth) => truth.report.windows.filter((w) => w.kind === "cell");
