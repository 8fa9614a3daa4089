// The common code of the tests in a browser: pages of the fixtures, and checks that a page does nothing forbidden.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { complete, open } from "../browser.mjs";
import { written } from "./truth.mjs";

export const folder = mkdtempSync(join(tmpdir(), "ipytracer-pages-"));
execFileSync("go", ["run", "./bench", "pages", folder], {
  cwd: fileURLToPath(new URL("../../../../..", import.meta.url)),
  stdio: "inherit",
});
let opened;
export const start = async () => {
  opened = await open();
};
export const stop = async () => {
  await opened?.close();
  rmSync(folder, { recursive: true, force: true });
};
export const browser = () => opened.browser;

/** Opens a page and notes all forbidden actions. */
export async function visit(name, act) {
  const page = await opened.browser.newPage(),
    amiss = [];
  try {
    await page.setViewport({ width: 1500, height: 1100 });
    page.on("pageerror", (e) => amiss.push("error: " + e.message));
    page.on("dialog", (d) => {
      amiss.push("dialog: " + d.message());
      d.dismiss();
    });
    page.on("request", (r) => {
      if (!r.isNavigationRequest() || !r.url().startsWith("file://" + folder)) amiss.push("request: " + r.url());
    });
    page.on("framenavigated", (f) => {
      if (f !== page.mainFrame()) amiss.push("frame: " + f.url());
    });
    await page.exposeFunction("noteViolation", (text) => amiss.push("policy: " + text));
    await page.evaluateOnNewDocument(() =>
      document.addEventListener("securitypolicyviolation", (e) =>
        window.noteViolation(e.violatedDirective + " " + e.blockedURI),
      ),
    );
    await page.evaluateOnNewDocument(() => window.localStorage.clear()); // choices of earlier tests
    await page.goto(`file://${join(folder, name + ".html")}`);
    await complete(page);
    await act(page);
    amiss.push(
      ...(await page.evaluate(() => [
        ...("pwned" in window ? ["something ran"] : []),
        ...Object.keys(Object.prototype).map((k) => "prototype: " + k),
        ...[
          ...document.querySelectorAll(
            "script, iframe, object, embed, link, base, img, svg, style, a, audio, video, form:not(dialog form)",
          ),
        ]
          .slice(2)
          .map((e) => "element: " + e.outerHTML.slice(0, 200)),
        ...[...document.querySelectorAll("*")].flatMap((e) =>
          [...e.attributes]
            .filter(
              (a) =>
                a.name.startsWith("on") ||
                (/^\s*javascript:/i.test(a.value) && a.name !== "title" && a.name !== "aria-label"),
            )
            .map((a) => "attribute: " + a.name),
        ),
      ])),
    );
    assert.deepEqual(amiss, []);
  } finally {
    await page.close();
  }
}

/** Returns the sizes that are on the page now. */
export const sizes = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll("[data-bytes]")].map((e) => ({
      bytes: e.dataset.bytes,
      of: e.dataset.of,
      text: e.textContent,
    })),
  );

/** Compares sizes with the truth; returns their number. */
export function compare(all, truth, seen) {
  for (const { bytes, of, text } of all) {
    const sum = /^(sum|leaf|match):/.test(of);
    const wanted = sum ? { bytes: Number(bytes), mark: truth.estimated(...of.split(":").slice(1, 3)) } : truth.of(of);
    assert.ok(wanted, `${of}: the report has no such number`);
    const any = [wanted].flat().filter(Boolean);
    assert.ok(
      any.some((w) => String(w.bytes) === bytes && text === (w.mark ?? "") + written(w.bytes)),
      `${of}: the page has ${bytes}, "${text}"; the report ${JSON.stringify(any)}`,
    );
    seen.add(of);
  }
}

export const click = (page, selector, at = 0) =>
  page.evaluate(
    (s, i) => {
      const e = document.querySelectorAll(s)[i];
      e?.click();
      return !!e;
    },
    selector,
    at,
  );

/** Returns the heading of the cell that is shown. */
export const chosen = (page) => page.evaluate(() => document.querySelector(".cell h2")?.textContent ?? "");
