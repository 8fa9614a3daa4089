// Packs the extension as a file for VS Code: node pack.mjs [FILE]. Equal sources give equal bytes.
import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const here = (...names) => join(import.meta.dirname, ...names);
const root = (...names) => here("..", ...names);
const read = (file) => readFileSync(file, "utf8");

/** How the program is bundled. It has the sources that it shares with JupyterLab's extension, and no library. */
export const options = {
  bundle: true,
  platform: "node",
  target: "node18",
  format: "cjs",
  charset: "ascii",
  legalComments: "none",
  logLevel: "warning",
  alias: { "@lumino/signaling": here("src/signals.ts") },
};

/** Returns a document without its links and pictures: they lead to files that are not in the package. */
function unlinked(markdown) {
  return markdown.replace(/!\[[^\]]*\]\([^)]*\)\n*/g, "").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1");
}

/** Packs the extension into a file, and returns its name. */
export async function pack(file) {
  const stage = mkdtempSync(join(tmpdir(), "ipytracer-vsix-"));
  try {
    const outfile = join(stage, "dist/extension.js");
    const entryPoints = [here("src/extension.ts")];
    const { metafile } = await build({ ...options, external: ["vscode"], entryPoints, outfile, metafile: true });
    const { scripts, devDependencies, ...manifest } = JSON.parse(read(here("package.json")));
    const version = read(root("VERSION")).trim();
    const packed = { ...manifest, version, private: false, files: ["dist", "README.md", "LICENSE"] };
    writeFileSync(join(stage, "package.json"), JSON.stringify(packed, null, 2));
    writeFileSync(join(stage, "README.md"), unlinked(read(root("docs/vscode.md"))));
    const libraries = Object.keys(metafile.inputs).filter((name) => name.includes("node_modules"));
    if (libraries.length > 0) {
      throw new Error(`the program contains ${libraries}: their licences have to go with it`);
    }
    cpSync(root("LICENSE"), join(stage, "LICENSE"));
    wrap(stage, file);
    return resolve(file);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

/** Packs a folder that is an extension into a file. */
export function wrap(folder, file) {
  mkdirSync(resolve(file, ".."), { recursive: true });
  const more = [
    "--no-dependencies",
    "--no-rewrite-relative-links",
    "--allow-missing-repository",
    "--skip-license",
    "--out",
    resolve(file),
  ];
  execFileSync(process.execPath, [here("node_modules/@vscode/vsce/vsce"), "package", ...more], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, SOURCE_DATE_EPOCH: "315619200", VSCE_STORE: "file" }, // the oldest day that a zip can have
    timeout: 120000,
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const file = process.argv[2] ?? root("bin", `ipytracer-${read(root("VERSION")).trim()}.vsix`);
  console.log(await pack(file));
}
