// Leaves of package.json what JupyterLab reads, and says who has installed the extension.
import { readFileSync, writeFileSync } from "node:fs";

const { name, version, description, license, keywords, jupyterlab } = JSON.parse(
  readFileSync("built/package.json", "utf8"),
);
const kept = { name, version, description, license, keywords, jupyterlab };
const from = {
  packageManager: "python",
  packageName: "ipytracer",
  uninstallInstructions:
    "It is part of the Python package ipytracer: tracer notebook uninstall, or python3 -m pip uninstall ipytracer",
};
for (const [file, data] of [
  ["package.json", kept],
  ["install.json", from],
]) {
  writeFileSync(`built/${file}`, JSON.stringify(data, null, 2) + "\n");
}
