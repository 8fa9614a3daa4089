// The companion's comm, over a fake of the connection that the Jupyter extension lends.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { companion } from "./companion";
import { Cell, EventEmitter, host, open } from "./host";
import { start } from "./started";

beforeEach(start);

const settled = () => new Promise((done) => setTimeout(done, 20));

/** A signal as connections have them. */
class Signal {
  private _slots: [(...args: unknown[]) => void, unknown][] = [];
  connect(slot: (...args: any[]) => void, self?: unknown): boolean {
    return this._slots.push([slot, self]) > 0;
  }
  emit(...args: unknown[]): void {
    this._slots.forEach(([slot, self]) => slot.call(self, ...args));
  }
}

/** A kernel with a companion, or without: sign. */
class Kernel {
  constructor(private _sign = true) {}
  id = "k";
  isDisposed = false;
  handleComms = true;
  info = Promise.resolve({});
  iopubMessage = new Signal();
  statusChanged = new Signal();
  connectionStatusChanged = new Signal();
  disposed = new Signal();
  executed = 0;
  opened: unknown[] = [];
  comm: { onMsg?: (message: unknown) => void; onClose?: () => void } = {};
  async requestCommInfo() {
    return { content: { status: "ok", comms: this._sign ? { a: { target_name: "ipytracer" } } : {} } };
  }
  createComm(target: string) {
    assert.equal(target, "ipytracer");
    return Object.assign(this.comm, { open: (data: unknown) => this.opened.push(data), send: () => undefined });
  }
  requestExecute(): void {
    this.executed++;
  }
  tell(...messages: unknown[]): void {
    messages.forEach((data) => this.comm.onMsg?.({ content: { data } }));
  }
}

/** Lends a kernel's connection, as the Jupyter extension does; asked: how often it was asked for its service. */
function lends(kernel: Kernel | null) {
  const said = { asked: 0, changed: new EventEmitter<void>() };
  const service = {
    onDidChangeKernels: said.changed.event,
    getKernel: () => (kernel ? { metadata: {}, connection: { kernel } } : undefined),
  };
  host.jupyter = {
    getKernelService: async () => {
      said.asked++;
      return service;
    },
  };
  return said;
}

test("nobody is asked for a connection unless the user has chosen it", async () => {
  const said = lends(new Kernel());
  host.choose("ipytracer.atEachCell", true);
  await settled();
  assert.equal(said.asked, 0);
});

test("cells have what the companion sends, also those that ran before", async () => {
  const kernel = new Kernel();
  const said = lends(kernel);
  host.choose("ipytracer.comm", true);
  await settled();
  assert.equal(said.asked, 1);
  const twice = [new Cell("x = 1", "W0"), new Cell("x = 1", "W1")];
  const [ran, other] = [new Cell("y = 2", "W0sZmlsZQ%3D%3D"), new Cell("pass", "W3")];
  open(...twice, ran, other);
  said.changed.fire();
  await settled();
  assert.deepEqual(ran.texts(), []);
  assert.deepEqual(kernel.opened, [{ protocol: "ipytracer/lab/v1" }]);
  kernel.tell(...companion().comm.opened);
  assert.deepEqual(twice[0].texts(), [], "two cells have this text: nobody knows which of them ran");
  assert.match(host.bar.text, /^101\.00 MiB of 1\.00 GiB \(container\)/);
  kernel.tell(...companion().comm.ran);
  assert.deepEqual([ran.texts()[0], ran.texts().at(-1)], ["need 512.00 MiB", "1.47 s"]);
  assert.equal(kernel.executed, 0);
  kernel.statusChanged.emit(kernel, "restarting");
  assert.equal(host.bar.shown, false);
});

test("a tracer that is missing is named in the status bar", async () => {
  const kernel = new Kernel();
  lends(kernel);
  host.choose("ipytracer.comm", true);
  await settled();
  open(new Cell("x = 1", "W0"));
  await settled();
  const hello = companion().comm.opened[0].hello;
  kernel.tell({ hello: { ...hello, listens: false, todo: "in a terminal, type: sudo tracer attach 7 $(bell)" } });
  assert.equal(host.bar.text, "no tracer");
  assert.match(host.bar.tooltip, /type: sudo tracer attach 7/);
});

test("messages that break the protocol change nothing", async () => {
  const kernel = new Kernel();
  lends(kernel);
  host.choose("ipytracer.comm", true);
  await settled();
  const cell = new Cell("y = 2", "W0sZmlsZQ%3D%3D");
  open(cell);
  await settled();
  kernel.tell(...companion().comm.opened, ...companion().comm.ran);
  const before = cell.texts();
  assert.equal(before.length, 6);
  kernel.tell(7, null, { cell: { window: "1" } }, { cells: 7 }, { hello: { protocol: "x" } }, { running: [] });
  assert.deepEqual(cell.texts(), before);
});

test("without the Jupyter extension, and with one that lends nothing, outputs are read", async () => {
  for (const jupyter of [null, { getKernelService: async () => undefined }, {} as never]) {
    start();
    host.jupyter = jupyter;
    host.choose("ipytracer.comm", true);
    await settled();
    const cell = new Cell("x = 1", "W0");
    open(cell);
    cell.show(companion().once[0]);
    assert.equal(cell.texts().length, 6);
  }
});
