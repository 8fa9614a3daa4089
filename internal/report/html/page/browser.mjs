// Opens pages in Chromium, which is closed and leaves nothing behind.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import puppeteer from "puppeteer-core";

/** A browser with a home and a profile of its own; more are flags of Chromium's. */
export async function open(...more) {
  const home = mkdtempSync(join(tmpdir(), "ipytracer-page-"));
  const browser = await puppeteer.launch({
    executablePath: process.env.TRACER_CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    timeout: 120_000,
    protocolTimeout: 300_000,
    userDataDir: join(home, "profile"),
    // The sandbox of the browser needs a user who is not root; the pages are ours and hostile texts must not get
    // further than text anyway.
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--no-first-run",
      "--disable-extensions",
      "--disable-background-networking",
      "--disable-dev-shm-usage",
      "--font-render-hinting=none",
      ...more,
    ],
    env: { ...process.env, HOME: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home },
  });
  const page = browser.newPage.bind(browser);
  browser.newPage = async () => {
    const one = await page();
    one.setDefaultTimeout(120_000); // pages are opened, too; the machine may be busy
    return one;
  };
  return {
    browser,
    close: async () => {
      await browser.close();
      rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
}

/** Waits until a page has drawn itself. */
export const ready = (page) =>
  page.waitForFunction(() => document.documentElement.dataset.ready === "true", { timeout: 120_000 });

/** Waits until a page has also read the parts that are drawn later. */
export const complete = (page) =>
  page.waitForFunction(() => document.documentElement.dataset.complete === "true", { timeout: 120_000 });

/** Waits for the next frames. */
export const drawn = (page) =>
  page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))),
  );
