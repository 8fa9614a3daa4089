// Checks Python with ruff, which npm has as WebAssembly: it needs Node, and no Python package. The settings are those
// of ruff itself, in ruff.toml.
//
//   node scripts/style/ruff.mjs [--fix] PATH...
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ruff from "@astral-sh/ruff-wasm-nodejs";
import { parse } from "smol-toml";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const { lint, ...settings } = parse(readFileSync(join(root, "ruff.toml"), "utf8"));
const { "per-file-ignores": exceptions = {}, ...rules } = lint;
const workspace = new ruff.Workspace({ ...settings, lint: rules }, ruff.PositionEncoding.Utf16);

/** Returns the files below some paths that git knows or that are new. */
function filesBelow(paths) {
  const listed = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate", "--", ...paths];
  const names = execFileSync("git", listed, { cwd: root, encoding: "utf8" }).split("\0");
  return names.filter((name) => name.endsWith(".py"));
}

/** Reports whether a path matches a pattern: ** stands for folders as well, * for a part of one name. */
function matches(path, pattern) {
  const parts = pattern.split(/(\*\*|\*)/).map((part) => {
    if (part === "**") return ".*";
    return part === "*" ? "[^/]*" : part.replace(/[.+?^${}()|[\]\\]/g, "\\$&");
  });
  return new RegExp(`^${parts.join("")}$`).test(path);
}

const used = new Set();

/** Reports whether ruff.toml excepts a file from a rule. */
function excepted(path, code) {
  const found = Object.entries(exceptions).filter(([pattern, codes]) => codes.includes(code) && matches(path, pattern));
  for (const [pattern] of found) used.add(`${pattern} ${code}`);
  return found.length > 0;
}

/** Returns a text with the edits of ruff's fixes in it, except of those that overlap an earlier one. */
function mended(text, problems) {
  const starts = [0];
  for (let i = text.indexOf("\n"); i >= 0; i = text.indexOf("\n", i + 1)) starts.push(i + 1);
  const offset = ({ row, column }) => (row > starts.length ? text.length : starts[row - 1] + column - 1);
  const edits = problems
    .flatMap(({ fix }) => fix?.edits ?? [])
    .map((edit) => ({
      begin: offset(edit.location),
      end: offset(edit.end_location),
      content: edit.content ?? "",
    }));
  edits.sort((a, b) => b.begin - a.begin);
  let least = Infinity;
  for (const { begin, end, content } of edits) {
    if (end > least) continue;
    text = text.slice(0, begin) + content + text.slice(end);
    least = begin;
  }
  return text;
}

const paths = process.argv.slice(2);
const fix = paths[0] === "--fix";
if (fix) paths.shift();
const files = filesBelow(paths);
if (files.length === 0) {
  console.error("ruff.mjs: no Python files there");
  process.exit(2);
}
let failed = 0;
for (const path of files) {
  const text = readFileSync(join(root, path), "utf8");
  const problems = workspace.check(text).filter(({ code }) => !excepted(path, code));
  if (fix) {
    const better = mended(text, problems);
    if (better !== text) writeFileSync(join(root, path), better);
  }
  for (const { code, message, start_location: at } of problems) {
    console.error(`${path}:${at.row}:${at.column}: ${code} ${message}`);
    failed = 1;
  }
}
for (const [pattern, codes] of Object.entries(exceptions)) {
  for (const code of codes) {
    if (!used.has(`${pattern} ${code}`) && files.some((path) => matches(path, pattern))) {
      console.error(`ruff.toml: ${pattern} is excepted from ${code}, and keeps to it`);
      failed = 1;
    }
  }
}
process.exit(failed);
