// Drives JupyterLab in a browser: node lab.mjs WORK SERVER_PID figures|start [PICTURES]. figures prints the figures at
// the cells, beside a tracer. start begins without a tracer, beside a server.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

import puppeteer from "puppeteer-core";

import { Page } from "./page.mjs";
import { PATIENCE } from "./tab.mjs";

const [work, server, what, pictures] = process.argv.slice(2);
const here = new URL(".", import.meta.url).pathname;
const info = JSON.parse(readFileSync(`${work}/run/jpserver-${server}.json`, "utf8"));
const seen = [];
const MODES = [
  ["full", "JupyterLab Light"],
  ["defer", "JupyterLab Dark"],
];
const CODE = ["numpy", "grow", "spike", "fails", "long", "again", "small"];

function settings(plugin, value) {
  const [scope, name] = plugin.split(":");
  const folder = `${work}/home/.jupyter/lab/user-settings/${scope}`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/${name}.jupyterlab-settings`, JSON.stringify(value));
}

/** Remembers a badge's figures, to be compared with the report. */
function remember(where, badge) {
  seen.push({ where, window: badge.window, need: badge.need, consumed: badge.consumed, count: badge.count });
  return badge;
}

async function picture(page, name) {
  if (pictures) {
    await page.picture(`${pictures}/${name}`);
  }
}

/** Every cell runs: its figures are at it, also while it runs. */
async function allRun(page, mode) {
  assert.equal(await page.badge("numpy"), null, "a badge before anything ran");
  await page.run("load");
  await page.until("the figure in the status bar", () => page.status());
  await page.show("long");
  await page.command("notebook:run-all-cells");
  const runs = await page.until("the badge of the cell that runs", async () => {
    await page.show("long"); // running all cells scrolls to the last one
    const badge = await page.badge("long");
    return badge?.text.includes("▶ runs") && badge;
  });
  assert.match(runs.text, /resident .*at most /);
  await picture(page, `lab-runs-${mode}.png`);
  writeFileSync(`${work}/notebooks/figures-${mode}.ipynb.go`, "");
  await page.idle();
  for (const id of CODE) {
    remember(`${mode} ${id}`, await page.final(id));
  }
  assert.match((await page.shown("fails")).text, /✗ error \(AttributeError\)/);
  assert.match((await page.shown("spike")).text, /numpy.*line 1/);
}

/** A cell that runs again, is edited, is moved, is copied. */
async function changed(page, mode) {
  const before = await page.final("again");
  await page.run("again");
  const after = remember(
    `${mode} again`,
    await page.until("another run", async () => {
      const badge = await page.badge("again"); // on a busy machine the cell runs for more than a second
      return badge?.window > before.window && !badge.text.includes("▶") && badge;
    }),
  );
  assert.match(after.text, /Δ /);
  await page.source("small", "x = 2");
  await page.until("that it was edited", async () => (await page.badge("small"))?.text.includes("✎"));
  await page.source("small", "x = 1");
  await page.until("that it is as before", async () => !(await page.badge("small"))?.text.includes("✎"));
  const where = await page.index("small");
  await page.show("small");
  await page.command("notebook:move-cell-up");
  await page.until("the cell in its new place", async () => (await page.index("small")) === where - 1);
  remember(`${mode} moved`, await page.shown("small"));
  await page.command("notebook:copy-cell");
  const cells = await page.count();
  await page.command("notebook:paste-cell-below");
  await page.until("the copy", async () => (await page.count()) === cells + 1);
  assert.equal(await page.badgeAt(where), null, "a copy that has not run has a badge");
  remember(`${mode} beside its copy`, await page.shown("small"));
}

/** Before a cell runs: what it needed the last time, and whether that is free. Another text is another cell. */
async function before(page, mode) {
  const text = "(np.ones(32 << 20) * 2).sum()";
  const says = async (what, is) => {
    await page.until(what, async () => {
      const badge = await page.shown("spike");
      return is(badge.text) && badge;
    });
  };
  const known = /needed 51\d\.\d\d MiB the last time, [\d.]+ GiB are free \(/;
  await says("what the cell needed", (t) => known.test(t) && !t.includes("! needed"));
  await page.source("spike", text + " + 1");
  await says("that another text is not known", (t) => !t.includes("needed"));
  await page.source("spike", text + "  # the same");
  await says("that a comment makes no difference", (t) => known.test(t));
  await page.source("spike", text);
  const limit = "get_ipython().run_line_magic('tracer', 'limit %d' % (ipytracer._limit.mapped() + (128 << 20)))";
  await page.source("more1", `import ipytracer._limit\n${limit}`);
  await page.run("more1");
  await says("that it does not fit", (t) =>
    /! needed [\d.]+ MiB of mapped memory the last time, .* \(rlimit\)/.test(t),
  );
  await picture(page, `lab-before-${mode}.png`);
  await page.source("more1", "%tracer limit off");
  await page.run("more1");
  await page.run("more2"); // a cell that only asks is not the last one
  await says("that it fits again", (t) => known.test(t) && !t.includes("! needed"));
}

/** The panel's ranking, and that it leads to the cell; the status bar. */
async function panel(page, mode) {
  const status = await page.until("a total in the status bar", async () => {
    const found = await page.status();
    return found?.total && found;
  });
  assert.match(status.text, / of [0-9.]+ GiB/);
  seen.push({ where: `${mode} status`, window: status.window, total: status.total });
  await page.command("application:toggle-left-area");
  await page.command("ipytracer:open");
  const rows = await page.until("the ranking", async () => {
    const found = await page.ranking();
    return found.length >= CODE.length && found;
  });
  assert.deepEqual(
    rows.map((r) => r.need),
    rows.map((r) => r.need).sort((a, b) => b - a),
  );
  rows.forEach((r) => seen.push({ where: `${mode} ranking`, window: r.window, need: r.need }));
  await page.show("more39");
  // Cells out of sight are not looked at again and again.
  const quiet = await page.until("that nothing changes", async () => (await page.refreshes()) < 5 && "quiet");
  assert.equal(quiet, "quiet");
  await page.press(".jp-ipytracer-ranking tbody tr:first-child button");
  const worst = await page.until("the worst cell", () => page.activeInSight());
  await page.until("who allocated", () => page.find(".jp-ipytracer-panel", "line"));
  assert.equal((await page.shown(worst)).window, rows[0].window);
  await picture(page, `lab-panel-${mode}.png`);
  assert.deepEqual(await page.outOfSight(), [], "columns that are out of sight");
}

/** The panel's variables and verdicts: on demand, sorted, up to date. Each leads to its cell. None asks when closed. */
async function objects(page, mode) {
  await page.countQuestions();
  await page.source("small", "newest = np.ones(3 << 20)\nnewest * 2");
  await page.run("small");
  assert.deepEqual(await page.questions(), [], "asked while nobody looks");
  await page.unfold("vars");
  const listed = async (what, is) =>
    page.until(what, async () => {
      const found = await page.variables();
      return is(found) && found;
    });
  const first = await listed("the variables", (v) => v.rows.some((r) => r.name.startsWith("newest")));
  const sizes = first.rows.map((r) => r.bytes);
  assert.deepEqual(
    sizes,
    [...sizes].sort((a, b) => b - a),
  );
  assert.equal(first.by, "alone descending");
  assert.equal(first.rows.find((r) => r.name.startsWith("newest")).bytes - (24 << 20) < 4096, true);
  await page.press(".jp-ipytracer-variables th[data-column=name] button");
  const named = await listed("them by name", (v) => v.by === "name ascending");
  const names = named.rows.map((r) => r.name.toLowerCase());
  assert.deepEqual(names, [...names].sort());
  await page.show("more39");
  await page.press(".jp-ipytracer-variables tr[data-name=kept] button");
  assert.equal(await page.until("the cell that made it", () => page.activeInSight()), "again");
  await page.source("numpy", "import numpy as np\nlater = np.ones(5 << 20)");
  await page.run("numpy");
  await listed(
    "a variable of a later cell",
    (v) => v.rows.some((r) => r.name === "later") && v.by === "name ascending",
  );
  await page.unfold("audit");
  const verdicts = await page.until("the verdicts", async () => {
    const found = await page.verdicts();
    return found.length > 0 && found;
  });
  const output = verdicts.findIndex((v) => v.includes("output history"));
  assert.match(verdicts[output], /24\.00 MiB of numpy.*Out\[/s);
  await page.reveal(".jp-ipytracer-section");
  await picture(page, `lab-objects-${mode}.png`);
  assert.deepEqual(await page.outOfSight(), [], "columns of variables that are out of sight");
  await page.show("more39");
  await page.press(`.jp-ipytracer-verdict:nth-of-type(${output + 1}) button`);
  assert.equal(await page.until("the cell that shows it", () => page.activeInSight()), "small");
  await page.unfold("vars");
  const asked = (await page.questions()).length;
  await page.run("more3");
  assert.equal((await page.questions()).slice(asked).includes("vars"), false, "asked though it is closed");
}

/** What a page has that is loaded again, and what is left after a restart of the kernel. */
async function again(page, mode) {
  await page.saved();
  const file = readFileSync(`${work}/notebooks/figures-${mode}.ipynb`, "utf8");
  assert.doesNotMatch(file, /consumed|text\/html|ipytracer\/lab/, "figures were saved");
  await page.reload();
  remember(`${mode} after a reload`, await page.shown("grow"));
  remember(`${mode} after a reload`, await page.shown("fails"));
  const before = await page.shown("grow");
  await page.restart();
  await page.until("that it was before the restart", async () => (await page.shown("grow")).text.includes("↺"));
  for (const id of ["load", "numpy", "grow"]) {
    await page.run(id);
  }
  const after = await page.until("a run in the new kernel", async () => {
    const badge = await page.shown("grow");
    return badge.window > before.window && !badge.text.includes("▶") && badge;
  });
  remember(`${mode} after a restart`, after);
  assert.doesNotMatch(after.text, /↺/);
  assert.match(after.text, /Δ /);
}

/** Without a tracer the panel has a button that has a server begin a session. The cells behind that have figures. */
async function starts(browser) {
  execFileSync("/usr/bin/python3", [`${here}/notebook.py`, `${work}/notebooks/start.ipynb`, "1"]);
  const page = await Page.open(browser, info, "start.ipynb");
  await page.run("load");
  assert.match(await page.output("load"), /no tracer listens yet; .*type in a cell: %tracer start/);
  const status = await page.until("the status bar", () => page.status());
  assert.equal(status.text, "no tracer");
  await page.command("ipytracer:open");
  await page.until("the button", () => page.find(".jp-ipytracer-panel", "Start tracing"));
  await picture(page, "lab-start.png");
  await page.press("button.jp-ipytracer-start");
  await page.until("that a session begins", () => page.find(".jp-ipytracer-panel", "a session begins"));
  await page.until("that the tracer listens, though no cell runs", () =>
    page.find(".jp-ipytracer-panel", "No cell has run yet"),
  );
  await page.run("numpy");
  await page.run("grow");
  const badge = await page.final("grow");
  assert.ok(badge.need >= 128 << 20 && badge.need < 130 << 20, `np.ones(16 << 20) needs ${badge.need} bytes`);
  assert.deepEqual(
    page.errors.filter((e) => /ipytracer|comm/i.test(e)),
    [],
  );
  await page.close();
}

async function notebook(browser, mode, theme) {
  settings("@jupyterlab/notebook-extension:tracker", { windowingMode: mode });
  settings("@jupyterlab/apputils-extension:themes", { theme });
  settings("@jupyterlab/apputils-extension:notification", { fetchNews: "false", checkForUpdates: false });
  execFileSync("/usr/bin/python3", [`${here}/notebook.py`, `${work}/notebooks/figures-${mode}.ipynb`, "40"]);
  const page = await Page.open(browser, info, `figures-${mode}.ipynb`);
  for (const part of [allRun, changed, before, panel, objects, again]) {
    await part(page, mode);
    console.log(`${mode}, ${theme}: ${part.name}`);
  }
  assert.deepEqual(
    page.errors.filter((e) => /ipytracer|comm/i.test(e)),
    [],
  );
  await page.close();
}

const browser = await puppeteer.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox"],
  userDataDir: `${work}/browser`,
  timeout: PATIENCE,
  protocolTimeout: 3 * PATIENCE,
});
try {
  if (what === "start") {
    await starts(browser);
    console.log("start: a session by the button");
  } else {
    for (const [mode, theme] of MODES) {
      await notebook(browser, mode, theme);
    }
    writeFileSync(`${work}/seen.json`, JSON.stringify(seen));
  }
} finally {
  await browser.close();
}
