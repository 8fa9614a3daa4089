// Uses pages as users do: zoom, move, point, choose, go to a peak, print, read on a narrow screen.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { drawn } from "../browser.mjs";
import { cellsOf, Truth, written } from "./truth.mjs";
import { chosen, click, compare, folder, sizes, start, stop, visit } from "./visit.mjs";

before(start);
after(stop);
const limit = { timeout: 300_000 };

/** Returns the place of an element on the screen. */
const place = async (page, selector) => {
  await page.evaluate((s) => document.querySelector(s).scrollIntoView({ block: "center" }), selector);
  return page.evaluate((s) => {
    const b = document.querySelector(s).getBoundingClientRect();
    return { x: b.x, y: b.y, width: b.width, height: b.height };
  }, selector);
};
/** Returns the begin and the end of the timeline's view, in nanoseconds. */
const shown = (page) =>
  page.evaluate(() => document.querySelector("canvas.timeline").dataset.shown.split(" ").map(Number));
const tip = (page) => page.evaluate(() => [...document.querySelectorAll(".tip.shown div")].map((e) => e.textContent));
const near = (got, want, by, what) => assert.ok(Math.abs(got - want) <= by, `${what}: ${got}, not ${want} ± ${by}`);

/** Points at a time of the timeline, in one of its lanes. */
async function pointAt(page, ns, y = 60) {
  const at = await place(page, "canvas.timeline"),
    [from, to] = await shown(page);
  await page.mouse.move(at.x + ((ns - from) / (to - from)) * at.width, at.y + y);
  await drawn(page);
}

test("the timeline zooms and moves: by keys, wheel, buttons and dragging", limit, async () => {
  await visit("session", async (page) => {
    const whole = await shown(page),
      length = whole[1];
    assert.equal(whole[0], 0);
    await page.keyboard.press("+");
    near((await shown(page))[1] - (await shown(page))[0], length / 2, 2, "half of it");
    await page.focus("canvas.timeline");
    const before = await shown(page);
    await page.keyboard.press("ArrowRight");
    near((await shown(page))[0] - before[0], length / 10, 2, "moved by a fifth of what is seen");
    await page.keyboard.press("-");
    await page.keyboard.press("0");
    assert.deepEqual(await shown(page), whole);
    const at = await place(page, "canvas.timeline"),
      x = at.x + at.width / 4;
    await page.mouse.move(x, at.y + 60);
    await page.mouse.wheel({ deltaY: -300 }); // it has the focus
    await page.waitForFunction(
      (n) => {
        const [a, b] = document.querySelector("canvas.timeline").dataset.shown.split(" ");
        return b - a < 0.9 * n;
      },
      { timeout: 60_000 },
      length,
    );
    const zoomed = await shown(page);
    near(
      zoomed[0] + (zoomed[1] - zoomed[0]) / 4,
      length / 4,
      length / at.width,
      "what is under the pointer stays there",
    );
    const cell = await chosen(page);
    await page.mouse.down();
    await page.mouse.move(x - 100, at.y + 60, { steps: 4 });
    await page.mouse.up();
    const dragged = await shown(page);
    near(
      dragged[0] - zoomed[0],
      (100 / at.width) * (zoomed[1] - zoomed[0]),
      (2 * (zoomed[1] - zoomed[0])) / at.width,
      "moved by what was dragged",
    );
    near(dragged[1] - dragged[0], zoomed[1] - zoomed[0], 2, "as wide as before");
    assert.equal(await chosen(page), cell, "dragging chooses no cell");
    await page.mouse.click(x, at.y + 60, { clickCount: 2 });
    assert.deepEqual(await shown(page), whole);
  });
});

test(
  "the timeline says the cell, the line and the figures under the pointer, and a click opens that cell",
  limit,
  async () => {
    const truth = new Truth(folder, "session"),
      w = cellsOf(truth)[7];
    const line = truth.report.windows.find((s) => s.kind === "statement" && s.parent === w.id && s.line === 3);
    await visit("session", async (page) => {
      for (let i = 0; i < 4; i++) await page.keyboard.press("+"); // a statement is some pixels wide
      await page.focus("canvas.timeline");
      while ((await shown(page))[0] > w.start_ns) await page.keyboard.press("ArrowLeft");
      const ns = line.start_ns + line.duration_ns / 2;
      await pointAt(page, ns);
      const told = await tip(page);
      assert.equal(told[1], `In[${w.execution_count}] line 3: ${w.source.split("\n")[2].trim()}`);
      const track = truth.report.timeline.find((t) => t.pid === w.pid && t.meter === "cpu.mapped" && !t.tree);
      let value = 0;
      for (let i = 0, at = 0; i < track.change.length && (at += track.elapsed_ns[i]) <= ns; i++)
        value += track.change[i];
      assert.ok(told.includes("mapped: " + written(value)), `${told.join(" | ")} has no mapped: ${written(value)}`);
      const { x, y } = await page.evaluate(() => {
        const t = document.querySelector(".tip").getBoundingClientRect();
        return { x: t.left, y: t.top };
      });
      assert.ok(x >= 0 && y >= 0, "what it says is on the screen");
      const at = await place(page, "canvas.timeline"),
        [from, to] = await shown(page);
      await page.mouse.click(at.x + ((ns - from) / (to - from)) * at.width, at.y + 60);
      await drawn(page);
      assert.ok((await chosen(page)).startsWith(`In[${w.execution_count}] `), await chosen(page));
    });
  },
);

