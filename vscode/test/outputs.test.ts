// Figures that outputs carry, as the companion writes them beside a fake tracer, and what strangers write there.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { MIME } from "../src/outputs";
import { companion } from "./companion";
import { Cell, host, open } from "./host";
import { start } from "./started";

beforeEach(start);

const FIRST = [
  "need 512.00 MiB",
  "consumed 1.00 MiB",
  "peaked 511.00 MiB",
  "total 101.00 MiB",
  "numpy 512.00 MiB",
  "1.47 s",
];
const line = () => structuredClone(companion().once[0]);
const record = (bundle: Record<string, any>) => bundle[MIME].cell;

test("a cell has the companion's figures, and the difference to its run before", () => {
  const cell = new Cell("x = 1", "W0");
  open(cell);
  assert.deepEqual(cell.texts(), []);
  cell.show(line());
  assert.deepEqual(cell.texts(), FIRST);
  cell.show(companion().again[0]);
  const expected = ["need 600.00 MiB", "Δ ▲ +88.00 MiB", "consumed 1.00 MiB"];
  assert.deepEqual(cell.texts().slice(0, 3), expected);
  assert.match(String(cell.items()[0].tooltip), /^In\[4\] · 1\.47 s · ok\nresident: need 600\.00 MiB/);
});

test("a cell that runs shows what it has so far, and then its figures", () => {
  const [running, ended] = companion().long;
  const cell = new Cell("before = len(shown)\r\ntracer.tick(); until(lambda: len(shown) > before)", "W0");
  open(cell);
  cell.show(running);
  assert.deepEqual(cell.texts(), ["▶ runs 3.20 s", "resident 101.00 MiB", "at most 612.00 MiB"]);
  assert.match(host.bar.text, /^▶ 101\.00 MiB of 1\.00 GiB \(container\) · 9 %$/);
  cell.show(ended);
  assert.deepEqual(cell.texts().slice(0, 4), FIRST.slice(0, 4));
  assert.ok(!cell.texts().includes("✎ edited since"), "Windows ends lines in another way");
  assert.match(host.bar.text, /^101\.00 MiB of 1\.00 GiB/);
});

test("an edited cell and a saved notebook say so", () => {
  const cell = new Cell("x = 1", "W0");
  cell.outputs = [{ items: [], metadata: {} }];
  open(cell);
  cell.show(line());
  cell.text = "x = 12";
  assert.deepEqual(cell.texts().slice(0, 2), [FIRST[0], "✎ edited since"]);
  cell.text = "x = 1";

  const saved = new Cell("x = 1", "W1");
  const outputs = cell.outputs;
  saved.outputs = outputs;
  open(saved);
  assert.deepEqual(saved.texts(), [FIRST[0], "saved", ...FIRST.slice(1)]);
  assert.equal(host.bar.shown, false, "a figure of a file is not the process's");
});

test("failures and a full container have items of their own", () => {
  const cell = new Cell("x = 1", "W0");
  open(cell);
  const bundle = line();
  Object.assign(record(bundle), { status: "error", error: "MemoryError" });
  bundle[MIME].limit = 700 << 20;
  cell.show(bundle);
  const expected = ["✗ error (MemoryError)", "! 87 % of 700.00 MiB (container)"];
  assert.deepEqual(cell.texts().slice(1, 3), [expected[0], FIRST[1]]);
  bundle[MIME].limit = 650 << 20;
  cell.show(bundle);
  assert.deepEqual(cell.texts().slice(1, 3), [expected[0], "! 94 % of 650.00 MiB (container)"]);
  assert.equal(host.bar.warns, true);
});

test("the switch takes the figures away and brings them back", async () => {
  const cell = new Cell("x = 1", "W0");
  open(cell);
  cell.show(line());
  await host.commands.get("ipytracer.toggle")?.();
  assert.deepEqual(cell.texts(), []);
  await host.commands.get("ipytracer.toggle")?.();
  assert.deepEqual(cell.texts(), FIRST);
});

test("text of a stranger is text, without icons, directions and other lines", () => {
  const cell = new Cell("x = 1", "W0");
  open(cell);
  const bundle = line();
  const evil = "$(bell) \u202e\u001b[2J\n<b>[x](command:y)";
  Object.assign(record(bundle), { status: "error", error: evil, note: evil, where: { "cpu.numpy": evil.repeat(30) } });
  bundle[MIME].limit_of = evil;
  cell.show(bundle);
  for (const item of cell.items()) {
    assert.doesNotMatch(item.text, /\$\(|[\u0000-\u001f\u202e]/);
    assert.ok(item.text.length <= 300, item.text);
    assert.equal(typeof item.tooltip, "string", "not Markdown, which has links and commands");
    assert.doesNotMatch(String(item.tooltip), /[\u0000-\u0009\u000b-\u001f\u202e]/);
  }
  assert.doesNotMatch(host.bar.text, /\$\(/);
});

test("what breaks the protocol is left out", () => {
  const cell = new Cell("x = 1", "W0");
  open(cell);
  const broken: ((bundle: Record<string, any>) => void)[] = [
    (b) => (b[MIME].protocol = "ipytracer/lab/v2"),
    (b) => (b[MIME].limit = -0.5),
    (b) => (b[MIME].limit_of = 7),
    (b) => delete b[MIME].cell,
    (b) => (b[MIME].cell = []),
    (b) => (record(b).duration_ns = "1"),
    (b) => (record(b).meters["cpu.resident"].peak = 2 ** 60),
    (b) => (record(b).meters["cpu.resident"].exact = 1),
    (b) => (b[MIME] = "[".repeat(60000)),
    (b) => (b[MIME] = "null"),
    (b) => (b[MIME].padding = "x".repeat(65536)),
  ];
  for (const breaks of broken) {
    const bundle = line();
    breaks(bundle);
    cell.show(bundle);
    assert.deepEqual(cell.texts(), [], String(breaks));
  }
  const many = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`text/x-${n}`, "x"]));
  cell.show({ ...many, ...line() });
  assert.deepEqual(cell.texts(), []);
  cell.show(line(), ...Array.from({ length: 199 }, () => ({ "text/plain": "x" })));
  assert.deepEqual(cell.texts(), FIRST);
  cell.show(line(), ...Array.from({ length: 200 }, () => ({ "text/plain": "x" })));
  assert.deepEqual(cell.texts(), []);
});
