// Bundles the tests with the fake host in VS Code's place, lets the companion say what they compare with, and runs
// them. Then it packs the extension twice, and looks into the file.
import { build } from "esbuild";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { options, pack } from "../pack.mjs";

const here = (...names) => join(import.meta.dirname, ...names);
const work = mkdtempSync(join(tmpdir(), "ipytracer-vscode-"));
process.on("exit", () => rmSync(work, { recursive: true, force: true }));

const python = here("..", "..", "python");
const sent = execFileSync("/usr/bin/python3", ["-m", "tests.front_end"], {
  cwd: python,
  env: { ...process.env, PYTHONPATH: "src" },
  timeout: 120000,
});
writeFileSync(join(work, "companion.json"), sent);

const names = ["outputs", "kernels"];
await build({
  ...options,
  external: ["node:*"],
  alias: { ...options.alias, vscode: here("host.ts") },
  entryPoints: names.map((name) => here(`${name}.test.ts`)),
  outdir: work,
});
const files = names.map((name) => join(work, `${name}.test.js`));
const env = { ...process.env, COMPANION: join(work, "companion.json") };
if (spawnSync(process.execPath, ["--test", ...files], { stdio: "inherit", env }).status !== 0) {
  process.exit(1);
}

const packed = [1, 2].map((n) => pack(join(work, `${n}.vsix`)));
const [one, two] = (await Promise.all(packed)).map((file) => readFileSync(file));
if (!one.equals(two)) {
  throw new Error("two packings of the extension are not the same bytes");
}
// The program of the file itself loads where only the module vscode is there, and asks for nothing else.
const list = execFileSync("/usr/bin/python3", ["-m", "zipfile", "-l", join(work, "1.vsix")]).toString();
for (const name of ["extension/dist/extension.js", "extension/LICENSE.txt", "extension/readme.md"]) {
  if (!list.includes(name)) {
    throw new Error(`${name} is not in the file:\n${list}`);
  }
}
execFileSync("/usr/bin/python3", ["-m", "zipfile", "-e", join(work, "1.vsix"), join(work, "unpacked")]);
const program = readFileSync(join(work, "unpacked/extension/dist/extension.js"), "utf8");
const asked = new Set([...program.matchAll(/\brequire\("([^"]+)"\)/g)].map((found) => found[1]));
if ([...asked].join() !== "vscode") {
  throw new Error(`the program asks for ${[...asked].join(", ")}`);
}
const require = createRequire(import.meta.url);
const { Module } = require("node:module");
const load = Module._load;
Module._load = (name, ...more) => (name === "vscode" ? { EventEmitter: class {} } : load(name, ...more));
if (typeof require(join(work, "unpacked/extension/dist/extension.js")).activate !== "function") {
  throw new Error("the packed program has no activate");
}
console.log(list);