test("the highest of each meter leads to its cell", limit, async () => {
  const truth = new Truth(folder, "session");
  await visit("session", async (page) => {
    const meters = await page.evaluate(() => [...document.querySelectorAll("button.peak")].map((b) => b.dataset.meter));
    assert.ok(meters.includes("cpu.resident") && meters.includes("cpu.numpy"), meters.join());
    for (const [i, meter] of meters.entries()) {
      await click(page, "button.peak", i);
      await drawn(page);
      const title = await chosen(page),
        w = cellsOf(truth).find((c) => title.startsWith(`In[${c.execution_count}] `));
      assert.equal(w.meters[meter].peak, truth.top(w.pid, meter), `${meter}: ${title}`);
    }
  });
});

/** Returns the memory at a cell's peak, by the outermost call. */
function outermost(truth, w, meter) {
  const sums = new Map();
  for (const a of truth.allocations(String(w.id), meter)) {
    const f = truth.frames(a.stack).at(-1),
      key = f ? `${f.function}:${f.line}:${f.execution}` : "?";
    sums.set(key, (sums.get(key) ?? 0) + a.at_peak);
  }
  return [...sums.values()].sort((a, b) => b - a);
}

test("the icicle and the flame graph of a cell have its figures, zoom in and out", limit, async () => {
  const truth = new Truth(folder, "rich"),
    w = cellsOf(truth).find((c) => c.allocations?.some((a) => a.meter === "cpu.numpy" && a.at_peak > 0));
  await visit("rich", async (page) => {
    await page.evaluate(
      (label) => [...document.querySelectorAll(".row")].find((r) => r.textContent.startsWith(label)).click(),
      `In[${w.execution_count}]`,
    );
    await drawn(page);
    const [largest] = outermost(truth, w, "cpu.numpy");
    for (const view of ["icicle", "flame"]) {
      await page.keyboard.press(view[0]);
      await drawn(page);
      await page.evaluate(() =>
        [...document.querySelectorAll(".cell .tab-row [role=tab]")].find((b) => b.textContent === "numpy").click(),
      );
      await drawn(page);
      const at = await place(page, "canvas.flame"),
        level = (n) => (view === "icicle" ? at.y + n * 20 + 10 : at.y + at.height - n * 20 - 10);
      const over = async (x, n) => {
        await page.mouse.move(at.x + x, level(n));
        await drawn(page);
        return tip(page);
      };
      const told = await over(6, 1);
      assert.ok(
        told.some((t) => t.startsWith(written(largest) + " ")),
        `${view}: ${told.join(" | ")} has no ${written(largest)}`,
      );
      await page.mouse.click(at.x + 6, level(1));
      await drawn(page);
      assert.deepEqual(await over(at.width - 12, 1), told, `${view}: what was clicked has all the width`);
      await page.mouse.click(at.x + 6, level(0));
      await drawn(page);
      assert.deepEqual(await over(6, 1), told, `${view}: it is as before`);
      await page.focus("canvas.flame");
      for (const key of [view === "icicle" ? "ArrowDown" : "ArrowUp", "Enter", "Escape"])
        await page.keyboard.press(key);
      assert.ok(
        (await page.evaluate(() => document.querySelector(".matched").textContent)).length > 0,
        "keys say what is chosen",
      );
    }
  });
});

