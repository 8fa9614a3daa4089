// The packed extension in the real VS Code: figures of a notebook from a file in a folder that is not trusted, and of
// cells that run. PICTURE=FILE keeps a screenshot.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { pack, wrap } from "../pack.mjs";
import { add, install, start } from "./server.mjs";

const work = mkdtempSync(join(tmpdir(), "ipytracer-code-"));
const folder = join(work, "notebooks");
let page, end;

before(async () => {
  const python = join(import.meta.dirname, "../../python");
  const env = { ...process.env, PYTHONPATH: "src" };
  const sent = execFileSync("/usr/bin/python3", ["-m", "tests.front_end"], { cwd: python, env, timeout: 120000 });
  const { once } = JSON.parse(sent);
  const cell = (id, source, outputs) => ({ cell_type: "code", id, execution_count: 3, metadata: {}, source, outputs });
  const shown = [{ output_type: "display_data", metadata: {}, data: once[0] }];
  const cells = [
    cell("a", "x = 1", shown),
    cell("b", 'show("again")', shown),
    cell("c", 'show("long")', []),
    cell("d", "", [{ output_type: "stream", name: "stdout", text: "x" }]),
  ];
  const notebook = { nbformat: 4, nbformat_minor: 5, metadata: { language_info: { name: "python" } }, cells };
  mkdirSync(folder);
  writeFileSync(join(folder, "cells.ipynb"), JSON.stringify(notebook));
  writeFileSync(join(folder, "companion.json"), sent);

  install();
  const files = [join(work, "ipytracer.vsix"), join(work, "kernel.vsix")];
  await pack(files[0]);
  wrap(join(import.meta.dirname, "kernel"), files[1]);
  add(work, ...files);
  ({ page, end } = await start(work, folder));
});

after(async () => {
  if (process.env.PICTURE && page) {
    await page.screenshot({ path: process.env.PICTURE });
  }
  await end?.();
  rmSync(work, { recursive: true, force: true });
});

/** Clicks at what has this text, once it is there. */
async function click(selector, text, clicks = 1) {
  const find = (selector, text) => {
    const found = [...document.querySelectorAll(selector)].find((one) => one.textContent.trim() === text);
    const box = found?.getBoundingClientRect();
    return box?.width ? [box.x + box.width / 2, box.y + box.height / 2] : null;
  };
  const at = await (await page.waitForFunction(find, { polling: 100 }, selector, text)).jsonValue();
  await page.mouse.click(...at, { count: clicks });
}

/** Opens the notebook: again, where VS Code did not know notebooks yet, and has opened its text. */
async function opened() {
  for (let left = 10; left > 0; left--) {
    await click(".explorer-folders-view .label-name", "cells.ipynb", 2);
    const cell = await page.waitForSelector(".code-cell-row", { timeout: 5000 }).catch(() => null);
    if (cell) {
      return;
    }
    await (await page.$(".tab .codicon-close"))?.click();
  }
  assert.fail("the notebook does not open");
}

/** Waits until the items of a cell, the language left out, are as they should be. */
async function items(cell, wanted) {
  const get = (cell) => {
    const rows = [...document.querySelectorAll(".code-cell-row")].filter((row) => row.offsetHeight > 0);
    rows.sort((one, other) => one.getBoundingClientRect().top - other.getBoundingClientRect().top);
    return [...(rows[cell]?.querySelectorAll(".cell-contributed-items-left .cell-status-item") ?? [])].map(
      (item) => item.textContent,
    );
  };
  for (let left = 600; ; left--) {
    const found = await page.evaluate(get, cell);
    if (wanted(found)) {
      return found;
    }
    assert.ok(left > 0, `cell ${cell} has ${JSON.stringify(found)}`);
    await new Promise((done) => setTimeout(done, 100));
  }
}

const same = (expected) => (found) => JSON.stringify(found) === JSON.stringify(expected);
const NEED = "need 512.00 MiB";
const REST = ["consumed 1.00 MiB", "peaked 511.00 MiB", "total 101.00 MiB", "numpy 512.00 MiB", "1.47 s"];

test("a notebook of a folder that is not trusted has the figures that were saved", async () => {
  await click("a.monaco-button", "No, I don't trust the authors");
  await opened();
  await items(0, same([NEED, "saved", ...REST]));
  await items(1, same([NEED, "✎ edited since", "saved", ...REST]));
  await items(3, same([]));
});

test("cells that run show what they have so far, and then their figures; the window the process's", async () => {
  await click(".banner-message-actions a, .action-container a, .message-actions-container a", "Manage");
  await click("a.monaco-button", "Trust");
  await click(".tab .label-name", "cells.ipynb");
  await click(".notebook-label", "Run All");
  await items(2, (found) => found.includes("▶ runs 3.20 s"));
  const bar = (text) => [...document.querySelectorAll(".statusbar-item")].some((one) => one.textContent.includes(text));
  await page.waitForFunction(bar, { polling: 100 }, "▶ 101.00 MiB of 1.00 GiB (container)");
  await items(2, (found) => found.includes(NEED) && !found.includes("saved"));
  // Beside its own items, which say how long the cell took.
  await items(1, (found) => found.includes("need 600.00 MiB") && !found.includes("saved"));
});
