// Opens recordings on the site of cmd/site, in Chromium and in Firefox: what it shows and saves is what the tracer
// writes, by keyboard alone, and it asks nobody for anything.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { BROWSERS, complete, drawn, openIn } from "../browser.mjs";
import { accessible, SCHEMES, WIDTHS } from "./axe.mjs";
import { serve, shown, state, visitSite } from "./serving.mjs";

const root = new URL("../../../../..", import.meta.url).pathname;
const tracer = process.env.TRACER;
const work = mkdtempSync(join(tmpdir(), "ipytracer-site-"));
const whole = join(root, "testdata", "recording", "format7.arrows"),
  other = join(work, "advice.arrows");
writeFileSync(other, gunzipSync(readFileSync(join(root, "docs", "pictures", "advice.arrows.gz"))));
assert.ok(tracer, "TRACER is not set: make test-page");

after(() => rmSync(work, { recursive: true, force: true }));

/** Returns what a command of the tracer writes of recordings, in a format; null if it refuses. */
function written(command, format, recordings) {
  const to = join(work, "document");
  const full = command === "report" && format === "text" ? ["--full"] : [];
  try {
    const inputs = recordings.map((path) => basename(path));
    for (const path of recordings) writeFileSync(join(work, basename(path)), readFileSync(path));
    execFileSync(tracer, [command, ...inputs, "-q", ...full, "--format", format, "-o", to], {
      cwd: work,
      stdio: "pipe",
    });
  } catch {
    return null;
  }
  return readFileSync(to);
}

/** Waits for a saved file that has a content. */
async function saved(path, content) {
  for (let i = 0; i < 600; i++) {
    if (existsSync(path) && readFileSync(path).equals(content)) {
      rmSync(path);
      return;
    }
    await new Promise((done) => setTimeout(done, 100));
  }
  assert.fail(existsSync(path) ? `${path} has another content` : `${path} was not saved`);
}

/** Presses Tab, or Shift and Tab, until an element has the focus. */
async function tabTo(page, id) {
  for (let i = 0; i < 20; i++) {
    const way = await page.evaluate((to) => {
      const [from, target] = [document.activeElement, document.getElementById(to)];
      return from === target
        ? "there"
        : target.compareDocumentPosition(from) & Node.DOCUMENT_POSITION_FOLLOWING
          ? "back"
          : "on";
    }, id);
    if (way === "there") return;
    if (way === "back") await page.keyboard.down("Shift");
    await page.keyboard.press("Tab");
    if (way === "back") await page.keyboard.up("Shift");
  }
  assert.fail(`Tab does not reach ${id}`);
}

/** Chooses files, by keyboard alone. */
async function choose(page, ...paths) {
  await tabTo(page, "file");
  const chooser = page.waitForFileChooser();
  await page.evaluate(() => 1); // by then the browser knows who waits
  await page.keyboard.press("Enter");
  await (await chooser).accept(paths);
}

