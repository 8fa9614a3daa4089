// Opens the site of cmd/site in Chromium, as a folder that a plain web server serves: $TRACER_SITE, which `make
// test-page` writes.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { basename, extname, join } from "node:path";
import { after, before, test } from "node:test";
import { open } from "../browser.mjs";

const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".gz": "application/octet-stream" };
const root = new URL("../../../../..", import.meta.url).pathname;
const recordings = join(root, "testdata", "recording");
const asked = [];
let work, site, server, base, chromium, page;

before(async () => {
  work = mkdtempSync(join(tmpdir(), "ipytracer-site-"));
  site = process.env.TRACER_SITE;
  assert.ok(site, "TRACER_SITE is not set: make test-page");
  server = createServer((request, response) => {
    asked.push(request.url);
    const name = basename(new URL(request.url, "http://localhost").pathname) || "index.html";
    try {
      const content = readFileSync(join(site, name));
      response.writeHead(200, { "Content-Type": types[extname(name)] ?? "text/plain" }).end(content);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  base = `http://127.0.0.1:${server.address().port}/`;
  chromium = await open();
});

after(async () => {
  await chromium.close();
  server.close();
  rmSync(work, { recursive: true, force: true });
});

/** Opens the site anew, and chooses a file. */
async function choose(path, width = 1280) {
  page = await chromium.browser.newPage();
  await page.setViewport({ width, height: 900 });
  page.problems = [];
  page.on("pageerror", (error) => page.problems.push(String(error)));
  page.on("console", (line) => line.type() === "error" && page.problems.push(line.text()));
  await page.goto(base);
  await (await page.$("#file")).uploadFile(path);
}

const state = () => page.$eval("#state", (element) => element.textContent);

const shown = async () => {
  await page.waitForFunction(() => document.body.dataset.opened === "1", { timeout: 120_000 });
  const frame = await (await page.$("#frame")).contentFrame();
  await frame.waitForFunction(() => document.documentElement.dataset.ready === "true", { timeout: 120_000 });
  return frame;
};

test("a recording is shown as the page that tracer report writes", async () => {
  await choose(join(recordings, "format7.arrows"));
  const frame = await shown();
  assert.match(await frame.evaluate(() => document.body.innerText), /highest/i);
  assert.equal(await state(), "");
  assert.deepEqual(page.problems, []);
  const own = ["/", "/site.css", "/site.js", "/worker.js", "/wasm_exec.js", "/tracer.wasm.gz"];
  assert.deepEqual([...asked].sort(), own.sort()); // nothing of the recording, and nothing of anybody else
});

test("a file that is no recording is refused in one sentence", async () => {
  const path = join(work, "other.arrows");
  writeFileSync(path, "this is no recording");
  await choose(path);
  await page.waitForFunction(() => document.getElementById("state").textContent.includes("could not"));
  assert.match(await state(), /this is no recording/);
  assert.equal(await page.$eval("#report", (element) => element.hidden), true);
});

test("a recording that was cut says so", async () => {
  const whole = readFileSync(join(recordings, "format7.arrows"));
  const path = join(work, "cut.arrows");
  writeFileSync(path, whole.subarray(0, Math.floor(whole.length * 0.7)));
  await choose(path, 375);
  await page.waitForFunction(() => /exact|could not/.test(document.getElementById("state").textContent));
  assert.match(await state(), /no figure of it is exact/);
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 375);
});
