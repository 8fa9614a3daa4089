// Opens exports in the programs that they are made for, one browser for all of them, and compares their figures with
// the report's JSON.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { open } from "../../html/page/browser.mjs";
import * as memoryviz from "./memoryviz.mjs";
import * as perfetto from "./perfetto.mjs";
import * as speedscope from "./speedscope.mjs";

const folder = mkdtempSync(join(tmpdir(), "ipytracer-viewers-"));
execFileSync("go", ["run", "./bench", "exports", folder], {
  cwd: fileURLToPath(new URL("../../../..", import.meta.url)),
  stdio: "inherit",
});
let browser, close;
before(async () => {
  ({ browser, close } = await open("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"));
}); // speedscope draws with WebGL
after(async () => {
  await close?.();
  rmSync(folder, { recursive: true, force: true });
});

const names = readdirSync(folder)
  .filter((f) => /^[^.]+\.json$/.test(f))
  .map((f) => f.slice(0, -5))
  .sort();
const timeout = 600_000;

for (const name of names) {
  test(`trace processor: ${name}: every slice and every value of a counter is the report's`, { timeout }, () =>
    perfetto.trace(folder, name),
  );
}

for (const name of ["rich", "hostile", "session", "markup", "wild"]) {
  test(`speedscope: ${name}, of pprof: it shows a session's peak`, { timeout }, () =>
    speedscope.pprof(browser, folder, name),
  );
}

test("nbconvert and papermill keep the figures in notebooks", { timeout }, () => {
  execFileSync(
    "/usr/bin/python3",
    [
      fileURLToPath(new URL("notebook.py", import.meta.url)),
      folder,
      process.env.VIEWERS_DIR ?? "/var/tmp/ipytracer-viewers",
    ],
    { stdio: "inherit" },
  );
});

for (const name of names.filter((n) => existsSync(join(folder, n + ".pickle")))) {
  test(`memory_viz: ${name}: it draws every block`, { timeout }, () => memoryviz.snapshot(browser, folder, name));
}
