// Drives JupyterLab in a browser, and says what was at the cells: node lab.mjs WORK SERVER_PID [PICTURES]
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';

import puppeteer from 'puppeteer-core';

import { Page } from './page.mjs';

const [work, server, pictures] = process.argv.slice(2);
const here = new URL('.', import.meta.url).pathname;
const info = JSON.parse(readFileSync(`${work}/run/jpserver-${server}.json`, 'utf8'));
const seen = [];
const MODES = [
  ['full', 'JupyterLab Light'],
  ['defer', 'JupyterLab Dark']
];
const CODE = ['numpy', 'grow', 'spike', 'fails', 'long', 'again', 'small'];

function settings(plugin, value) {
  const [scope, name] = plugin.split(':');
  const folder = `${work}/home/.jupyter/lab/user-settings/${scope}`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/${name}.jupyterlab-settings`, JSON.stringify(value));
}

/** Remembers a badge's figures, to be compared with the report. */
function remember(where, badge) {
  seen.push({ where, window: badge.window, need: badge.need, consumed: badge.consumed, count: badge.count });
}

async function allRun(page, mode) {
  await page.command('notebook:run-all-cells');
  await page.show('small');
  await page.until('a badge at the last cell', () => page.badge('small'));
  for (const id of CODE.filter(c => c !== 'fails')) {
    await page.show(id);
    remember(`${mode} ${id}`, await page.until(`a badge at ${id}`, () => page.badge(id)));
  }
}

async function run(browser, mode, theme) {
  settings('@jupyterlab/notebook-extension:tracker', { windowingMode: mode });
  settings('@jupyterlab/apputils-extension:themes', { theme });
  const notebook = `figures-${mode}.ipynb`;
  execFileSync('/usr/bin/python3', [`${here}/notebook.py`, `${work}/notebooks/${notebook}`, '40']);
  const page = await Page.open(browser, info, notebook);
  assert.equal(await page.badge('numpy'), null, 'a badge before anything ran');
  await allRun(page, mode);
  await page.close();
}

const browser = await puppeteer.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--force-device-scale-factor=1'], userDataDir: `${work}/browser` });
try {
  for (const [mode, theme] of MODES) {
    await run(browser, mode, theme);
  }
} finally {
  await browser.close();
}
writeFileSync(`${work}/seen.json`, JSON.stringify(seen));
