// Opens the pages of the fixtures in Chromium, goes through every possible choice, and compares each size on the page
// with the report's JSON. Meanwhile only the page's own program may run, and the page may request nothing.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { complete, drawn } from "../browser.mjs";
import { Truth, written } from "./truth.mjs";
import { browser, click, compare, folder, sizes, start, stop, visit } from "./visit.mjs";

before(start);
after(stop);

/** Chooses every row, every view and every part of a page. */
async function everything(page, look) {
  await look();
  const meters = await page.evaluate(() => document.querySelectorAll("header select option").length);
  const rows = Math.min(await page.evaluate(() => document.querySelectorAll(".row").length), 14);
  for (let meter = 0; meter < meters; meter++) {
    await page.evaluate((m) => {
      const s = document.querySelector("header select");
      s.selectedIndex = m;
      s.dispatchEvent(new Event("change"));
    }, meter);
    await drawn(page);
    await look();
    for (let row = 0; row < (meter === 0 ? rows : Math.min(rows, 3)); row++) {
      await click(page, ".row", row);
      await drawn(page);
      const buttons = await page.evaluate(() => document.querySelectorAll(".cell [role=tab]").length);
      await look();
      for (let i = 0; i < buttons; i++) {
        await click(page, ".cell [role=tab]", i);
        await drawn(page);
        await look();
      }
    }
  }
  for (const tab of ["advice", "leaks", "variables", "lines", "processes", "certificate", "cell"]) {
    await click(page, `[data-tab=${tab}]`);
    await drawn(page);
    await look();
  }
}

const names = readdirSync(folder)
  .filter((f) => f.endsWith(".html"))
  .map((f) => f.slice(0, -5))
  .sort();
test("there are pages, and sizes are written as everywhere", () => {
  assert.ok(names.includes("markup") && names.includes("rich") && names.length >= 8, names.join());
  let compared = 0;
  for (const name of names) {
    for (const [n, text] of Object.entries(JSON.parse(readFileSync(join(folder, name + ".texts.json"), "utf8")))) {
      assert.equal(written(n), text);
      compared++;
    }
  }
  assert.ok(compared > 500);
});

for (const name of names) {
  test(`${name}: every size is the report's, and nothing runs`, { timeout: 600_000 }, async () => {
    const truth = new Truth(folder, name),
      seen = new Set();
    await visit(name, (page) => everything(page, async () => compare(await sizes(page), truth, seen)));
    const cells = truth.report.windows.filter((w) => w.kind === "cell").length;
    assert.ok(cells === 0 || seen.size > 4 * Math.min(cells, 14), `${seen.size} sizes of ${cells} cells were compared`);
    if (name === "lines")
      for (const when of ["before", "in", "later", "unknown"])
        assert.ok(
          [...seen].some((of) => of.startsWith("named:") && of.endsWith(":" + when)),
          `no name made ${when} was compared`,
        );
  });
}

test("a search says what it matches, and what that sums up to", { timeout: 300_000 }, async () => {
  const truth = new Truth(folder, "rich");
  await visit("rich", async (page) => {
    const id = String(truth.report.windows.find((w) => w.kind === "cell" && w.allocations).id);
    await page.evaluate(() =>
      [...document.querySelectorAll(".row")].find((r) => r.textContent.startsWith("In[3]"))?.click(),
    );
    for (const text of ["concatenate", "ones", "inner", "loader"]) {
      await page.evaluate((t) => {
        const s = document.querySelector("input[type=search]");
        s.value = t;
        s.dispatchEvent(new Event("input"));
      }, text);
      await drawn(page);
      const found = (await sizes(page)).filter((s) => s.of === `match:${id}:cpu.numpy`);
      assert.equal(found.length, 1, text);
      assert.equal(Number(found[0].bytes), truth.matched(id, "cpu.numpy", text), text);
    }
  });
});

test("keys do what their list says", { timeout: 300_000 }, async () => {
  await visit("rich", async (page) => {
    const chosen = () => page.evaluate(() => document.querySelector(".row.chosen .row-name")?.textContent);
    const press = async (key) => {
      await page.keyboard.press(key);
      await drawn(page);
    };
    await press("h");
    const heaviest = await chosen();
    assert.equal(heaviest, await page.evaluate(() => document.querySelector(".row .row-name").textContent));
    await press("j");
    assert.notEqual(await chosen(), heaviest);
    await press("k");
    assert.equal(await chosen(), heaviest);
    await page.evaluate(() =>
      [...document.querySelectorAll(".row")].find((r) => r.textContent.startsWith("In[3]"))?.click(),
    );
    await press("i");
    assert.equal(
      await page.evaluate(() => document.querySelector(".cell [role=tab][aria-selected=true]").textContent),
      "Icicle",
    );
    await press("7");
    assert.equal(
      await page.evaluate(() => document.querySelector(".main-tabs [aria-selected=true]").dataset.tab),
      "certificate",
    );
    await press("/");
    await page.keyboard.type("np.ones");
    await drawn(page);
    assert.equal(
      await page.evaluate(() => [...document.querySelectorAll(".row")].every((r) => r.textContent.includes("np.ones"))),
      true,
    );
    await press("Escape");
    await press("?");
    assert.equal(await page.evaluate(() => document.querySelector("dialog").open), true);
    await press("Escape");
    const theme = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await theme();
    await press("d");
    assert.notEqual(await theme(), light);
  });
});

test("a page works in a sandbox that keeps nothing, as in a mail", { timeout: 300_000 }, async () => {
  const page = await browser().newPage(),
    amiss = [];
  try {
    page.on("pageerror", (e) => amiss.push(e.message));
    await page.setContent("<iframe sandbox='allow-scripts' style='width:1400px;height:900px'></iframe>");
    await page.evaluate(
      (html) => {
        document.querySelector("iframe").srcdoc = html;
      },
      readFileSync(join(folder, "rich.html"), "utf8"),
    );
    const frame = await page.waitForFrame((f) => f !== page.mainFrame() && f.url() === "about:srcdoc", {
      timeout: 120_000,
    });
    await complete(frame);
    assert.ok((await frame.evaluate(() => document.querySelectorAll(".row").length)) > 3);
    await frame.evaluate(() => document.querySelector("header button").click());
    assert.deepEqual(amiss, []);
  } finally {
    await page.close();
  }
});
