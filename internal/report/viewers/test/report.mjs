// Reads a report's JSON, with the names for exports, without the exporters' own code.
import { readFileSync } from "node:fs";
import { join } from "node:path";

export class Report {
  constructor(folder, name) {
    this.json = JSON.parse(readFileSync(join(folder, name + ".json"), "utf8"));
    this.windows = this.json.windows;
  }

  /** Returns the name of a window for people. */
  static title(w) {
    if (w.kind === "session") return "session";
    const name =
      w.execution_count === null
        ? `${w.silent ? "a silent cell" : "a cell"} (run ${w.execution})`
        : `In[${w.execution_count}]`;
    if (w.kind === "cell") return w.kernel ? `${name} of ${w.kernel}` : name; // where the session has several
    return `${w.kind} ${w.name}`;
  }

  /** The peaks of the sessions, by pid and meter. */
  sessions() {
    const all = new Map();
    for (const w of this.windows)
      if (w.kind === "session") for (const [id, f] of Object.entries(w.meters)) all.set(`${w.pid} ${id}`, f.peak);
    return all;
  }

  /** Every point of the timeline, by pid and meter, those of trees with "tree " before. */
  timeline() {
    const all = new Map();
    for (const t of this.json.timeline ?? []) {
      const key = `${t.tree ? "tree " : ""}${t.pid} ${t.meter}`,
        points = all.get(key) ?? [];
      let ns = 0,
        bytes = 0;
      t.elapsed_ns.forEach((d, i) => {
        ns += d;
        bytes += t.change[i];
        points.push({ ns, bytes, kind: t.kinds[i] });
      });
      all.set(key, points);
    }
    return all;
  }
}
