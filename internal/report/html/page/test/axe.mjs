// Looks for what keeps people from reading or using a page, with axe-core: every rule that it has on by default.
import assert from "node:assert/strict";
import axe from "axe-core";

/** Asserts that a page, or a frame, has no violation; what: what is shown. */
export async function accessible(page, what) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe.source);
  const { violations, passes } = await page.evaluate(() =>
    window.axe.run(document, { iframes: false, resultTypes: ["violations"] }),
  );
  const said = violations.flatMap(({ id, nodes }) => nodes.map((n) => `${id}: ${n.html}: ${n.failureSummary}`));
  assert.deepEqual(said, [], what);
  assert.ok(passes.length > 5, `${what}: ${passes.length} rules apply`);
}

/** The widths of screens, in pixels, and what systems are. */
export const WIDTHS = [1280, 375];
export const SCHEMES = ["light", "dark"];
