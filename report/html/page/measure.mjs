// Says how long a page takes to open in Chromium, and the longest task while its list is scrolled from end to end.
//
//	node report/html/page/measure.mjs FILE.html
import { resolve } from "node:path";
import { drawn, open, ready } from "./browser.mjs";

const { browser, close } = await open();
try {
  for (let run = 0; run < 3; run++) {
    const page = await browser.newPage();
    await page.setViewport({ width: 1500, height: 1100 });
    await page.evaluateOnNewDocument(() => {
      window.tasks = [];
      new PerformanceObserver((list) => { for (const e of list.getEntries()) window.tasks.push(e.duration); }).observe({ type: "longtask", buffered: true });
    });
    const began = performance.now();
    await page.goto("file://" + resolve(process.argv[2]));
    await ready(page);
    await drawn(page);
    const opened = performance.now() - began, opening = await page.evaluate(() => window.tasks.splice(0));
    await page.evaluate(async () => {
      const list = document.querySelector(".list-scroll");
      for (let i = 0; i <= 200; i++) {
        list.scrollTop = (i / 200) * list.scrollHeight;
        await new Promise((done) => requestAnimationFrame(done));
      }
    });
    const scrolling = await page.evaluate(() => window.tasks.splice(0));
    console.log(`open ${Math.round(opened)} ms (longest task ${Math.round(Math.max(0, ...opening))} ms); scrolling: longest task ${Math.round(Math.max(0, ...scrolling))} ms`);
    await page.close();
  }
} finally { await close(); }
