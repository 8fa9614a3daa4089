// Builds the documentation as a site: node build.mjs OUT, a folder that is new or empty. Nothing is asked of a network.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { build } from "vitepress";

import { root, stage } from "./pages.mjs";

const out = resolve(process.argv[2] ?? "site");
if (existsSync(out) && readdirSync(out).length > 0) {
  console.error(`${out} is not empty`);
  process.exit(1);
}
// Vite looks for its modules above the pages.
const work = mkdtempSync(join(import.meta.dirname, ".pages-"));
process.on("exit", () => rmSync(work, { recursive: true, force: true }));
mkdirSync(join(work, ".vitepress"));
for (const name of ["config.mjs", "theme.mjs"]) {
  const to = join(work, ".vitepress", name === "theme.mjs" ? "theme/index.js" : name);
  mkdirSync(join(to, ".."), { recursive: true });
  symlinkSync(join(import.meta.dirname, name), to);
}
process.env.SITE_CONTENTS = JSON.stringify(stage(work));
process.env.SITE_VERSION = readFileSync(join(root, "VERSION"), "utf8").trim();
await build(work, { outDir: out });
