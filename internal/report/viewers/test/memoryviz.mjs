// PyTorch's own page for memory snapshots and its functions, of its source: the page draws as many blocks as were
// written, of the same sizes.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { buildSync } from "esbuild";
import { Report } from "./report.mjs";

const home = join(process.env.VIEWERS_DIR ?? "/var/tmp/ipytracer-viewers", "memory_viz-2.6.0");
const program = readFileSync(join(home, "viz/MemoryViz.js"));

/** Python with PyTorch's functions, and the snapshot as `s`. */
const python = (file, code) =>
  execFileSync(
    "/usr/bin/python3",
    [
      "-I",
      "-c",
      `import json, pickle, sys; sys.path.insert(0, sys.argv[1]); import _memory_viz as viz
s = pickle.load(open(sys.argv[2], "rb"))
${code}`,
      home,
      file,
    ],
    { encoding: "utf8", maxBuffer: 1 << 28 },
  );

/**
 * The library that the page loads from elsewhere, in the version it names; as one, so that its parts know the same
 * events.
 */
const d3 = buildSync({
  stdin: { contents: 'export * from "d3";', resolveDir: fileURLToPath(new URL("..", import.meta.url)) },
  bundle: true,
  format: "esm",
  write: false,
}).outputFiles[0].text;

/** A page that PyTorch's function has made; look gets it. */
async function shown(browser, page, html, look) {
  const amiss = [];
  await page.setRequestInterception(true);
  page.on("request", (r) => {
    if (r.url() === "http://memory-viz.test/") return r.respond({ contentType: "text/html", body: html });
    if (/^https:\/\/cdn\.jsdelivr\.net\/gh\/pytorch\/pytorch@main\/torch\/utils\/viz\/MemoryViz\.js$/.test(r.url()))
      return r.respond({
        contentType: "text/javascript",
        headers: { "access-control-allow-origin": "*" },
        body: program,
      });
    if (/^https:\/\/cdn\.skypack\.dev\/d3(-axis|-scale|-zoom|-brush)?@\d$/.test(r.url()))
      return r.respond({
        contentType: "text/javascript",
        headers: { "access-control-allow-origin": "*", "cache-control": "max-age=3600" },
        body: r.url().includes("/d3@") ? d3 : 'export * from "https://cdn.skypack.dev/d3@5";',
      });
    if (!r.url().endsWith("/favicon.ico")) amiss.push("request: " + r.url().slice(0, 200));
    return r.abort();
  });
  page.on("pageerror", (e) => amiss.push("error: " + e.message));
  page.on("dialog", (d) => {
    amiss.push("dialog: " + d.message());
    d.dismiss();
  });
  await page.goto("http://memory-viz.test/");
  await look();
  if (await page.evaluate(() => "pwned" in window)) amiss.push("something ran");
  assert.deepEqual(amiss, []);
}

/** Chooses a GPU, the last of the page's lists, and waits for its picture, which seen() is from then on. */
async function choose(page, device) {
  await page.waitForSelector("svg", { timeout: 120_000 });
  await page.evaluate((d) => {
    window.seen = () => [...document.body.children].findLast((e) => e.tagName === "DIV" && e.style.display !== "none");
    const list = [...document.querySelectorAll("select")].at(-1);
    list.selectedIndex = [...list.options].findIndex((o) => o.textContent === String(d));
    list.dispatchEvent(new Event("change"));
  }, device);
  await page.waitForFunction(() => seen().querySelector("svg"), { timeout: 120_000 });
}

async function timeline(browser, file, device, blocks) {
  const page = await browser.newPage();
  try {
    await shown(browser, page, python(file, `print(viz.trace_plot(s))`), async () => {
      await choose(page, device);
      const drawn = await page.evaluate(() =>
        [...seen().querySelector("svg").querySelectorAll("polygon")]
          .map((e) => ({ size: e.__data__.size, elem: e.__data__.elem }))
          .filter((d) => d.elem !== "summarized"),
      );
      assert.deepEqual(
        drawn.map((d) => d.size),
        blocks.map((b) => b.size),
        "what the timeline draws",
      );
      const first = await page.evaluate(() => {
        seen()
          .querySelector("polygon")
          .dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
        return seen().querySelector("pre").textContent;
      });
      assert.ok(first.includes(`(${blocks[0].size} bytes)`), first);
      for (const f of blocks[0].frames)
        if (f.name) assert.ok(first.includes(f.name) || /^at::|^\[/.test(f.name), `${f.name} is not in ${first}`);
    });
  } finally {
    await page.close();
  }
}

async function segments(browser, file, device, blocks) {
  const page = await browser.newPage();
  try {
    await shown(browser, page, python(file, `print(viz.segment_plot(s))`), async () => {
      await choose(page, device);
      await page.waitForFunction(
        (n) => seen().querySelectorAll("rect").length >= n,
        { timeout: 120_000 },
        blocks.length,
      );
      const drawn = await page.evaluate(() =>
        [...seen().querySelectorAll("rect")].map((e) => e.__data__?.size).filter((n) => n > 0),
      );
      for (const b of blocks) assert.ok(drawn.includes(b.size), `${b.size} is not among ${drawn}`);
    });
  } finally {
    await page.close();
  }
}

/** All of a snapshot, on each GPU it has. */
export async function snapshot(browser, folder, name) {
  const file = join(folder, name + ".pickle"),
    report = new Report(folder, name);
  const all = JSON.parse(python(file, 'print(json.dumps(s["segments"]))'));
  assert.ok(all.length > 0);
  const session = report.windows.find((w) => w.kind === "session");
  for (const s of all) {
    const peaks = ["active", "driver"].map((what) => session.meters[`gpu.${s.device}.${what}`]?.peak);
    assert.equal(s.total_size, peaks[0] || peaks[1], `GPU ${s.device}`);
    assert.equal(
      s.blocks.reduce((sum, b) => sum + b.size, 0),
      s.total_size,
    );
    await timeline(browser, file, s.device, s.blocks);
    await segments(browser, file, s.device, s.blocks);
  }
  // Its functions for terminals. What flame graphs are drawn from are lines that end in numbers.
  const bytes = all.reduce((sum, s) => sum + s.total_size, 0);
  for (const lines of ["viz.segments(s, lambda x: x)", "viz.memory(s, lambda x: x)"]) {
    const numbers = python(file, `print(${lines})`)
      .trim()
      .split("\n")
      .map((l) => Number(l.split(" ").at(-1)));
    assert.equal(
      numbers.reduce((a, b) => a + b, 0),
      bytes,
      lines,
    );
  }
  assert.match(python(file, "print(viz.trace(s))"), /alloc/);
  // a letter for 20 MiB of 80 GiB would be a long line
  const stats = python(file, "viz.PAGE_SIZE = 1 << 30\nprint(viz.segsum(s))");
  assert.match(stats, new RegExp(`segments: ${all.length}\n`));
  return pathToFileURL(file).href;
}
