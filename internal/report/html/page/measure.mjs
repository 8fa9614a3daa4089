// Says what pages take of a browser: the processor time of the page's own thread until all is drawn and every source is
// read, and the longest task while it opens, while its list is scrolled from end to end, and while its timeline is
// zoomed and moved. Processor time is what the kernel gave the thread: other work on the machine adds little to it. How
// long it took is said, too.
//
//	node internal/report/html/page/measure.mjs FILE.html...
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { complete, drawn, open, ready } from "./browser.mjs";

const RUNS = 5,
  folder = mkdtempSync(join(tmpdir(), "ipytracer-measure-")),
  trace = join(folder, "trace.json");

/** Returns the tasks of the page's thread during an action, in milliseconds of processor time. */
async function traced(page, does) {
  await page.tracing.start({ path: trace, categories: ["toplevel", "__metadata", "devtools.timeline"] });
  const began = performance.now();
  const wall = (await does()) ?? performance.now() - began;
  await page.tracing.stop();
  const events = JSON.parse(readFileSync(trace, "utf8")).traceEvents;
  // The page's own thread: the one that laid it out or drew its frames.
  const at = events.find((e) => e.name === "FireAnimationFrame" || e.name === "Layout");
  const tasks = events
    .filter(
      (e) => e.ph === "X" && e.pid === at?.pid && e.tid === at?.tid && /RunTask$/.test(e.name) && e.tdur !== undefined,
    )
    .map((e) => e.tdur / 1000);
  if (tasks.length === 0) throw new Error("the browser told of no task");
  return { wall, cpu: tasks.reduce((n, t) => n + t, 0), longest: Math.max(...tasks) };
}

const frames = (page, act, steps) =>
  page.evaluate(
    async (text, n) => {
      const step = {
        scroll: (i) => {
          const l = document.querySelector(".list-scroll");
          l.scrollTop = (i / n) * l.scrollHeight;
        },
        zoom: (i) => {
          const c = document.querySelector("canvas.timeline"),
            at = c.getBoundingClientRect();
          c.focus();
          c.dispatchEvent(
            new WheelEvent("wheel", {
              deltaY: i < n / 2 ? -60 : 60,
              ctrlKey: true,
              clientX: at.left + at.width * 0.4,
              clientY: at.top + 50,
              bubbles: true,
              cancelable: true,
            }),
          );
          if (i % 3 === 0)
            c.dispatchEvent(new KeyboardEvent("keydown", { key: i % 2 ? "ArrowLeft" : "ArrowRight", bubbles: true }));
        },
      }[text];
      for (let i = 0; i <= n; i++) {
        step(i);
        await new Promise((done) => requestAnimationFrame(done));
      }
    },
    act,
    steps,
  );

const middle = (all) => all.sort((a, b) => a - b)[all.length >> 1];
const said = (all, what) => {
  const times = all.map((x) => Math.round(x[what]));
  return `${middle(times)} ms (${Math.min(...times)} to ${Math.max(...times)})`;
};
const { browser, close } = await open();
try {
  for (const file of process.argv.slice(2)) {
    const opened = [],
      scrolled = [],
      zoomed = [];
    for (let run = 0; run < RUNS; run++) {
      const page = await browser.newPage();
      await page.setViewport({ width: 1500, height: 1100 });
      opened.push(
        await traced(page, async () => {
          const began = performance.now();
          await page.goto("file://" + resolve(file));
          await ready(page);
          await drawn(page);
          const wall = performance.now() - began;
          await complete(page);
          await drawn(page);
          return wall;
        }),
      );
      scrolled.push(await traced(page, () => frames(page, "scroll", 200)));
      zoomed.push(await traced(page, () => frames(page, "zoom", 100)));
      await page.close();
    }
    console.log(
      `${basename(file)}, ${(statSync(file).size / 1e6).toFixed(2)} MB, ${RUNS} times: ` +
        `drawn after ${said(opened, "wall")}; processor time to open ${said(opened, "cpu")}`,
    );
    console.log(
      `  longest task, processor time: opening ${said(opened, "longest")}, ` +
        `scrolling ${said(scrolled, "longest")}, zooming ${said(zoomed, "longest")}`,
    );
  }
} finally {
  await close();
  rmSync(folder, { recursive: true, force: true });
}
