// Opens the built site in Chromium as any web server shows it: node test.mjs SITE. No link is dead, nothing is asked of
// anybody else, the search finds, and axe finds nothing.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { dirname, extname, join, normalize, resolve } from "node:path";
import { after, before, test } from "node:test";

import { open } from "../../internal/report/html/page/browser.mjs";
import { groups, root } from "./pages.mjs";

const site = resolve(process.env.TRACER_DOCSITE ?? "");
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
const asked = [];
let server, base, chromium;

/** Returns the file that an address of the site shows, null where there is none. */
function fileOf(path) {
  const name = normalize(join(site, decodeURIComponent(path)));
  return (
    [name, name + ".html", join(name, "index.html")].find((one) => existsSync(one) && statSync(one).isFile()) ?? null
  );
}

before(async () => {
  assert.ok(process.env.TRACER_DOCSITE, "TRACER_DOCSITE is not set: make test-site");
  server = createServer((request, response) => {
    const file = fileOf(new URL(request.url, "http://localhost").pathname);
    if (!file) {
      response.writeHead(404).end();
    } else {
      response.writeHead(200, { "Content-Type": types[extname(file)] ?? "text/plain" }).end(readFileSync(file));
    }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  base = `http://127.0.0.1:${server.address().port}/`;
  chromium = await open("--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1");
});

after(async () => {
  await chromium?.close();
  server?.close();
});

/** Opens a page of the site; what it asks for, and what goes wrong, is kept. */
async function visit(path, width = 1280) {
  const page = await chromium.browser.newPage();
  await page.setViewport({ width, height: 900 });
  page.problems = [];
  page.on("pageerror", (error) => page.problems.push(String(error)));
  page.on("console", (line) => line.type() === "error" && page.problems.push(line.text()));
  page.on("request", (request) => asked.push(request.url()));
  page.on("requestfailed", (request) => page.problems.push(`${request.url()} failed`));
  await page.goto(base + path, { waitUntil: "networkidle0" });
  return page;
}

const pages = () =>
  readdirSync(site, { recursive: true }).filter((name) => name.endsWith(".html") && name !== "404.html");

test("every link of every page leads to a page, a heading or a file of the site", () => {
  const ids = new Map();
  const idsOf = (file) => {
    if (!ids.has(file)) {
      ids.set(file, new Set([...readFileSync(file, "utf8").matchAll(/ id="([^"]+)"/g)].map((found) => found[1])));
    }
    return ids.get(file);
  };
  const dead = [];
  let looked = 0;
  for (const name of pages()) {
    for (const [, link] of readFileSync(join(site, name), "utf8").matchAll(
      /<(?:a|img|link|script)\b[^>]* (?:href|src)="([^"]+)"/g,
    )) {
      if (/^(https:|mailto:|data:)/.test(link)) {
        continue;
      }
      const [path, anchor] = link.replace(/&amp;/g, "&").split("#");
      const to = fileOf(path.startsWith("/") ? path : join("/", path ? join(dirname(name), path) : name));
      looked++;
      if (!to || (anchor && !idsOf(to).has(decodeURIComponent(anchor)))) {
        dead.push(`${name}: ${link}`);
      }
    }
  }
  assert.deepEqual(dead, []);
  assert.ok(looked > 1000, `${looked} links`);
});

test("every page of the contents is in the side bar", async () => {
  const page = await visit("docs/");
  const wanted = groups(readFileSync(join(root, "docs/README.md"), "utf8")).flatMap((group) => group.items);
  assert.ok(wanted.length > 60, `${wanted.length} entries`);
  const shown = await page.$$eval(".VPSidebar a", (all) => all.map((one) => one.textContent.trim()));
  assert.deepEqual(
    wanted.map((item) => item.text).filter((text) => !shown.includes(text)),
    [],
  );
  assert.deepEqual(page.problems, []);
});

test("the search finds a word, and leads to its place", async () => {
  const page = await visit("");
  await page.click(".VPNavBarSearch button");
  await page.waitForSelector(".VPLocalSearchBox input");
  await page.type(".VPLocalSearchBox input", "clear_refs");
  await page.waitForFunction(
    () =>
      document.querySelector(".VPLocalSearchBox .result")?.textContent.includes("alone") ||
      [...document.querySelectorAll(".VPLocalSearchBox .result")].some((one) =>
        one.textContent.includes("Without a tracer"),
      ),
  );
  await page.evaluate(() =>
    [...document.querySelectorAll(".VPLocalSearchBox .result")]
      .find((one) => one.textContent.includes("Without a tracer"))
      .click(),
  );
  await page.waitForFunction(
    () => location.pathname.endsWith("/docs/alone.html") && document.body.textContent.includes("clear_refs"),
  );
  assert.deepEqual(page.problems, []);
});

for (const [name, path] of [
  ["the first page", ""],
  ["the questions", "docs/faq.html"],
  ["a page of tables and pictures", "docs/lab.html"],
]) {
  for (const scheme of ["light", "dark"]) {
    test(`axe finds nothing wrong with ${name}, ${scheme}`, async () => {
      const page = await chromium.browser.newPage();
      await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
      await page.setBypassCSP(true); // axe is not the site's
      await page.setViewport({ width: 1280, height: 900 });
      await page.goto(base + path, { waitUntil: "networkidle0" });
      await page.evaluate(readFileSync(join(import.meta.dirname, "node_modules/axe-core/axe.min.js"), "utf8"));
      const { violations, passes } = await page.evaluate(() => window.axe.run());
      const found = violations.flatMap((one) =>
        one.nodes.map((node) => `${one.id}: ${node.html} ${node.failureSummary}`),
      );
      assert.deepEqual(found, []);
      assert.ok(passes.length > 10, `only ${passes.length} rules had anything to look at`);
    });
  }
}

test("the picture of one minute is shown, and moves for a minute", async () => {
  const page = await visit("");
  const [wide, source] = await page.$eval("main img", (image) => [image.naturalWidth, image.src]);
  assert.equal(wide, 960);
  const text = await page.evaluate(async (url) => (await fetch(url)).text(), source);
  assert.match(text, /\$ sudo tracer attach \d+[\s\S]*In\[4\][\s\S]*highest[\s\S]*Certificate/);
  assert.match(
    text,
    /prefers-reduced-motion:reduce[\s\S]*animation:60s|animation:60s[\s\S]*prefers-reduced-motion:reduce/,
  );
  assert.doesNotMatch(text, /<script|(?:href|src)="(?!data:image\/png)/);
});

test("pages fit a telephone", async () => {
  for (const path of ["", "docs/faq.html", "docs/where.html"]) {
    const page = await visit(path, 390);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(wide <= 0, `${path} is ${wide} pixels too wide`);
    assert.deepEqual(page.problems, []);
  }
});

test("nobody else was asked for anything, and the policy forbids it", async () => {
  const page = await visit("docs/reading.html");
  assert.ok(asked.length > 20, `${asked.length} requests`);
  assert.deepEqual(
    asked.filter((url) => !url.startsWith(base) && !url.startsWith("data:")),
    [],
  );
  const refused = await page.evaluate(() =>
    fetch("https://example.org/").then(
      () => "",
      (why) => String(why),
    ),
  );
  assert.match(refused, /Failed to fetch/);
  assert.match(page.problems.join("\n"), /Content Security Policy/);
});
