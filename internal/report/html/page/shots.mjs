// Takes the pictures of docs/: node shots.mjs PAGES FOLDER. `make page-shots` makes the pages PAGES/notebook.html and
// PAGES/advice.html of docs/pictures/*.arrows.gz. Beside each picture it writes what the page says there, by which
// `make check-shots` finds a picture that is stale.
import { statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { complete, drawn, open, ready } from "./browser.mjs";

const [pages, folder] = process.argv.slice(2);
const LARGEST = 200_000; // bytes
const pictures = [
  { name: "page", scheme: "light", width: 1280, height: 780 },
  { name: "page-peak", scheme: "dark", width: 1280, height: 780, press: ["h", "i"] },
  { name: "page-leaks", scheme: "light", width: 1280, height: 780, press: ["3"] },
  { name: "page-advice", of: "advice", scheme: "light", width: 1280, height: 780, press: ["2"] },
];
const { browser, close } = await open();
try {
  for (const { name, of = "notebook", scheme, width, height, press = [] } of pictures) {
    const page = await browser.newPage();
    await page.setViewport({ width, height });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    await page.goto("file://" + resolve(pages, of + ".html"));
    await ready(page);
    await complete(page);
    await drawn(page);
    for (const key of press) {
      await page.keyboard.press(key);
      await drawn(page);
    }
    const path = join(folder, name + ".png");
    await page.screenshot({ path });
    writeFileSync(
      join(folder, name + ".txt"),
      await page.evaluate(
        () =>
          document.body.innerText
            .replace(/[ \t]+$/gm, "")
            .replace(/\n{2,}/g, "\n")
            .trim() + "\n",
      ),
    );
    if (statSync(path).size > LARGEST) throw new Error(`${path} has ${statSync(path).size} bytes`);
    await page.close();
  }
} finally {
  await close();
}
