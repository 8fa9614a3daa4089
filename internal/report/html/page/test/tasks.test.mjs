// Does the tasks of a new user on pages, in the fewest possible clicks.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { drawn } from "../browser.mjs";
import { cellsOf, Truth, written } from "./truth.mjs";
import { chosen, click, folder, start, stop, visit } from "./visit.mjs";

before(start);
after(stop);
const limit = { timeout: 300_000 };

test("an outsider's tasks take a click each", limit, async () => {
  const truth = new Truth(folder, "session"),
    top = (w) => Math.max(w.meters["cpu.resident"].peak, w.tree?.["cpu.resident"]?.peak ?? 0);
  await visit("session", async (page) => {
    // the line behind the peak: a click on the first answer
    const cell = cellsOf(truth).reduce((a, b) => (top(b) > top(a) ? b : a));
    const need = Math.max(
      ...[cell.meters, cell.tree ?? {}]
        .map((of) => of["cpu.resident"])
        .filter(Boolean)
        .map((f) => f.peak - f.start),
    );
    // The first statement that came within a tenth of the cell's need.
    const line = truth.report.windows.find(
      (w) => w.kind === "statement" && w.parent === cell.id && top(w) >= top(cell) - need / 10,
    );
    await click(page, ".headline .first button");
    await drawn(page);
    assert.ok((await chosen(page)).startsWith(`In[${cell.execution_count}] `), await chosen(page));
    assert.equal(
      await page.evaluate(() => document.querySelector(".source tr.sought .code")?.textContent),
      cell.source.split("\n")[line.line - 1],
    );
  });
  await visit("session", async (page) => {
    // every cell that an answer names is a link to it
    const named = await page.evaluate(() =>
      [...document.querySelectorAll(".headline dd:not(.first) button")].map((b) => b.textContent),
    );
    assert.ok(named.length > 0);
    for (const [i, text] of named.entries()) {
      await click(page, ".headline dd:not(.first) button", i);
      await drawn(page);
      if (text === "tracer audit") continue;
      assert.ok((await chosen(page)).startsWith(/^In\[\d+\]/.exec(text)[0] + " "), `${text}: ${await chosen(page)}`);
    }
  });
  const { audit } = new Truth(folder, "lines");
  await visit("lines", async (page) => {
    // the code to type: a click on Leaks
    await click(page, "[data-tab=leaks]");
    await drawn(page);
    const told = await page.evaluate(() => document.querySelector(".verdict").textContent),
      first = audit.verdicts[0];
    for (const text of [written(first.bytes), first.advice]) assert.ok(told.includes(text), `${told} has no ${text}`);
  });
});

test("what to type is listed whole, and a button copies it", limit, async () => {
  const { report, audit } = new Truth(folder, "lines");
  await visit("lines", async (page) => {
    for (const tab of ["variables", "leaks"]) {
      await click(page, `[data-tab=${tab}]`);
      await drawn(page);
      assert.deepEqual(
        await page.evaluate(() => [...document.querySelectorAll(".free dd code")].map((e) => e.textContent)),
        report.to_free.map((f) => f.type),
        tab,
      );
      const about = await page.evaluate(() =>
        [...document.querySelectorAll(".free dd .quiet")].map((e) => e.textContent),
      );
      assert.deepEqual(
        about,
        report.to_free.map((f) => f.names.join(", ")),
        tab,
      );
    }
    const fixes = audit.verdicts.map((v) => v.fix).filter(Boolean);
    assert.deepEqual(
      await page.evaluate(() => [...document.querySelectorAll(".verdict code.fix")].map((e) => e.textContent)),
      fixes,
    ); // with its lines
    const all = [...report.to_free.map((f) => f.type), ...fixes];
    for (const refuses of [false, true]) {
      await page.evaluate((no) => {
        // where a page may not write to the clipboard, the code is selected
        window.taken = [];
        Object.defineProperty(navigator, "clipboard", {
          configurable: true,
          value: {
            writeText: async (text) => {
              if (no) throw new Error("no");
              window.taken.push(text);
            },
          },
        });
        document.execCommand = () => {
          window.taken.push(String(getSelection()));
          return true;
        };
      }, refuses);
      for (const i of all.keys()) await click(page, "button.copy", i);
      await drawn(page);
      assert.deepEqual(await page.evaluate(() => window.taken), all);
      assert.ok(
        await page.evaluate(() =>
          [...document.querySelectorAll("button.copy")].every((b) => b.textContent === "copied"),
        ),
      );
    }
  });
});