for (const name of BROWSERS) {
  describe(name, { timeout: 900_000 }, () => {
    let site, opened;
    before(async () => {
      site = await serve();
      opened = await openIn(name, "light");
    });
    after(async () => {
      await opened?.close();
      site?.close();
    });

    /** Opens the site, and the files on it. */
    const opens = async (paths, width = 1280) => {
      const page = await visitSite(opened.browser, site.base, width);
      await choose(page, ...paths);
      return page;
    };

    /** Saves each document that is offered, by keyboard alone, and compares it to the tracer's. */
    const saves = async (page, recordings) => {
      const names = await page.$$eval("#form option", (all) => all.map((one) => [one.parentElement.label, one.value]));
      const stem = recordings.map((path) => basename(path, ".arrows")).join("-");
      const endings = { text: ".txt", markdown: ".md", pprof: ".pb.gz", perfetto: ".pftrace" };
      let compared = 0;
      await tabTo(page, "form");
      await page.keyboard.press("Home");
      for (const [group, value] of names) {
        await tabTo(page, "form");
        assert.equal(await page.$eval("#form", (form) => form.value), value);
        const command = group.replace("tracer ", ""),
          format = value.replace(command + "-", "");
        await tabTo(page, "save");
        await new Promise((done) => setTimeout(done, 110)); // Chromium drops what a page saves beyond ten in a second
        await page.keyboard.press("Enter");
        const want = written(command, format, recordings);
        if (want) {
          const part = command === "report" ? "" : "." + command;
          const ending = format === "allocations-csv" ? ".allocations.csv" : (endings[format] ?? "." + format);
          await saved(join(opened.home, stem + part + ending), want);
          compared++;
        } else {
          await page.waitForFunction(() => document.getElementById("state").textContent.includes("could not"));
        }
        await page.waitForFunction(() => document.getElementById("save").ariaDisabled === "false");
        await page.focus("#form");
        await page.keyboard.press("ArrowDown");
      }
      return compared;
    };

    test("a recording is shown, and saved in every format, by keyboard alone", async () => {
      site.asked.length = 0;
      const page = await opens([whole]);
      const frame = await shown(page);
      await complete(frame);
      assert.match(await frame.evaluate(() => document.body.innerText), /highest/i);
      assert.equal(await state(page), "format7.arrows");
      assert.equal(await saves(page, [whole]), 16); // memory-viz needs a GPU's memory
      const own = ["/", "/site.css", "/site.js", "/worker.js", "/wasm_exec.js", "/tracer.wasm.gz"];
      assert.deepEqual([...site.asked].sort(), own.sort()); // nothing of the recording
      assert.deepEqual(page.problems, []);
      await page.close();
    });

    test("the report in it is read by keyboard alone", async () => {
      const page = await opens([whole]);
      const frame = await shown(page);
      await complete(frame);
      const focus = () => frame.evaluate(() => document.activeElement?.dataset.tab ?? document.activeElement?.tagName);
      for (let i = 0; i < 60 && (await focus()) !== "leaks"; i++) await page.keyboard.press("Tab");
      assert.equal(await focus(), "leaks");
      await page.keyboard.press("Enter");
      await drawn(frame);
      const title = await frame.evaluate(() => document.querySelector(".section").getAttribute("aria-label"));
      assert.equal(title, "Leaks");
      assert.equal(await focus(), "leaks", "the focus stays where it was");
      await page.keyboard.press("Tab");
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await drawn(frame);
      assert.equal(await focus(), "lines");
      assert.deepEqual(page.problems, []);
      await page.close();
    });

    test("two recordings are compared, and can be swapped", async () => {
      const page = await opens([whole, other]);
      const frame = await shown(page);
      assert.match(await frame.evaluate(() => document.body.innerText), /A → B/);
      assert.equal(await state(page), "format7.arrows → advice.arrows");
      assert.equal(await saves(page, [whole, other]), 4);
      await tabTo(page, "swap");
      await page.keyboard.press("Enter");
      await page.waitForFunction(() =>
        document.getElementById("state").textContent.startsWith("advice.arrows → format7"),
      );
      assert.equal(await saves(page, [other, whole]), 4);
      assert.deepEqual(page.problems, []);
      await page.close();
    });

    test("a file that is no recording is refused in one sentence", async () => {
      const path = join(work, "other.arrows");
      writeFileSync(path, "this is no recording");
      for (const paths of [[path], [whole, path]]) {
        const page = await opens(paths);
        await page.waitForFunction(() => document.getElementById("state").textContent.includes("could not"));
        assert.match(await state(page), /this is no recording/);
        assert.equal(await page.$eval("#report", (element) => element.hidden), true);
        await page.close();
      }
    });

    test("a recording that was cut says so", async () => {
      const content = readFileSync(whole),
        path = join(work, "cut.arrows");
      writeFileSync(path, content.subarray(0, Math.floor(content.length * 0.7)));
      const page = await opens([path], 375);
      await page.waitForFunction(() => /exact|could not/.test(document.getElementById("state").textContent));
      assert.match(await state(page), /no figure of it is exact/);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 375);
      await page.close();
    });

    for (const scheme of SCHEMES)
      test(`${scheme}: nobody is kept from using it`, async () => {
        const seen = await openIn(name, scheme);
        for (const width of WIDTHS) {
          const page = await visitSite(seen.browser, site.base, width);
          const wide = async (what) => {
            await accessible(page, `${what}, ${width} pixels`);
            const pixels = await page.evaluate(() => document.documentElement.scrollWidth);
            assert.ok(pixels <= width, `${what}: ${pixels} pixels wide`);
          };
          await wide("empty");
          await choose(page, whole);
          await complete(await shown(page));
          await wide("a recording");
          await accessible(await shown(page), "its report");
          await choose(page, whole, other);
          await page.waitForFunction(() => document.getElementById("state").textContent.includes("→"));
          await accessible(await shown(page), "its comparison");
          await wide("two recordings");
          await page.close();
        }
        await seen.close();
      });
  });
}
