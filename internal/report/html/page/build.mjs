// Builds the page's program and looks into DIR (dist), and lists what libraries are in the bundle with their licences.
import { build } from "esbuild";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const to = process.argv[2] ?? "dist";
mkdirSync(to, { recursive: true });
const allowed = new Set(["MIT", "ISC", "BSD-3-Clause", "BSD-2-Clause", "Apache-2.0"]);
const options = {
  bundle: true,
  minify: true,
  legalComments: "none",
  charset: "ascii",
  target: "es2022",
  logLevel: "warning",
  metafile: true,
};
const program = { ...options, entryPoints: ["src/main.ts"], format: "iife", outfile: join(to, "page.js") };
const { metafile } = await build({ ...program, write: false });
const libraries = new Map();
for (const file of Object.keys(metafile.inputs)) {
  const found = /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file);
  if (found) libraries.set(found[1], join("node_modules", found[1]));
}
let text =
  "Libraries that internal/report/html/page/dist/page.js contains, and their licences. `make page` writes this file.\n";
for (const [name, folder] of [...libraries].sort()) {
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  if (!allowed.has(license))
    throw new Error(`${name} ${version}: its licence is ${license}, which nobody has looked at`);
  const terms = readFileSync(join(folder, "LICENSE"), "utf8").trim();
  text += `\n${"=".repeat(80)}\n${name} ${version} (${license})\n\n${terms}\n`;
}
if (libraries.size === 0) throw new Error("no library was found: is node_modules a link?");
if (text.includes("*/")) throw new Error("a licence contains what ends a comment");
writeFileSync(join(to, "LICENSES.txt"), text);
// the licences go where the libraries go: into every page
await build({ ...program, banner: { js: `/* ipytracer, Apache-2.0.\n${text}*/` } });
await build({ ...options, entryPoints: ["src/style.css"], outfile: join(to, "page.css") });
if (/<\/script|<!--/i.test(readFileSync(join(to, "page.js"), "utf8")))
  throw new Error("the program contains what ends a script element");
if (/\beval\(|new Function\(/.test(readFileSync(join(to, "page.js"), "utf8")))
  throw new Error("the program makes programs out of texts");
