// The page of speedscope itself, as its package has it, without a network: files are given to it as a person does, the
// names of their profiles are read off it, and its own export shows what it read.
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

/** Opens a file in the page; look gets it, and all that it exports. */
async function opened(browser, file, look) {
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
    const has = (text) => page.waitForFunction((t) => document.body.innerText.includes(t), { timeout: 120_000 }, text);
    await page.waitForFunction(() => /Export|Something went wrong/.test(document.body.innerText), { timeout: 120_000 });
    assert.doesNotMatch(
      await page.evaluate(() => document.body.innerText),
      /Something went wrong/,
      `${file} is refused`,
    );
    await look(page, has, async () => {
      await page.evaluate(() =>
        [...document.querySelectorAll("*")].findLast((e) => e.textContent.endsWith("Export")).click(),
      );
      await page.waitForFunction(() => window.exported, { timeout: 120_000 });
      return JSON.parse(await page.evaluate(() => window.exported));
    });
    if (await page.evaluate(() => "pwned" in window)) amiss.push("something ran");
    assert.deepEqual(amiss, []);
  } finally {
    await page.close();
  }
}

/** The bytes of each stack of a profile, outermost first, whichever of speedscope's kinds it is. */
function stacks(of, profile) {
  const all = new Map(),
    name = (at) =>
      JSON.stringify([of.shared.frames[at].name, of.shared.frames[at].file ?? null, of.shared.frames[at].line ?? null]);
  const add = (stack, bytes) => {
    if (bytes) {
      const key = stack.map(name).join();
      all.set(key, (all.get(key) ?? 0) + bytes);
    }
  };
  if (profile.type === "sampled") profile.samples.forEach((s, i) => add(s, profile.weights[i]));
  else {
    const open = [];
    let at = profile.startValue;
    for (const e of profile.events) {
      add(open, e.at - at);
      at = e.at;
      if (e.type === "O") open.push(e.frame);
      else assert.equal(open.pop(), e.frame);
    }
  }
  return all;
}

const total = (map) => [...map.values()].reduce((a, b) => a + b, 0);

/**
 * Checks that the page has our file: every profile, its name, its unit and each stack; and that all of it adds up to
 * the JSON's peaks.
 */
export async function own(browser, folder, name) {
  const file = join(folder, name + ".speedscope.json"),
    written = JSON.parse(readFileSync(file, "utf8")),
    report = new Report(folder, name);
  const peaks = new Map();
  for (const w of report.windows) {
    for (const [id, f] of Object.entries(w.meters)) {
      const title = `${Report.title(w)}, ${id} at its peak, process ${w.pid}`;
      peaks.set(title, [...(peaks.get(title) ?? []), f.peak]);
    }
  }
  await opened(browser, file, async (page, has, exported) => {
    for (const profile of written.profiles.slice(0, 3)) {
      // the rest are in its export
      await has(profile.name);
      await page.keyboard.press("n");
    }
    const got = await exported();
    assert.equal(got.profiles.length, written.profiles.length);
    let compared = 0;
    got.profiles.forEach((profile, i) => {
      assert.equal(profile.name, written.profiles[i].name);
      assert.equal(profile.unit, "bytes");
      const all = stacks(got, profile);
      assert.deepEqual(all, stacks(written, written.profiles[i]), profile.name);
      const wanted = peaks.get(profile.name.replace(/ \((?:at least|off by).*\)$/, ""));
      if (wanted) {
        compared++;
        assert.ok(wanted.includes(total(all)), `${profile.name}: ${total(all)} is none of ${wanted}`);
      }
    });
    assert.ok(compared > 0 || peaks.size === 0, "no profile was compared with the report");
  });
}

/** Collapsed stacks: the towers of each meter are its session's peak. */
export async function collapsed(browser, folder, name) {
  const report = new Report(folder, name),
    sums = new Map();
  await opened(browser, join(folder, name + ".collapsed"), async (page, has, exported) => {
    const got = await exported();
    assert.equal(got.profiles.length, 1);
    for (const [stack, bytes] of stacks(got, got.profiles[0])) {
      const [process, meter] = JSON.parse(`[${stack}]`).map(([frame]) => frame),
        key = `${process.split(" ")[0]} ${meter}`;
      sums.set(key, (sums.get(key) ?? 0) + bytes);
    }
  });
  for (const [key, peak] of report.sessions()) if (peak > 0) assert.equal(sums.get(key), peak, key);
}

/** A profile of pprof: the page shows its default type of sample, which is a session's peak of a meter. */
export async function pprof(browser, folder, name) {
  const report = new Report(folder, name);
  await opened(browser, join(folder, name + ".pb.gz"), async (page, has, exported) => {
    const got = await exported(),
      all = total(stacks(got, got.profiles[0]));
    assert.equal(got.profiles[0].unit, "bytes");
    assert.ok([...report.sessions().values()].includes(all), `${all}`);
  });
}

/** Chrome's JSON: the cells and statements of every process are there, with their times. */
export async function chrome(browser, folder, name) {
  const report = new Report(folder, name);
  await opened(browser, join(folder, name + ".trace.json"), async (page, has, exported) => {
    const got = await exported();
    const names = new Set(got.shared.frames.map((f) => f.name));
    for (const w of report.windows)
      if (w.kind === "cell")
        assert.ok(
          [...names].some((n) => n === Report.title(w) || n.startsWith(Report.title(w) + " {")),
          Report.title(w),
        );
    assert.ok(got.profiles.every((p) => p.unit === "microseconds"));
  });
}
