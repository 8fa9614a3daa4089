// Opens pages in Chromium and in Firefox, which are closed and leave nothing behind.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import puppeteer from "puppeteer-core";

/** A Chromium with a home and a profile of its own; more are its flags. */
export const open = (...more) => openIn("chromium", "light", more);

export const BROWSERS = ["chromium", "firefox"];
const paths = {
  chromium: process.env.TRACER_CHROMIUM ?? "/usr/bin/chromium",
  firefox: process.env.TRACER_FIREFOX ?? "/usr/bin/firefox-esr",
};

/** A browser, chromium or firefox, with a home and a profile of its own, on a system that is light or dark. */
export async function openIn(name, scheme, more = []) {
  if (!existsSync(paths[name])) throw new Error(`no ${paths[name]}: scripts/install.sh test`);
  const home = mkdtempSync(join(tmpdir(), "ipytracer-page-"));
  const browser = await puppeteer.launch({
    browser: name === "firefox" ? "firefox" : "chrome",
    executablePath: paths[name],
    headless: true,
    timeout: 120_000,
    protocolTimeout: 300_000,
    userDataDir: join(home, "profile"),
    // The sandbox of the browser needs a user who is not root; the pages are ours and hostile texts must not get
    // further than text anyway.
    args:
      name === "firefox"
        ? []
        : [
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-extensions",
            "--disable-background-networking",
            "--disable-dev-shm-usage",
            "--font-render-hinting=none",
            ...more,
          ],
    extraPrefsFirefox: {
      "layout.css.prefers-color-scheme.content-override": scheme === "dark" ? 0 : 1,
      "browser.download.folderList": 2,
      "browser.download.dir": home,
      "browser.download.alwaysOpenPanel": false,
    },
    downloadBehavior: name === "firefox" ? undefined : { policy: "allow", downloadPath: home },
    env: { ...process.env, HOME: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home },
  });
  const page = browser.newPage.bind(browser);
  browser.newPage = async () => {
    const one = await page();
    one.setDefaultTimeout(120_000); // pages are opened, too; the machine may be busy
    if (name !== "firefox") await one.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    return one;
  };
  return {
    browser,
    home, // where files are saved
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
