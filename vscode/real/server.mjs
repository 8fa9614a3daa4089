// The real VS Code: the server of code-server, which is on npm, without its native modules, and its page in Chromium,
// which finds no address but the server's.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import puppeteer from "puppeteer-core";

const vscode = join(import.meta.dirname, "node_modules/code-server/lib/vscode");
const PATIENCE = 60000; // ms

/** Installs the server's own modules: they are in no package of npm's that the lock file of this folder has. */
export function install() {
  if (!existsSync(join(vscode, "node_modules.asar"))) {
    for (const folder of [vscode, join(vscode, "extensions")]) {
      const how = ["install", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
      execFileSync("npm", how, { cwd: folder, stdio: "inherit" });
    }
    symlinkSync("node_modules", join(vscode, "node_modules.asar"));
  }
}

/** Returns the settings of a server whose data is in a folder. */
function folders(work) {
  return ["--extensions-dir", join(work, "extensions"), "--server-data-dir", join(work, "data")];
}

/** Installs extensions, as a user does. */
export function add(work, ...files) {
  const found = files.flatMap((file) => ["--install-extension", file]);
  const env = { ...process.env, HOME: work };
  const how = { env, timeout: PATIENCE, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] };
  const said = execFileSync(process.execPath, [join(vscode, "out/server-main.js"), ...folders(work), ...found], how);
  for (const file of files) {
    if (!said.includes("was successfully installed")) {
      throw new Error(`${file} was not installed: ${said}`);
    }
  }
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((done) => server.once("listening", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

/** Starts a server, and opens its page on a folder. Returns the page and the end of it all. */
export async function start(work, folder) {
  const port = await freePort();
  const address = ["--host", "127.0.0.1", "--port", String(port), "--without-connection-token"];
  const args = [join(vscode, "out/server-main.js"), ...address, "--accept-server-license-terms", ...folders(work)];
  const server = spawn(process.execPath, args, { env: { ...process.env, HOME: work }, stdio: "ignore" });
  const url = `http://127.0.0.1:${port}/`;
  const browser = await puppeteer.launch({
    executablePath: process.env.TRACER_CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"],
    defaultViewport: { width: 1300, height: 900 },
  });
  const end = async () => {
    await browser.close();
    server.kill();
    await new Promise((done) => server.once("exit", done));
  };
  try {
    for (
      let left = PATIENCE / 100;
      !(await fetch(url).then(
        (r) => r.ok,
        () => false,
      ));
      left--
    ) {
      if (left === 0 || server.exitCode !== null) {
        throw new Error("VS Code's server does not start");
      }
      await new Promise((done) => setTimeout(done, 100));
    }
    const page = await browser.newPage();
    page.setDefaultTimeout(PATIENCE);
    await page.goto(`${url}?folder=${folder}`);
    return { page, end };
  } catch (why) {
    await end();
    throw why;
  }
}
