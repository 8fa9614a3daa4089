// Pages in Chromium and in Firefox, on wide and narrow screens, light and dark: nobody is kept from reading them.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { gunzipSync } from "node:zlib";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { BROWSERS, complete, drawn, openIn } from "../browser.mjs";
import { accessible, SCHEMES, WIDTHS } from "./axe.mjs";
import { click, folder } from "./visit.mjs";

const root = new URL("../../../../..", import.meta.url).pathname;
const tracer = process.env.TRACER;
let work;
before(() => {
  assert.ok(tracer, "TRACER is not set: make test-page");
  work = mkdtempSync(join(tmpdir(), "ipytracer-access-"));
});
after(() => {
  for (const one of [work, folder]) rmSync(one, { recursive: true, force: true });
});

const TABS = ["cell", "advice", "leaks", "variables", "lines", "processes", "certificate"];

/** Shows every part of a page, and every view of the cell, and looks at each. */
async function parts(page, look) {
  for (const tab of TABS) {
    assert.ok(await click(page, `[data-tab=${tab}]`), tab);
    await drawn(page);
    await look(tab);
  }
  await click(page, "[data-tab=cell]");
  await drawn(page);
  const views = await page.evaluate(() => document.querySelectorAll(".cell [role=tab]").length);
  for (let i = 0; i < views; i++) {
    await click(page, ".cell [role=tab]", i);
    await drawn(page);
    await look(`view ${i}`);
  }
  await page.keyboard.press("?");
  await drawn(page);
  await look("keys");
}

for (const name of BROWSERS)
  for (const scheme of SCHEMES) {
    test(`${name}, ${scheme}: no page keeps anybody from reading it`, { timeout: 600_000 }, async () => {
      const { browser, close } = await openIn(name, scheme);
      try {
        for (const of of name === "chromium" ? ["rich", "lines", "session", "markup"] : ["rich"])
          for (const width of WIDTHS) {
            const page = await browser.newPage();
            await page.setViewport({ width, height: 900 });
            await page.goto(`file://${join(folder, of + ".html")}`);
            await complete(page);
            const isDark = await page.evaluate(() => matchMedia("(prefers-color-scheme: dark)").matches);
            assert.equal(isDark, scheme === "dark");
            await parts(page, (what) => accessible(page, `${of}, ${what}, ${width} pixels`));
            await page.close();
          }
        for (const path of findings())
          for (const width of WIDTHS) {
            const page = await browser.newPage();
            await page.setViewport({ width, height: 900 });
            await page.goto(`file://${path}`);
            await accessible(page, `${path}, ${width} pixels`);
            const wide = await page.evaluate(() => document.documentElement.scrollWidth);
            assert.ok(wide <= width, `${path}: ${wide} pixels wide`);
            await page.close();
          }
      } finally {
        await close();
      }
    });
  }

/** Returns the pages without scripts that the tracer writes of its findings. */
function findings() {
  const recordings = ["notebook", "advice"].map((of) => {
    const path = join(work, of + ".arrows");
    writeFileSync(path, gunzipSync(readFileSync(join(root, "docs", "pictures", of + ".arrows.gz"))));
    return path;
  });
  return [
    ["audit", 1],
    ["advise", 1],
    ["diff", 2],
    ["plan", 2],
  ].map(([command, n]) => {
    const path = join(work, command + ".html");
    const inputs = command === "advise" ? [recordings[1]] : recordings.slice(0, n);
    execFileSync(tracer, [command, ...inputs, "-q", "--format", "html", "-o", path], { stdio: "pipe" });
    return path;
  });
}
