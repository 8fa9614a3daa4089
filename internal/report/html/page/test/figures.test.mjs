// The page and JupyterLab's extension write figures as the other reports do: internal/words/web/figures.ts, with the
// cases that Go and Python are tested with.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { build } from "esbuild";

const words = new URL("../../../../words/", import.meta.url);
const cases = JSON.parse(readFileSync(new URL("testdata/figures.json", words), "utf8"));
const built = await build({
  entryPoints: [new URL("web/figures.ts", words).pathname],
  bundle: true,
  format: "esm",
  write: false,
});
const { bytes, difference, duration, shown } = await import(
  "data:text/javascript;base64," + Buffer.from(built.outputFiles[0].contents).toString("base64")
);

/** Compares texts of numbers. Larger numbers than JavaScript's integers are in no page. */
function compare(write, texts) {
  const numbers = Object.keys(texts).filter((n) => Number.isSafeInteger(Number(n)));
  assert.ok(numbers.length >= 20, `${numbers.length} cases`);
  for (const n of numbers) assert.equal(write(Number(n)), texts[n], n);
}

test("sizes and times", () => {
  compare(bytes, cases.bytes);
  compare(duration, cases.durations);
  assert.deepEqual([-3 << 20, 0, 1 << 20].map(difference), ["-3.00 MiB", "±0", "+1.00 MiB"]);
});

test("quantities with their marks", () => {
  assert.ok(cases.figures.length >= 3);
  for (const { figure, texts } of cases.figures) {
    const off = figure.exact ? 0 : (figure.bound ?? -1);
    const of = { ...figure, need: figure.peak - figure.start, off };
    assert.deepEqual(Object.fromEntries(Object.keys(texts).map((q) => [q, shown(of, q)])), texts);
  }
});
