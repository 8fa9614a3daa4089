// Says how long the site takes in Chromium: until its first paint, and from a recording that is chosen until its report
// is drawn; and the processor time of the worker that reads it, which other work on the machine hardly changes.
//
//	TRACER_SITE=FOLDER node internal/report/html/page/measure-site.mjs FILE.arrows...
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { open, ready } from "./browser.mjs";
import { serve, shown, visitSite } from "./test/serving.mjs";

const folder = mkdtempSync(join(tmpdir(), "ipytracer-measure-")),
  trace = join(folder, "trace.json");
const runs = (path) => (statSync(path).size > 10e6 ? 1 : 5);

/** Returns the processor time of the workers' threads, in milliseconds. */
function workers() {
  const events = JSON.parse(readFileSync(trace, "utf8")).traceEvents;
  const own = events.filter((e) => e.name === "thread_name" && /DedicatedWorker/.test(e.args.name)).map((e) => e.tid);
  const tasks = events.filter((e) => e.ph === "X" && own.includes(e.tid) && /RunTask$/.test(e.name) && e.tdur);
  if (tasks.length === 0) throw new Error("the browser told of no task of a worker");
  return tasks.reduce((sum, e) => sum + e.tdur / 1000, 0);
}

const said = (all) => {
  const [least, middle, most] = [0, all.length >> 1, all.length - 1].map((i) => [...all].sort((a, b) => a - b)[i]);
  return all.length === 1 ? `${middle.toFixed(2)} s` : `${[middle, least, most].map((t) => t.toFixed(2)).join(", ")} s`;
};
const site = await serve(),
  { browser, close } = await open();
try {
  for (const path of process.argv.slice(2)) {
    const painted = [],
      drawn = [],
      busy = [];
    for (let run = 0; run < runs(path); run++) {
      const page = await visitSite(browser, site.base, 1280);
      page.setDefaultTimeout(600_000);
      await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
      painted.push(
        await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime / 1000),
      );
      await page.tracing.start({ path: trace, categories: ["toplevel", "__metadata"] });
      const began = performance.now();
      await (await page.$("#file")).uploadFile(path);
      await ready(await shown(page, 600_000));
      drawn.push((performance.now() - began) / 1000);
      await page.tracing.stop();
      busy.push(workers() / 1000);
      await page.close();
    }
    const size = (statSync(path).size / 1e6).toFixed(2);
    console.log(
      `the site, ${basename(path)}, ${size} MB (median, least, most): first paint after ${said(painted)}; ` +
        `its report drawn after ${said(drawn)}; processor time of the worker ${said(busy)}`,
    );
  }
} finally {
  await close();
  site.close();
  rmSync(folder, { recursive: true, force: true });
}
