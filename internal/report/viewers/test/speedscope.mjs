// The page of speedscope itself, as its package has it, without a network: files are given to it as a person does, and
// its own export shows what it read.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Report } from "./report.mjs";

const root = fileURLToPath(new URL("../node_modules/speedscope/dist/release", import.meta.url));
const types = {
  html: "text/html",
  js: "text/javascript",
  css: "text/css",
  json: "application/json",
  wasm: "application/wasm",
};
const address = "http://speedscope.test/";

/** Opens a file in the page, and returns what the page exports. */
async function opened(browser, file) {
  const page = await browser.newPage(),
    amiss = [];
  try {
    await page.setRequestInterception(true);
    page.on("request", (r) => {
      const url = new URL(r.url()),
        path = join(root, url.pathname === "/" ? "index.html" : url.pathname);
      if (url.protocol === "blob:" && r.url().startsWith("blob:" + address)) return r.continue();
      if (r.url().startsWith(address) && existsSync(path))
        return r.respond({
          contentType: types[path.split(".").pop()] ?? "application/octet-stream",
          body: readFileSync(path),
        });
      amiss.push("request: " + r.url().slice(0, 200));
      return r.abort();
    });
    page.on("pageerror", (e) => amiss.push("error: " + e.message));
    page.on("dialog", (d) => {
      amiss.push("dialog: " + d.message());
      d.dismiss();
    });
    await page.evaluateOnNewDocument(() => {
      const make = URL.createObjectURL.bind(URL);
      URL.createObjectURL = (blob) => {
        blob.text().then((text) => {
          window.exported = text;
        });
        return make(blob);
      };
    });
    await page.goto(address);
    await (await page.waitForSelector("input[type=file]", { timeout: 120_000 })).uploadFile(file);
    await page.waitForFunction(() => /Export|Something went wrong/.test(document.body.innerText), { timeout: 120_000 });
    assert.doesNotMatch(
      await page.evaluate(() => document.body.innerText),
      /Something went wrong/,
      `${file} is refused`,
    );
    await page.evaluate(() =>
      [...document.querySelectorAll("*")].findLast((e) => e.textContent.endsWith("Export")).click(),
    );
    await page.waitForFunction(() => window.exported, { timeout: 120_000 });
    const exported = JSON.parse(await page.evaluate(() => window.exported));
    if (await page.evaluate(() => "pwned" in window)) amiss.push("something ran");
    assert.deepEqual(amiss, []);
    return exported;
  } finally {
    await page.close();
  }
}

/** The bytes of a profile, whichever of speedscope's kinds it is. */
function total(profile) {
  if (profile.type === "sampled") return profile.weights.reduce((a, b) => a + b, 0);
  let sum = 0,
    depth = 0,
    at = profile.startValue;
  for (const e of profile.events) {
    if (depth > 0) sum += e.at - at;
    at = e.at;
    depth += e.type === "O" ? 1 : -1;
  }
  assert.equal(depth, 0);
  return sum;
}

/** A profile of pprof: the page shows its default type of sample, which is a session's peak of a meter. */
export async function pprof(browser, folder, name) {
  const report = new Report(folder, name),
    got = await opened(browser, join(folder, name + ".pb.gz")),
    all = total(got.profiles[0]);
  assert.equal(got.profiles[0].unit, "bytes");
  assert.ok([...report.sessions().values()].includes(all), `${all}`);
}
