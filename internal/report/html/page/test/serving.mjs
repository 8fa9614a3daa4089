// The site of cmd/site, as a folder that a plain web server serves: $TRACER_SITE, which `make test-page` writes.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { basename, extname, join } from "node:path";

const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".gz": "application/octet-stream" };

/** Serves the site to this machine, and notes what it is asked for. */
export async function serve() {
  const site = process.env.TRACER_SITE,
    asked = [];
  assert.ok(site, "TRACER_SITE is not set: make test-page");
  const server = createServer((request, response) => {
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
  return { asked, base: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}

/** Opens the site anew. page.problems has what went wrong, and what was asked of others. */
export async function visitSite(browser, base, width) {
  const page = await browser.newPage();
  await page.setViewport({ width, height: 900 });
  page.problems = [];
  page.on("pageerror", (error) => page.problems.push(String(error)));
  page.on("console", (line) => line.type() === "error" && page.problems.push(line.text()));
  page.on("request", (request) => {
    if (![base, "blob:" + base, "data:,"].some((own) => request.url().startsWith(own)))
      page.problems.push(request.url());
  });
  await page.goto(base);
  return page;
}

/** Waits until recordings are open, and returns the frame that shows them. */
export async function shown(page, timeout = 120_000) {
  await page.waitForFunction(() => document.body.dataset.opened === "1", { timeout });
  const frame = await (await page.$("#frame")).contentFrame();
  await frame.waitForFunction(() => document.querySelector("h1") !== null, { timeout: 120_000 });
  return frame;
}

export const state = (page) => page.$eval("#state", (element) => element.textContent);