test("paper is light, has every cell and part, and nothing is cut off", limit, async () => {
  for (const name of ["lines", "session"]) {
    const truth = new Truth(folder, name),
      seen = new Set();
    await visit(name, async (page) => {
      const state = () =>
        page.evaluate(() => ({
          ink: getComputedStyle(document.body).color,
          theme: document.documentElement.dataset.theme,
          paper: document.querySelector(".paper") !== null,
        }));
      const bright = (await state()).ink;
      await page.keyboard.press("d");
      const dark = await state();
      assert.notEqual(dark.ink, bright);
      await page.setViewport({ width: 794, height: 1123 }); // A4 at 96 dots an inch
      await page.emulateMediaType("print");
      await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
      await drawn(page);
      assert.equal((await state()).ink, bright, "dark ink on white paper");
      const paper = await page.evaluate(() => ({
        hidden: getComputedStyle(document.querySelector(".columns")).display,
        text: document.querySelector(".paper").innerText,
        wide: document.documentElement.scrollWidth,
        parts: document.querySelectorAll(".paper h2").length,
        buttons: [...document.querySelectorAll("button:not(.link)")].filter((b) => b.offsetParent !== null).length,
      }));
      assert.equal(paper.hidden, "none");
      assert.equal(paper.buttons, 0);
      for (const w of cellsOf(truth).filter((c) => c.execution_count && !c.silent))
        assert.ok(paper.text.includes(`In[${w.execution_count}]`), `In[${w.execution_count}] is not on paper`);
      assert.ok(paper.parts >= 4, `${paper.parts} parts`);
      assert.ok(paper.wide <= 794, `${name}: ${paper.wide} pixels wide`);
      compare(await sizes(page), truth, seen);
      await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
      await page.emulateMediaType("screen");
      assert.deepEqual(await state(), dark, "after printing it is as before");
      const pdf = Buffer.from(await page.pdf({ format: "A4", timeout: 120_000 }));
      assert.equal(pdf.subarray(0, 5).toString(), "%PDF-");
    });
  }
});

test("it is as light or dark as the system, unless one was chosen", limit, async () => {
  await visit("rich", async (page) => {
    const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await back();
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
    const dark = await back();
    assert.notEqual(dark, light);
    for (const want of [dark, light, dark]) {
      await page.keyboard.press("d");
      assert.equal(await back(), want);
    } // dark, light, as the system has it
  });
});

test("on a narrow screen nothing is wider than the screen", limit, async () => {
  for (const name of ["rich", "session", "markup", "lines"]) {
    await visit(name, async (page) => {
      await page.setViewport({ width: 400, height: 900 });
      await drawn(page);
      for (const tab of ["cell", "advice", "leaks", "variables", "lines", "processes", "certificate"]) {
        await click(page, `[data-tab=${tab}]`);
        await drawn(page);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(wide <= 400, `${name}, ${tab}: ${wide} pixels`);
      }
    });
  }
});

test("sources that are read after the page is drawn are those of their cells", limit, async () => {
  const truth = new Truth(folder, "long");
  const first = (text) => {
    const all = text
      .split("\n")
      .map((l) => l.trim())
      .filter((l) => l !== "")
      .join(" ⏎ ");
    return all.length > 200 ? all.slice(0, 200) + "…" : all;
  };
  await visit("long", async (page) => {
    const found = await page.evaluate(async () => {
      const list = document.querySelector(".list-scroll"),
        all = {};
      for (let top = 0; top < list.scrollHeight; top += 300) {
        list.scrollTop = top;
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        for (const row of document.querySelectorAll(".row"))
          all[row.querySelector(".row-name").textContent] = row.querySelector(".row-source").textContent;
      }
      return all;
    });
    for (const w of cellsOf(truth))
      assert.equal(found[`In[${w.execution_count}]`], first(w.source), `In[${w.execution_count}]`);
  });
});

test("words say what they mean, by pointing and in the list behind ?, and cells show their source", limit, async () => {
  await visit("session", async (page) => {
    await page.setViewport({ width: 1280, height: 800 });
    for (const key of ["1", "2", "3", "4", "5", "6", "7", "l"]) {
      await page.keyboard.press(key);
      await drawn(page);
      const silent = await page.evaluate(() =>
        [...document.querySelectorAll("th, .headline dt, .list-head *")]
          .filter((e) => e.textContent.trim() !== "" && e.title === "")
          .map((e) => e.textContent),
      );
      assert.deepEqual(silent, [], `key ${key}`);
    }
    await page.keyboard.press("?");
    await click(page, "dialog summary");
    const [explained, titles] = await page.evaluate(() => [
      document.querySelector("dialog .terms").innerText,
      [...document.querySelectorAll(".headline dt")].map((e) => e.title),
    ]);
    assert.ok(titles.length > 3);
    for (const title of titles) assert.ok(explained.includes(title), title);
    const source = await page.evaluate(() => document.querySelector(".row .row-source").getBoundingClientRect().width);
    assert.ok(source >= 200, `the source is ${source} pixels wide`);
  });
});
